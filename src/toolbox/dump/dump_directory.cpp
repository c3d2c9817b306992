#include "toolbox/dump/dump_directory.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

namespace suture::toolbox {
namespace {

constexpr size_t kLongestName = 60;
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

std::string failure(std::string_view what, int error) {
  return fmt::format("{}: {}", what, std::strerror(error));
}

std::string write_in(int directory, const std::string& name, std::string_view text) {
  const WriteResult result = write_atomically(directory, name, {&text, 1});
  return result.ok() ? "" : failure(name, result.error);
}

}  // namespace

DumpDirectory::~DumpDirectory() {
  if (fd_ >= 0) close(fd_);
}

std::string DumpDirectory::open(const std::string& path) {
  if (const int error = make_directories(path)) return failure(path, error);
  const int fd = ::open(path.c_str(), kDirectoryFlags);
  if (fd < 0) return failure(path, errno);
  // Root may open anything; whether files can be made shows only when one is.
  if (std::string why = write_in(fd, ".probe", ""); !why.empty()) {
    close(fd);
    return fmt::format("{}: {}", path, why);
  }
  unlinkat(fd, ".probe", 0);
  if (fd_ >= 0) close(fd_);
  fd_ = fd;
  return "";
}

std::string DumpDirectory::make(const std::string& directory) {
  if (fd_ < 0) return "the dump is not open";
  if (mkdirat(fd_, directory.c_str(), 0700) != 0 && errno != EEXIST) return failure(directory, errno);
  return "";
}

void DumpDirectory::remove(const std::string& name) {
  if (fd_ >= 0) unlinkat(fd_, name.c_str(), 0);
}

std::string DumpDirectory::write(const std::string& directory, const std::string& name,
                                 std::string_view text) {
  if (directory.empty()) return fd_ < 0 ? "the dump is not open" : write_in(fd_, name, text);
  if (std::string why = make(directory); !why.empty()) return why;
  const int fd = openat(fd_, directory.c_str(), kDirectoryFlags | O_NOFOLLOW);
  if (fd < 0) return failure(directory, errno);
  std::string why = write_in(fd, name, text);
  close(fd);
  return why.empty() ? "" : directory + "/" + why;
}

std::string safe_name(std::string_view qualified_name) {
  const size_t dot = qualified_name.rfind('.');
  if (dot != std::string_view::npos && dot + 1 < qualified_name.size()) qualified_name.remove_prefix(dot + 1);
  std::string name;
  for (char c : qualified_name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    if (name.size() < kLongestName) name += plain ? c : '_';
  }
  return name.empty() ? "frame" : name;
}

}  // namespace suture::toolbox
