// CallSample: a few calls of one compiled function, counted while profiling is on.
#pragma once

#include <cstdint>
#include <functional>

namespace suture {

// Calls that compiled nothing. The first ones after a compile are not counted: they fill the memory that later ones use
// again.
struct CallSample {
  static constexpr int kWarmup = 2, kCalls = 4;
  int seen = 0;              // steady calls since the last compile, up to kWarmup + kCalls
  int64_t minor_faults = 0;  // of the counted calls
  double ms = 0;             // of the counted calls
  bool is_open() const { return seen < kWarmup + kCalls; }
};
using OnCallSample = std::function<void(const CallSample&)>;  // after the last counted call

int64_t minor_faults_of_thread() noexcept;

}  // namespace suture
