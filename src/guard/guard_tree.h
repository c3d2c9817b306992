// GuardTree: guards compiled to a flat program: fetch each source once into a slot, test, bind symbols.
//
// Invariants
//   - evaluate() runs no user code, allocates nothing, and leaves no Python exception behind.
//   - explain_failure(g) for the g that evaluate() returned always names source, expected and actual, from the same record.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "guard/guard.h"

namespace suture {

// What a frame was called with: the function and its bound arguments (co_argcount + kwonly + *args tuple + **kwargs dict,
// in localsplus order; all non-null).
struct FrameInput {
  PyView function = nullptr;
  std::span<PyObject* const> arguments;
};

// Reusable scratch: slot values (borrowed) and symbol values.
struct GuardScratch {
  std::vector<PyObject*> slots;       // by SourceId
  std::vector<int64_t> symbols;       // by SymbolId
};

class GuardTree {
 public:
  static Result<GuardTree> build(GuardSet set, ShapeEnv env);
  // Index of the first guard that fails, or -1. Fills scratch for the sources and symbols seen so far.
  int evaluate(const FrameInput& input, GuardScratch& scratch) const noexcept;
  // All failing guards (those whose sources can be fetched), for recompiles_verbose.
  std::vector<int> failing(const FrameInput& input) const;
  std::string explain_failure(int guard, const FrameInput& input) const;  // "array 'x' size mismatch at index 0. expected 32, actual 48"
  std::string describe(int guard) const;                                  // "x.shape[0] == 32"
  const GuardSet& set() const { return set_; }
  const ShapeEnv& env() const { return env_; }
  // Drops every Python reference (tp_traverse/tp_clear of the owner).
  int traverse(visitproc visit, void* arg) const;
  void clear();

 private:
  GuardSet set_;
  ShapeEnv env_;
};

// Fetches one source; borrowed reference or null. Runs no user code.
PyObject* fetch(const SourceTable& sources, SourceId id, const FrameInput& input) noexcept;

}  // namespace suture
