// Files that appear whole, and directories that are made on the way. Everything made here is private to the user.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace suture {

// Where writing a file ended, and the errno there; kDone: it is whole under its name.
enum class WriteStep : uint8_t { kDone, kCreate, kWrite };
struct WriteResult {
  WriteStep stopped = WriteStep::kDone;
  int error = 0;
  bool ok() const { return stopped == WriteStep::kDone; }
};

// All bytes, however often the system takes only a part of them. 0 or errno.
int write_all(int fd, std::string_view bytes);

// mkdir -p with mode 0700; what exists is left as it is. Parents may be out of our reach: whether the last directory can
// be made decides. 0 or errno.
int make_directories(const std::string& path);

// `parts` one after the other, under a temporary name in the open directory and then renamed: a reader sees the old file
// or the new one. What cannot be written leaves nothing behind. Writers may run in many threads and processes.
WriteResult write_atomically(int directory, const std::string& name, std::span<const std::string_view> parts);

}  // namespace suture
