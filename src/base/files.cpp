#include "base/files.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

namespace suture {
namespace {

constexpr mode_t kPrivateDirectory = 0700, kPrivateFile = 0600;

// Another one for every file of every process. Names may be as long as the file system allows: a part is enough.
std::string temporary_name(const std::string& name) {
  static std::atomic<unsigned> counter = 0;
  return "." + name.substr(0, 32) + "-" + std::to_string(getpid()) + "-" + std::to_string(counter++) + ".tmp";
}

int write_parts(int fd, std::span<const std::string_view> parts) {
  for (std::string_view part : parts)
    if (const int error = write_all(fd, part)) return error;
  return 0;
}

}  // namespace

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

int make_directories(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (mkdir(path.substr(0, slash).c_str(), kPrivateDirectory) != 0 && errno != EEXIST && errno != EROFS &&
        errno != EACCES)
      return errno;
  return mkdir(path.c_str(), kPrivateDirectory) != 0 && errno != EEXIST ? errno : 0;
}

WriteResult write_atomically(int directory, const std::string& name,
                             std::span<const std::string_view> parts) {
  const std::string temporary = temporary_name(name);
  unlinkat(directory, temporary.c_str(), 0);  // left by a process that had our number and crashed
  const int fd = openat(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        kPrivateFile);
  if (fd < 0) return {WriteStep::kCreate, errno};
  int error = write_parts(fd, parts);
  if (close(fd) != 0 && error == 0) error = errno;  // a full disk may show here
  if (error == 0 && renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) error = errno;
  if (error == 0) return {};
  unlinkat(directory, temporary.c_str(), 0);
  return {WriteStep::kWrite, error};
}

}  // namespace suture
