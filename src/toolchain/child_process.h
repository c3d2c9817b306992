// Runs a program to its end: no shell, stdin empty, output collected, bounded in time, dead when we are.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace suture {

struct ChildOutcome {
  int exit_code = -1;  // -1: killed by `signal`
  int signal = 0;
  bool timed_out = false;
  std::string output;  // stdout and stderr together, first 64 kB
};

Result<ChildOutcome> run_child(const std::vector<std::string>& argv, int timeout_seconds);

}  // namespace suture
