// SavedInputs: what the inputs of a call hold where the call overwrites them, so that it can be started over.
//
// Overview
//   The plan names the parts that kernels store into (LaunchPlan::overwritten). They are packed one after another into
//   memory that is kept from call to call. Where the parts together are larger than the arrays they lie in, and for plans
//   that name arrays only, the arrays are saved whole.
// Invariants
//   - Everything is saved before anything is written, so parts may overlap, and restoring them has no order.
#pragma once

#include <span>
#include <vector>

#include "cpython/py_ref.h"
#include "runtime/arena.h"
#include "runtime/launch_layout.h"

namespace suture {

// Bytes of an input that every call of the plan saves.
struct SavedInput {
  int input = -1;  // placeholder
  int64_t bytes = 0;
};
// Of a plan that names what it overwrites, for these values of the symbols.
std::vector<SavedInput> saved_inputs(const LaunchPlan& plan, std::span<const int64_t> symbols);

class SavedInputs {
 public:
  // `arrays`: placeholders that are overwritten. `pointers`: per buffer of the plan, its first element. False: an exception
  // is set, and there is nothing to restore. The plan, the layout and the inputs must live until clear().
  bool save(const LaunchPlan& plan, const LaunchLayout& layout, std::span<void* const> pointers,
            std::span<PyObject* const> inputs, std::span<const int> arrays);
  bool restore() const;  // false: an exception is set
  void clear();          // keeps some memory for the next call

 private:
  struct Part {
    char* memory = nullptr;
    std::span<const int64_t> shape, strides;  // in elements
    int64_t itemsize = 0;
  };
  struct Whole {
    PyObject* array = nullptr;  // borrowed from the caller
    int64_t bytes = 0;          // of a dense array; -1: `copy` holds it
    PyRef copy;
  };
  bool save_arrays(std::span<PyObject* const> inputs, std::span<const int> arrays);
  void save_parts(const LaunchPlan& plan, const LaunchLayout& layout, std::span<void* const> pointers);
  char* reserve(int64_t bytes);  // null, with an exception set: no memory

  std::vector<Part> parts_;
  std::vector<Whole> wholes_;
  Arena packed_;
};

}  // namespace suture
