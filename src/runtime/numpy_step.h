// Steps of a launch plan that NumPy itself executes: contractions by its BLAS, and reductions that no kernel
// can do.
#pragma once

#include <span>

#include "base/result.h"
#include "cpython/py_ref.h"
#include "plan/launch_plan.h"

namespace suture {

// A NumPy callable with the keyword arguments of one step, looked up once.
struct NumpyStep {
  PyRef callable;
  PyRef keyword_names;  // tuple, or empty
  std::vector<PyRef> keyword_values;

  static Result<NumpyStep> build(const LaunchStep& step);
  PyRef call(std::span<PyObject* const> operands) const;  // empty with an exception set
};

// Scalars between their Python objects and kernel memory.
bool unpack_scalar(PyView object, ValueClass value_class, DType dtype, void* out) noexcept;
PyRef pack_scalar(ValueClass value_class, DType dtype, const void* value);

}  // namespace suture
