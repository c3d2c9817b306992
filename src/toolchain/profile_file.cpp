#include "toolchain/profile_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "base/files.h"
#include "toolchain/jitdump.h"

namespace suture {
namespace {

// One line of the map: "7f0000001000 2a0 name". perf takes the rest of the line as the name.
class PerfMap : public ProfileFile {
 public:
  ~PerfMap() override { PerfMap::close(); }

 protected:
  std::string open() override {
    std::string trouble;
    file_ = open_private_file(path(), trouble);
    return trouble;
  }
  int append(const NamedCode& code) override {
    return write_all(file_, fmt::format("{:x} {:x} {}\n", code.range.address, code.range.size, code.name));
  }
  void close() override {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }
  std::string path() const override { return fmt::format("/tmp/perf-{}.map", getpid()); }

 private:
  int file_ = -1;
};

}  // namespace

int open_private_file(const std::string& path, std::string& trouble) {
  const int file = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat found{};
  if (file < 0 || fstat(file, &found) != 0) {
    trouble = std::strerror(errno);
  } else if (!S_ISREG(found.st_mode) || found.st_nlink != 1 || found.st_uid != geteuid() ||
             (found.st_mode & (S_IWGRP | S_IWOTH))) {
    trouble = "it is there already and is not a file of this user alone";
  } else {
    return file;
  }
  if (file >= 0) close(file);
  return -1;
}

int ProfileFile::append_all(const std::vector<NamedCode>& code) {
  for (const NamedCode& item : code)
    if (const int error = append(item)) return error;
  return 0;
}

// The file of this process, with what its parent knew; "" or what is wrong.
std::string ProfileFile::begin() {
  close();
  pid_ = getpid();
  if (std::string trouble = open(); !trouble.empty()) return trouble;
  for (const auto& weak : known_) {
    const ProfileRecord record = weak.lock();
    const int error = record ? append_all(*record) : 0;
    if (error) return std::strerror(error);
  }
  return "";
}

std::string ProfileFile::add(const ProfileRecord& record) {
  const std::lock_guard lock(mutex_);
  if (broken_ && pid_ == getpid()) return "";
  std::string trouble = pid_ == getpid() ? "" : begin();  // the first time, or in a child
  if (trouble.empty())
    if (const int error = append_all(*record)) trouble = std::strerror(error);
  broken_ = !trouble.empty();
  if (broken_) return fmt::format("{}: {}", path(), trouble);
  std::erase_if(known_, [](const auto& weak) { return weak.expired(); });
  known_.push_back(record);
  return "";
}

// Never destroyed: threads may compile until the process is gone.
ProfileFile* profile_file(const std::string& kind, const std::string& directory) {
  static auto* const mutex = new std::mutex;
  static auto* const files = new std::map<std::string, std::unique_ptr<ProfileFile>>;
  if (kind != "map" && kind != "jitdump") return nullptr;
  const std::lock_guard lock(*mutex);
  std::unique_ptr<ProfileFile>& file = (*files)[kind == "map" ? kind : kind + " " + directory];
  if (!file && kind == "map") file = std::make_unique<PerfMap>();
  if (!file) file = std::make_unique<JitDump>(directory);
  return file.get();
}

}  // namespace suture
