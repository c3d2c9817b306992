// Applications: every place where an optional pass changes the graph, numbered in the order in which they happen.
//
// Overview
//   A pass asks before each change, with the name that people see: take("fold_casts", "cast_3 reads x"). Once the limit is
//   reached the answer is no, and the pass leaves the place as it is. So the first n changes can be had without the others,
//   which is what `suture bisect` searches: the one change that turns a right result into a wrong one.
// Invariants
//   - The numbers are stable: the first n changes under any limit >= n are the same ones, in the same order, for a change
//     depends on nothing but the graph before it.
//   - A graph is lawful and means the same after any number of changes: what a pass does in one change is complete.
//   - Required passes are not counted, for nothing can run without them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace suture {

class Applications {
 public:
  static constexpr int64_t kNoLimit = -1;
  explicit Applications(int64_t limit = kNoLimit)
      : limit_(limit == kNoLimit ? std::numeric_limits<int64_t>::max() : limit) {}

  // False: the change must not be made. `what` names it.
  bool take(std::string what) {
    if (count() >= limit_) return false;
    names_.push_back(std::move(what));
    return true;
  }
  int64_t count() const { return static_cast<int64_t>(names_.size()); }
  const std::vector<std::string>& names() const { return names_; }  // the n-th change is names()[n - 1]

 private:
  int64_t limit_;
  std::vector<std::string> names_;
};

}  // namespace suture
