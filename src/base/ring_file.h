// RingFile: records of what this process is doing, in a file that outlives the process.
//
// How it works
//   `begin` writes a record, marked open, before something is tried; `end` marks it closed. Both are system calls that return
//   when the bytes belong to the file, so whatever ends the process then (a signal, the kernel's memory killer, a power switch
//   aside) leaves a record that is still open. The file is a ring: at `capacity` bytes it starts anew behind its head, over
//   the oldest records. It is made by the first `begin` and holds a lock of the process for as long as that lives; a reader
//   tells the living from the dead by the lock.
// Layout
//   head      kHeadBytes: magic, pid, size of a text about the process, the text
//   records   each at a multiple of kAlignment: RecordHead, facts (text), data (bytes). A record of an earlier lap may be
//             overwritten from either side, so the reader tests every multiple for a head that fits its facts.
// Invariants
//   - The file belongs to the user alone, in a directory that does, and no link is followed.
//   - A child of fork() never writes into the file of its parent: it has one of its own from its first record on. The lock is
//     not inherited.
//   - Trouble (no space, no permission) ends the writing for this process; `trouble` says what it was. Callers go on.
//   - The file goes away when the process ends by itself; what a crash leaves is removed by `sweep`, the newest aside.
//   - Calls come one at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace suture {

class RingFile {
 public:
  struct Ticket {
    uint64_t serial = 0;  // 0: nothing was written
    uint64_t offset = 0;
    explicit operator bool() const { return serial != 0; }
  };

  RingFile(std::string directory, std::string about_process, uint64_t capacity)
      : directory_(std::move(directory)), about_(std::move(about_process)), capacity_(capacity) {}
  RingFile(const RingFile&) = delete;
  RingFile& operator=(const RingFile&) = delete;
  ~RingFile();

  Ticket begin(std::string_view facts, std::span<const std::string_view> data);
  void end(Ticket ticket);
  // Makes the file of this process go away, unless a record of it is open.
  void finish();

  const std::string& path() const { return path_; }  // "" before the first record
  const std::string& trouble() const { return trouble_; }
  uint64_t largest_record() const { return capacity_ / 4; }

 private:
  bool open_file();
  bool make_file(int directory);
  void leave_file_of_parent();
  bool give_up(const char* what, int error);

  std::string directory_, about_, path_, trouble_;
  uint64_t capacity_, next_ = 0, serial_ = 0;
  int fd_ = -1, pid_ = 0;
  std::vector<Ticket> open_;  // still in the file
};

struct RingRecord {
  uint64_t serial = 0, began_ns = 0;  // since the epoch
  bool open = false;
  std::string facts;
  uint64_t data_offset = 0, data_bytes = 0;  // in the file
};
struct RingContents {
  std::string problem;  // not empty: why it is no ring file, or cannot be read
  int pid = 0;
  bool alive = false;  // its process holds the lock
  std::string about_process;
  std::vector<RingRecord> records;  // oldest first
};
// `path` must not be the file of this process: to close it would give up the lock.
RingContents read_ring_file(const std::string& path);

// Names of the ring files in a directory, newest first.
std::vector<std::string> ring_files(const std::string& directory);
// Removes what dead processes left, but for the newest `kept` files with an open record; how many files went.
size_t sweep_ring_files(const std::string& directory, size_t kept);

}  // namespace suture
