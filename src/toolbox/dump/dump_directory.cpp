#include "toolbox/dump/dump_directory.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace suture::toolbox {
namespace {

constexpr size_t kLongestName = 60;
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

std::string failure(std::string_view what, int error) {
  return fmt::format("{}: {}", what, std::strerror(error));
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// mkdir -p. Parents may exist and be out of our reach; the last mkdir tells.
int make_directories(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    mkdir(path.substr(0, slash).c_str(), 0700);
  return mkdir(path.c_str(), 0700) != 0 && errno != EEXIST ? errno : 0;
}

std::string write_in(int directory, const std::string& name, std::string_view text) {
  const std::string temporary = fmt::format(".{}-{}.tmp", name, getpid());
  unlinkat(directory, temporary.c_str(), 0);  // left by a crash
  const int fd =
      openat(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return failure(name, errno);
  const bool written = write_all(fd, text);
  int error = errno;
  if (close(fd) == 0 && written && renameat(directory, temporary.c_str(), directory, name.c_str()) == 0)
    return "";
  if (written) error = errno;
  unlinkat(directory, temporary.c_str(), 0);
  return failure(name, error);
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
