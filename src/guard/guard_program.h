// GuardProgram: the guards of one entry as a flat list of operations.
//
// How it works
//   Each source that a guard needs is fetched once into its slot, right before the first test that reads it.
//   All facts about one array (kArray, kDtype, kRank, kSize, kStride, kContiguous, kWriteable) become one
//   operation that reads the array's fields directly. All attributes of one module that must be what they were
//   (np.sin, np.cos) become one operation: while the version of the module's dict stands still, one comparison
//   answers for all of them. Everything else is a pointer comparison or a call of check_guard.
//   An operation that fails names the guard that refused; what its parts are is looked into only then. Times come from
//   measure(), a walk of its own, so run() reads no clock.
// Invariants
//   - Agrees with check_guard on every guard; only the order of tests differs.
//   - Points into the GuardSet and ShapeEnv it was built from; the owner keeps them unchanged and in place
//     (heap storage of their vectors, so moving the owner is fine).
#pragma once

#include <Python.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "guard/frame_input.h"
#include "guard/guard.h"

namespace suture {

class GuardProgram {
 public:
  static GuardProgram build(const GuardSet& set, const ShapeEnv& env);
  // Index of the guard that refused, or -1 when all hold.
  int run(const GuardSet& set, const ShapeEnv& env, const FrameInput& input,
          GuardScratch& scratch) const noexcept {
    return walk(operations_.data(), operations_.data() + operations_.size(), set, env, input, scratch);
  }
  // Nanoseconds of each guard with warm caches: operations run several times in a row; what several guards share, a
  // fetch or a fused test, is split among them. False, and nothing is known, when a guard fails.
  bool measure(const GuardSet& set, const ShapeEnv& env, const FrameInput& input, GuardScratch& scratch,
               std::vector<double>& ns) const noexcept;
  // Of each guard: number of the operation that tests it. Guards of lower operations were tested before it.
  std::vector<int> positions(size_t guards) const;

 private:
  enum class Code : uint8_t { kFetchLocal, kFetchGlobal, kFetch, kArray, kModule, kIs, kType, kGuard };
  struct Operation {
    Code code;
    int slot = -1;  // value that is tested or fetched
    int number =
        -1;  // kFetchLocal: argument; kFetch*: parent slot; kArray, kModule: index into arrays_, modules_;
             // kGuard: guard
    int guard =
        -1;  // kIs, kType, kGuard: it; kFetch*: the first that needs the value; kArray, kModule: their first
    PyObject* object = nullptr;  // kIs, kType: expected; kFetchGlobal: the name (borrowed from the set)
  };
  struct AxisValue {
    int axis;
    int64_t value;
  };
  struct ArrayFactsWanted {
    DType dtype = DType::kFloat64;
    int ndim = 0;
    int flags_mask = 0, flags_wanted = 0;
    bool test_whole_strides = true;
    char new_strides = 0;  // 'C', 'F': the strides of a new array in this order; 0: any
    std::vector<AxisValue> sizes, strides;
  };
  struct ModuleAttributes {
    PyObject* module;                                       // borrowed: the set holds it
    std::vector<std::pair<PyObject*, PyObject*>> expected;  // name, object
    mutable uint64_t version = 0;  // of the dict when all were seen to be there; 0: not seen yet
  };
  struct Builder;
  static bool array_matches(const ArrayFactsWanted& wanted, PyObject* value) noexcept;

  static bool module_matches(const ModuleAttributes& wanted) noexcept;

  int walk(const Operation* first, const Operation* last, const GuardSet& set, const ShapeEnv& env,
           const FrameInput& input, GuardScratch& scratch) const noexcept;
  [[gnu::cold, gnu::noinline]] int refused(const Operation& op, const GuardSet& set, const ShapeEnv& env,
                                           GuardScratch& scratch) const noexcept;

  std::vector<Operation> operations_;
  std::vector<std::vector<int>>
      guards_;  // per operation: those it tests, or for a fetch the one that needs it
  std::vector<ArrayFactsWanted> arrays_;
  std::vector<ModuleAttributes> modules_;
};

}  // namespace suture
