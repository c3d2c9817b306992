// GuardTree: guards compiled to a flat program: fetch each source once into a slot, test, bind symbols.
//
// Overview
//   build() puts the guards into their final order, which every index refers to: the guards as given, then
//   one range guard per symbol binding (it binds the symbol), then one kShape guard per fact of the ShapeEnv.
//   matches() runs the flat program (guard_program.h), which may test in another order; evaluate() adds, for
//   a call that does not match, the search for the first failing guard with check_guard (guard_check.h). Both
//   answer from the same records, and describe() and explain_failure() print them.
// Invariants
//   - evaluate() runs no user code, allocates nothing once the scratch has its size, and leaves no Python
//     exception behind.
//   - explain_failure(g) for the g that evaluate() returned always names source, expected and actual, from
//     the same record.
//   - Guards hold user instances weakly (kIdentity); modules, functions, types and builtins strongly.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "guard/frame_input.h"
#include "guard/guard.h"
#include "guard/guard_program.h"
#include "guard/guard_text.h"

namespace suture {

class GuardTree {
 public:
  static Result<GuardTree> build(GuardSet set, ShapeEnv env);
  // Whether every guard holds; on true, scratch has the values of all guarded sources and of all symbols.
  bool matches(const FrameInput& input, GuardScratch& scratch) const noexcept {
    return refusing(input, scratch) < 0;
  }
  // The same, with the guard that refused: the first in the order of the program, which is not always that of evaluate().
  int refusing(const FrameInput& input, GuardScratch& scratch) const noexcept;
  // Times every guard once (GuardProgram::measure); false when one fails.
  bool measure(const FrameInput& input, GuardScratch& scratch, std::vector<double>& ns) const;
  // How often each guard was tested, when all held `passes` times and guard i refused `failures[i]` times.
  std::vector<int64_t> tested(int64_t passes, std::span<const int64_t> failures) const;
  // Index of the first guard that fails, or -1. Fills scratch for the sources and symbols seen so far.
  int evaluate(const FrameInput& input, GuardScratch& scratch) const noexcept;
  // All failing guards, for recompiles_verbose; of the guards on a source that cannot be fetched only the
  // first. Empty exactly when evaluate() is -1.
  std::vector<int> failing(const FrameInput& input) const;
  GuardFailure explain_failure(int guard, const FrameInput& input) const;
  std::string describe(int guard) const;  // "x.shape[0] == 32"
  const GuardSet& set() const { return set_; }
  const ShapeEnv& env() const { return env_; }
  // Drops every Python reference (tp_traverse/tp_clear of the owner).
  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  GuardSet set_;
  ShapeEnv env_;
  GuardProgram program_;
};

}  // namespace suture
