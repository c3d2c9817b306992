// Would a symbol have stopped this recompile? Asked of what a capture with symbols relied on.
//
// How it works
//   A size, stride or int that an entry fixes can be a symbol instead. Whether one entry then serves the calls of the fixed
//   one too is not known from the guard that failed: `if n > 3`, `x.reshape(n, -1)` and arrays that broadcast against each
//   other rely on values, and each outcome is compiled for itself. A capture in which it is a symbol has recorded what it
//   relied on, as facts over symbols. Here these facts are asked with the values the old entry was made for, and with those
//   of this call. A fact that is false blames every symbol in it.
// Invariants
//   - Runs no user code, compiles nothing.
//   - Passes may rely on a little more than capture does: an answer "yes" is about what capture knows.
#pragma once

#include <optional>
#include <vector>

#include "guard/frame_input.h"
#include "guard/guard_tree.h"

namespace suture {

class SymbolTrial {
 public:
  // `set` and `env`: of a capture with symbols. `entry`: the guards that fix values instead.
  SymbolTrial(const GuardSet& set, const ShapeEnv& env, const FrameInput& input, const GuardTree& entry);
  // Whether the symbol in place of what `guard` of the entry fixes would do; nothing when there is none.
  std::optional<bool> serves(const Guard& guard) const;

 private:
  const SymbolBinding* binding_of(const Guard& guard) const;
  bool set_values(const FrameInput& input);
  void blame_false_facts(std::span<const int64_t> values);

  const GuardSet& set_;
  const ShapeEnv& env_;
  const GuardTree& entry_;
  std::vector<int64_t> now_,
      then_;  // of each symbol: in this call, and where the entry fixes it what that fixes
  std::vector<bool> blamed_;
};

}  // namespace suture
