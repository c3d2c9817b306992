// GuardCosts: what has been learned about the guards of one entry from the calls it was asked about.
#pragma once

#include <cstdint>
#include <vector>

namespace suture {

struct GuardCosts {
  std::vector<int64_t> failures;  // per guard: calls that it refused
  // Per guard: the least of all samples, which is what it takes when nothing else disturbs; empty before the first.
  std::vector<double> ns;
  int64_t samples = 0;

  void add_sample(const std::vector<double>& sample) {
    if (ns.empty()) ns = sample;
    for (size_t i = 0; i < ns.size(); ++i) ns[i] = sample[i] < ns[i] ? sample[i] : ns[i];
    ++samples;
  }
};

}  // namespace suture
