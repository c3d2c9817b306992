// What the runtime counted: statuses of compiled callables (see Status in _core.pyi), read from JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace suture::toolbox {

struct GuardStatus {
  int64_t tested = 0, failures = 0;
  double ns = -1;  // -1: not measured
};

struct EntryStatus {
  int64_t number = 0, hits = 0;
  std::string graph;
  std::vector<std::string> guards;
  std::vector<GuardStatus> guard_costs;  // of each of guards
};

struct FrameStatus {
  int64_t frame = -1;
  std::string function, file, kind, reason;
  int64_t line = 0, calls = 0, hits = 0, compiles = 0, recompiles = 0, replays = 0;
  int64_t steady_calls = -1;  // calls that time_ms is the time of; -1 unknown
  double compile_ms = 0, time_ms = 0, first_ms = 0;
  bool skipped = false;
  std::vector<EntryStatus> entries;
};

// Of a callable since it was made or reset.
struct CallableStatus {
  std::string function, file, backend, numerics;
  int64_t line = 0;
  int64_t callable =
      -1;  // the same for every status of one callable, which has one per reset; -1: it has one
  std::vector<FrameStatus> frames;
};

// `json`: one status or a list of them; "" is none.
Result<std::vector<CallableStatus>> parse_statuses(std::string_view json);

}  // namespace suture::toolbox
