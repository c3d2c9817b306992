#include "base/ring_file.h"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/hash.h"

namespace suture {
namespace {

constexpr uint64_t kHeadBytes = 4096, kAlignment = 64;
constexpr char kMagic[8] = {'S', 'U', 'T', 'U', 'R', 'E', 'R', '1'};
constexpr char kRecordMagic[8] = {'S', 'U', 'T', 'R', 'E', 'C', 'O', 'R'};
constexpr std::string_view kSuffix = ".record";
constexpr off_t kLargestFile = off_t{1} << 30;

struct Head {
  char magic[8];
  int32_t pid;
  uint32_t about_bytes;
};

struct RecordHead {
  char magic[8];
  uint64_t serial, began_ns, facts_bytes, data_bytes, facts_hash;
  uint32_t open;
  uint32_t unused;
  uint64_t head_hash;  // of serial and the sizes: stray bytes are no record
};
static_assert(sizeof(RecordHead) == kAlignment);

uint64_t head_hash(const RecordHead& head) {
  return hash_combine(hash_combine(head.serial, head.facts_bytes), head.data_bytes) ^ head.facts_hash;
}

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

uint64_t nanoseconds_since_epoch() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

bool write_at(int fd, const void* bytes, size_t size, uint64_t offset) {
  for (size_t done = 0; done < size;) {
    const ssize_t n =
        pwrite(fd, static_cast<const char*>(bytes) + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool read_at(int fd, void* bytes, size_t size, uint64_t offset) {
  for (size_t done = 0; done < size;) {
    const ssize_t n =
        pread(fd, static_cast<char*>(bytes) + done, size - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

struct flock whole_file(short kind) {
  struct flock lock{};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  return lock;
}

struct Closing {
  int fd;
  explicit Closing(int fd) : fd(fd) {}
  Closing(const Closing&) = delete;
  ~Closing() {
    if (fd >= 0) close(fd);
  }
};

int open_private_directory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat found{};
  if (fd < 0) return -1;
  if (fstat(fd, &found) == 0 && found.st_uid == geteuid() && (found.st_mode & 077) == 0) return fd;
  close(fd);
  errno = EPERM;
  return -1;
}

}  // namespace

// --- writing -----------------------------------------------------------------------------------------------

RingFile::~RingFile() {
  if (fd_ >= 0) close(fd_);
}

bool RingFile::give_up(const char* what, int error) {
  trouble_ = std::string(what) + ": " + std::strerror(error);
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  if (!path_.empty()) unlink(path_.c_str());
  path_.clear();
  open_.clear();
  return false;
}

void RingFile::leave_file_of_parent() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  path_.clear();
  trouble_.clear();
  open_.clear();
  next_ = 0;
}

bool RingFile::make_file(int directory) {
  const std::string name =
      std::to_string(pid_) + "_" + std::to_string(nanoseconds_since_epoch()) + std::string(kSuffix);
  fd_ = openat(directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd_ < 0) return give_up("the file could not be made", errno);
  path_ = directory_ + "/" + name;
  struct flock lock = whole_file(F_WRLCK);
  if (fcntl(fd_, F_SETLK, &lock) != 0) return give_up("the file could not be locked", errno);
  about_.resize(std::min<size_t>(about_.size(), kHeadBytes - sizeof(Head)));
  Head head{};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.pid = pid_;
  head.about_bytes = static_cast<uint32_t>(about_.size());
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes += about_;
  bytes.resize(kHeadBytes);
  if (!write_at(fd_, bytes.data(), bytes.size(), 0)) return give_up("the file could not be written", errno);
  next_ = kHeadBytes;
  return true;
}

bool RingFile::open_file() {
  const int pid = getpid();
  if (pid != pid_) leave_file_of_parent();
  pid_ = pid;
  if (fd_ >= 0) return true;
  if (!trouble_.empty()) return false;
  if (const int error = make_directories(directory_))
    return give_up("the directory could not be made", error);
  const Closing directory(open_private_directory(directory_));
  if (directory.fd < 0) return give_up("the directory is not the user's own", errno);
  return make_file(directory.fd);
}

RingFile::Ticket RingFile::begin(std::string_view facts, std::span<const std::string_view> data) {
  if (!open_file()) return {};
  RecordHead head{};
  std::memcpy(head.magic, kRecordMagic, sizeof kRecordMagic);
  head.facts_bytes = facts.size();
  for (std::string_view bytes : data) head.data_bytes += bytes.size();
  const uint64_t size = aligned(sizeof head + head.facts_bytes + head.data_bytes);
  if (size > largest_record()) return {};
  head.serial = ++serial_;
  head.began_ns = nanoseconds_since_epoch();
  head.facts_hash = hash_bytes(facts);
  head.open = 1;
  head.head_hash = head_hash(head);
  if (next_ + size > kHeadBytes + capacity_) next_ = kHeadBytes;
  const Ticket ticket{head.serial, next_};
  const auto overwritten = [&](const Ticket& old) {
    return old.offset >= ticket.offset && old.offset < ticket.offset + size;
  };
  std::erase_if(open_, overwritten);
  // The head last: a record that is seen is complete.
  uint64_t offset = ticket.offset + sizeof head;
  bool ok = write_at(fd_, facts.data(), facts.size(), offset);
  offset += facts.size();
  for (std::string_view bytes : data) {
    ok = ok && write_at(fd_, bytes.data(), bytes.size(), offset);
    offset += bytes.size();
  }
  if (!ok || !write_at(fd_, &head, sizeof head, ticket.offset)) {
    give_up("the file could not be written", errno);
    return {};
  }
  next_ = ticket.offset + size;
  open_.push_back(ticket);
  return ticket;
}

void RingFile::end(Ticket ticket) {
  const auto same = [&](const Ticket& other) { return other.serial == ticket.serial; };
  if (!ticket || fd_ < 0 || getpid() != pid_ || std::erase_if(open_, same) == 0) return;
  const uint32_t closed = 0;
  write_at(fd_, &closed, sizeof closed, ticket.offset + offsetof(RecordHead, open));
}

void RingFile::finish() {
  if (fd_ < 0 || getpid() != pid_ || !open_.empty()) return;
  unlink(path_.c_str());
  close(std::exchange(fd_, -1));
  path_.clear();
}

// --- reading -----------------------------------------------------------------------------------------------

namespace {

bool is_record(const RecordHead& head, uint64_t offset, uint64_t file_bytes) {
  return std::memcmp(head.magic, kRecordMagic, sizeof kRecordMagic) == 0 &&
         head.head_hash == head_hash(head) && head.facts_bytes <= file_bytes &&
         head.data_bytes <= file_bytes &&
         offset + sizeof head + head.facts_bytes + head.data_bytes <= file_bytes;
}

void read_records(int fd, uint64_t file_bytes, RingContents& out) {
  for (uint64_t offset = kHeadBytes; offset + sizeof(RecordHead) <= file_bytes;) {
    RecordHead head;
    RingRecord record;
    offset += kAlignment;
    if (!read_at(fd, &head, sizeof head, offset - kAlignment)) return;
    if (!is_record(head, offset - kAlignment, file_bytes)) continue;
    record.facts.resize(head.facts_bytes);
    if (!read_at(fd, record.facts.data(), head.facts_bytes, offset)) return;
    if (hash_bytes(record.facts) != head.facts_hash) continue;
    record.serial = head.serial;
    record.began_ns = head.began_ns;
    record.open = head.open != 0;
    record.data_offset = offset + head.facts_bytes;
    record.data_bytes = head.data_bytes;
    offset = aligned(record.data_offset + head.data_bytes);
    out.records.push_back(std::move(record));
  }
}

}  // namespace

RingContents read_ring_file(const std::string& path) {
  RingContents out;
  const Closing file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat found{};
  if (file.fd < 0 || fstat(file.fd, &found) != 0) {
    out.problem = std::strerror(errno);
    return out;
  }
  Head head{};
  if (!S_ISREG(found.st_mode) || found.st_size > kLargestFile || !read_at(file.fd, &head, sizeof head, 0) ||
      std::memcmp(head.magic, kMagic, sizeof kMagic) != 0 || head.about_bytes > kHeadBytes - sizeof head) {
    out.problem = "it is no record of a process";
    return out;
  }
  struct flock lock = whole_file(F_WRLCK);
  out.alive = fcntl(file.fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  out.pid = head.pid;
  out.about_process.resize(head.about_bytes);
  if (!read_at(file.fd, out.about_process.data(), head.about_bytes, sizeof head)) {
    out.problem = "it is cut off";
    return out;
  }
  read_records(file.fd, static_cast<uint64_t>(found.st_size), out);
  std::ranges::sort(out.records, {}, &RingRecord::serial);
  return out;
}

std::vector<std::string> ring_files(const std::string& directory) {
  std::vector<std::pair<int64_t, std::string>> found;
  DIR* entries = opendir(directory.c_str());
  if (entries == nullptr) return {};
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    struct stat status{};
    if (!name.ends_with(kSuffix) || fstatat(dirfd(entries), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    found.emplace_back(status.st_mtim.tv_sec * int64_t{1000000000} + status.st_mtim.tv_nsec, name);
  }
  closedir(entries);
  std::ranges::sort(found, std::greater<>());
  std::vector<std::string> names;
  for (auto& [time, name] : found) names.push_back(std::move(name));
  return names;
}

size_t sweep_ring_files(const std::string& directory, size_t kept) {
  size_t removed = 0;
  const std::string own = std::to_string(getpid()) + "_";
  for (const std::string& name : ring_files(directory)) {
    if (name.starts_with(own)) continue;
    const std::string path = directory + "/" + name;
    const RingContents contents = read_ring_file(path);
    if (contents.alive || !contents.problem.empty()) continue;
    const bool unfinished = std::ranges::any_of(contents.records, &RingRecord::open);
    if (unfinished && kept > 0) {
      --kept;
      continue;
    }
    removed += unlink(path.c_str()) == 0;
  }
  return removed;
}

}  // namespace suture
