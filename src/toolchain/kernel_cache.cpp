#include "toolchain/kernel_cache.h"

#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"

namespace suture {
namespace {

constexpr char kMagic[8] = {'S', 'U', 'T', 'U', 'R', 'E', 'K', 'O'};
constexpr uint32_t kFormat = 1;
constexpr off_t kLargestEntry = off_t{64} << 20;

struct Header {
  char magic[8];
  uint32_t format;
  uint32_t header_size;
  Digest key;
  uint64_t payload_size;
  Digest payload_digest;
};
static_assert(sizeof(Header) == 88, "the header is stored as it lies in memory and must have no padding");

Header make_header(const Digest& key, std::string_view payload) {
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.format = kFormat;
  header.header_size = sizeof(Header);
  header.key = key;
  header.payload_size = payload.size();
  header.payload_digest = sha256(payload);
  return header;
}

// Closes on every path.
struct File {
  int fd;
  explicit File(int fd) : fd(fd) {}
  File(const File&) = delete;
  ~File() {
    if (fd >= 0) close(fd);
  }
};

bool read_all(int fd, std::string& out, size_t size) {
  out.resize(size);
  for (size_t done = 0; done < size;) {
    const ssize_t n = read(fd, out.data() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

// A regular file of ours with a believable size. O_NONBLOCK keeps a planted FIFO from hanging us.
int open_entry(int directory, const std::string& name, size_t& size) {
  const int fd = openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return -1;
  struct stat status{};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
      status.st_size > kLargestEntry) {
    close(fd);
    return -1;
  }
  size = static_cast<size_t>(status.st_size);
  return fd;
}

std::string entry_name(const Digest& key) { return to_hex(key) + ".kernel"; }

// What is wrong with the bytes of an entry; "" when they are whole and stored under their own name.
std::string fault_of(const std::string& name, std::string_view bytes) {
  Header header{};
  if (bytes.size() < sizeof header) return "cut short";
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string_view payload = bytes.substr(sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return "not a kernel";
  if (header.format != kFormat || header.header_size != sizeof header) return "of another format";
  if (header.payload_size != payload.size()) return "cut short";
  if (header.payload_digest != sha256(payload)) return "altered";
  return entry_name(header.key) == name ? "" : "stored under another name";
}

std::vector<std::string> entry_names(int directory) {
  std::vector<std::string> names;
  DIR* stream = fdopendir(dup(directory));
  if (stream == nullptr) return names;
  while (const dirent* entry = readdir(stream))
    if (std::string_view(entry->d_name).ends_with(".kernel")) names.emplace_back(entry->d_name);
  closedir(stream);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> KernelCache::verify() {
  std::vector<std::pair<std::string, std::string>> faults;
  if (!enabled()) return faults;
  const File directory(open_directory());
  if (directory.fd < 0) return faults;
  for (const std::string& name : entry_names(directory.fd)) {
    size_t size = 0;
    std::string bytes;
    const File file(open_entry(directory.fd, name, size));
    std::string fault = file.fd < 0                      ? "not a file of ours"
                        : read_all(file.fd, bytes, size) ? fault_of(name, bytes)
                                                         : "unreadable";
    if (!fault.empty()) faults.emplace_back(name, fault);
  }
  return faults;
}

void KernelCache::note(std::string_view what, int error) {
  if (trouble_.empty())
    trouble_ = fmt::format("the cache directory {} is not used: {}{}", directory_, what,
                           error ? fmt::format(": {}", std::strerror(error)) : "");
}

int KernelCache::open_directory() {
  if (const int error = make_directories(directory_)) return note("it cannot be made", error), -1;
  const int fd = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return note("it cannot be opened as a directory (symbolic links are refused)", errno), -1;
  struct stat status{};
  if (fstat(fd, &status) != 0 || status.st_uid != geteuid()) {
    close(fd);
    return note("it belongs to another user", 0), -1;
  }
  if (status.st_mode & 022) {
    close(fd);
    return note("others may write to it; make it private with chmod 700", 0), -1;
  }
  return fd;
}

std::optional<std::string> KernelCache::load(const Digest& key) {
  miss_reason_.clear();
  const File directory(open_directory());
  if (directory.fd < 0) {
    miss_reason_ = trouble_;
    return std::nullopt;
  }
  size_t size = 0;
  const std::string name = entry_name(key);
  const File file(open_entry(directory.fd, name, size));
  std::string bytes;
  if (file.fd < 0) return std::nullopt;
  miss_reason_ = read_all(file.fd, bytes, size) ? fault_of(name, bytes) : "unreadable";
  if (!miss_reason_.empty()) {
    miss_reason_ = "the entry is " + miss_reason_;
    return std::nullopt;
  }
  return bytes.substr(sizeof(Header));
}

void KernelCache::store(const Digest& key, std::string_view payload) {
  const File directory(open_directory());
  if (directory.fd < 0) return;
  const Header header = make_header(key, payload);
  write_file(directory.fd, entry_name(key),
             {{reinterpret_cast<const char*>(&header), sizeof header}, payload});
}

std::string KernelCache::write_source(const std::string& file_name, std::string_view text) {
  const File directory(open_directory());
  if (directory.fd < 0) return "";
  const std::string path = directory_ + "/" + file_name;
  size_t size = 0;
  std::string present;
  if (const File old(open_entry(directory.fd, file_name, size)); old.fd >= 0 && size == text.size())
    if (read_all(old.fd, present, size) && present == text) return path;
  return write_file(directory.fd, file_name, {text}) ? path : "";
}

bool KernelCache::write_file(int directory, const std::string& name,
                             std::initializer_list<std::string_view> parts) {
  const WriteResult result = write_atomically(directory, name, {parts.begin(), parts.size()});
  if (result.ok()) return true;
  note(result.stopped == WriteStep::kCreate ? "no file can be made in it" : "a file in it cannot be written",
       result.error);
  return false;
}

std::string safe_file_stem(std::string_view name) {
  std::string stem;
  for (char c : name.substr(0, 100)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    stem += plain ? c : '_';
  }
  return stem.empty() ? "graph" : stem;
}

}  // namespace suture
