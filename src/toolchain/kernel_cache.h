// KernelCache: compiled objects and generated sources on disk.
//
// Overview
//   One file per entry, named by the digest of its key; a header {magic, format, key digest, payload length,
//   payload digest}, then the payload: an object, or where the object is that the kernels are part of (joined_kernels.h). Sources are
//   plain files beside the entries.
// Invariants
//   - A file that is cut short, altered, of another format or not ours is a miss, never an error and never
//   loaded.
//   - Files appear complete: written to a temporary name in the same directory, then renamed. Concurrent
//   writers of one
//     entry write payloads of which either serves; the last rename wins. No lock, no index, nothing to repair after a crash.
//     There is no fsync: an entry lost by a power failure fails its digest, which is a miss.
//   - Entries are read with read(), never mapped: a file replaced under us must not become a SIGBUS.
//   - The directory must belong to the user and be writable by nobody else, else it is not used: what is
//   loaded from it runs.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/sha256.h"

namespace suture {

class KernelCache {
 public:
  explicit KernelCache(std::string directory) : directory_(std::move(directory)) {}  // "" = off

  bool enabled() const { return !directory_.empty(); }
  std::optional<std::string> load(const Digest& key);
  void store(const Digest& key, std::string_view payload);
  // Path of the file, which is written unless it is there already; "" when it cannot be.
  std::string write_source(const std::string& file_name, std::string_view text);
  // (file name, what is wrong) of every entry that load would refuse. Costs nothing but a compile, so nothing
  // is removed.
  std::vector<std::pair<std::string, std::string>> verify();
  // Why the last load found nothing though there is an entry, in a few words; "" when there is none.
  const std::string& miss_reason() const { return miss_reason_; }
  // Why the directory cannot be used, in one sentence; "" while all is well.
  const std::string& trouble() const { return trouble_; }

 private:
  int open_directory();  // -1 and trouble_ set
  bool write_file(int directory, const std::string& name, std::initializer_list<std::string_view> parts);
  void note(std::string_view what, int error);

  std::string directory_;
  std::string trouble_, miss_reason_;
};

// A file name made of letters, digits, '_' and '-' only, at most 100 characters.
std::string safe_file_stem(std::string_view name);

}  // namespace suture
