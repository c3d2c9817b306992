// ProfileFile: what tells perf (and tools that read its files) which user function the code of a kernel is.
//
// Overview
//   map: /tmp/perf-PID.map, a line per function: address, size, name. perf reads it when it reports.
//   jitdump: jit-PID.dump, with the bytes of the code, and the lines of the user's program where
//   objects have line tables (debug_info). The file is mapped once, executable: that is how `perf record` learns of it, and
//   `perf inject --jit` then makes objects from it.
//   Formats: perf's tools/perf/Documentation/jit-interface.txt and jitdump-specification.txt (version 1).
// Invariants
//   - Files are the user's alone (0600), made by us or found as such: no link is followed, nobody else's file is written.
//   - A child of fork() that compiles has a file of its own, with the code it was born with. One that only runs what its parent
//     compiled has none.
//   - A file that cannot be written costs nothing else; the reason is told once.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "toolchain/code_ranges.h"

namespace suture {

// A function under the name that profilers show: "smooth@prog.py:5 [0/1] cpp_fused_add_0 smooth_0123456789abcdef", with the
// compile and, last, the kernel's file. No two live kernels of a process have one name.
struct NamedCode {
  std::string name;
  CodeRange range;
  std::string code;  // a copy: a child of fork() may tell of code whose memory its parent's threads gave back
};
using ProfileRecord = std::shared_ptr<const std::vector<NamedCode>>;

class ProfileFile {
 public:
  virtual ~ProfileFile() = default;
  // "", or why it cannot be told: once, then "" again. The owner of the code keeps the record as long as the code lives.
  std::string add(const ProfileRecord& record);

 protected:
  virtual std::string open() = 0;                 // of this process; "" or what is wrong
  virtual int append(const NamedCode& code) = 0;  // 0 or errno
  virtual void close() = 0;
  virtual std::string path() const = 0;

 private:
  std::string begin();
  int append_all(const std::vector<NamedCode>& code);
  std::mutex mutex_;
  std::vector<std::weak_ptr<const std::vector<NamedCode>>> known_;  // what lives, for a child's own file
  int pid_ = -1;
  bool broken_ = false;
};

// That of this process, for ever; kind: "map" or "jitdump". Null for others. `directory`: for the jitdump.
ProfileFile* profile_file(const std::string& kind, const std::string& directory);

// A file of this user that nobody else can read, opened to append; or -1 and `trouble`.
int open_private_file(const std::string& path, std::string& trouble);

}  // namespace suture
