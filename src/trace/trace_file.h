// TraceFile: events as JSON lines in a file of this process, inside a directory.
//
// How it works
//   A listener without Python: each event is one write(2) on a file opened for appending, so that a crash or a kill loses
//   at most the line it interrupts, and nothing waits in a buffer that a fork would double. The file is made at the first
//   event; a child made by fork makes its own at its first one. The first line of a file describes it:
//     {"schema": 1, "suture": "...", "python": "...", "numpy": "...", "pid": 4711, "time": 1700000000.25}
// Invariants
//   - Trouble (no space, no permission) is told once through `on_trouble`, with what it means for the trace, and nothing more is
//     written. What was begun when the space ended is taken back: the file ends with a whole line.
//   - The directory is made private; a name that exists as a link is not followed.
//   - As for every listener: calls come one at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/event.h"

namespace suture {

class TraceFile {
 public:
  using Facts = std::vector<std::pair<std::string, std::string>>;  // for the first line
  TraceFile(std::string directory, Facts facts, std::function<void(const std::string&)> on_trouble)
      : directory_(std::move(directory)), facts_(std::move(facts)), on_trouble_(std::move(on_trouble)) {}
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile() { close(); }

  void write(const Event& event);
  const std::string& path() const { return path_; }  // "" before the first event

  // What a trace listens to: everything but the assembly of kernels, which is expensive to make and has to be asked for.
  static uint64_t events(bool with_assembly);

 private:
  bool open();
  bool append(std::string line);
  std::string consequence() const;
  void give_up(const std::string& what, int error);
  void close();

  std::string directory_, path_;
  Facts facts_;
  std::function<void(const std::string&)> on_trouble_;
  int file_ = -1;
  int pid_ = 0;
  int64_t events_ = 0, bytes_ = 0;  // in the file, all of them whole
  bool broken_ = false;
};

}  // namespace suture
