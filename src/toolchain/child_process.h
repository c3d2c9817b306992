// Runs a program to its end: no shell, stdin empty, output collected, bounded in time, dead when we are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace suture {

constexpr size_t kChildOutputLimit = size_t{64} << 10;

struct ChildOutcome {
  int exit_code = -1;  // -1: killed by `signal`
  int signal = 0;
  bool timed_out = false;
  std::string output;  // stdout and stderr together, first kChildOutputLimit bytes
};

Result<ChildOutcome> run_child(const std::vector<std::string>& argv, int timeout_seconds);

}  // namespace suture
