// Records of jitdump-specification.txt, version 1, in the byte order of this machine.
#include "toolchain/jitdump.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/files.h"

namespace suture {
namespace {

constexpr uint32_t kMagic = 0x4A695444;  // "JiTD"
constexpr uint32_t kVersion = 1;
enum RecordId : uint32_t { kCodeLoad = 0, kDebugInfo = 2 };

// perf record must use the same clock: -k mono.
uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

class Record {
 public:
  template <class T>
  Record& put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Record& text(const std::string& value) {
    text_.append(value.c_str(), value.size() + 1);
    return *this;
  }
  Record& bytes(const void* from, size_t size) {
    text_.append(static_cast<const char*>(from), size);
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

std::string with_prefix(RecordId id, const Record& body) {
  constexpr uint32_t kPrefix = 16;
  Record out;
  out.put<uint32_t>(id).put(static_cast<uint32_t>(kPrefix + body.str().size())).put(now());
  return out.str() + body.str();
}

std::string header() {
  constexpr uint32_t kBytes = 40;
  Record out;
  out.put(kMagic).put(kVersion).put(kBytes).put<uint32_t>(EM_X86_64).put<uint32_t>(0);
  out.put(static_cast<uint32_t>(getpid())).put(now()).put<uint64_t>(0);
  return out.str();
}

std::string debug_info(const CodeRange& range) {
  Record body;
  body.put(range.address).put<uint64_t>(range.lines.size());
  for (const LineRow& row : range.lines)
    body.put(row.address).put(static_cast<int32_t>(row.line)).put<int32_t>(0).text(row.file);
  return with_prefix(kDebugInfo, body);
}

std::string code_load(const NamedCode& code, uint64_t index) {
  Record body;
  body.put(static_cast<uint32_t>(getpid())).put(static_cast<uint32_t>(syscall(SYS_gettid)));
  body.put(code.range.address).put(code.range.address).put(code.range.size).put(index).text(code.name);
  body.bytes(code.code.data(), code.code.size());
  return with_prefix(kCodeLoad, body);
}

}  // namespace

std::string JitDump::path() const { return fmt::format("{}/jit-{}.dump", directory_, getpid()); }

std::string JitDump::open() {
  if (const int error = make_directories(directory_)) return std::strerror(error);
  std::string trouble;
  file_ = open_private_file(path(), trouble);
  if (file_ < 0) return trouble;
  if (ftruncate(file_, 0) != 0) return std::strerror(errno);  // of an earlier process with this number
  if (const int error = write_all(file_, header())) return std::strerror(error);
  marker_ =
      mmap(nullptr, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_READ | PROT_EXEC, MAP_PRIVATE, file_, 0);
  if (marker_ != MAP_FAILED) return "";
  marker_ = nullptr;
  return fmt::format("it cannot be mapped executable ({}), which perf needs", std::strerror(errno));
}

int JitDump::append(const NamedCode& code) {
  const std::string lines = code.range.lines.empty() ? "" : debug_info(code.range);
  return write_all(file_, lines + code_load(code, index_++));
}

void JitDump::close() {
  if (marker_) munmap(marker_, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  if (file_ >= 0) ::close(file_);
  marker_ = nullptr;
  file_ = -1;
  index_ = 0;
}

}  // namespace suture
