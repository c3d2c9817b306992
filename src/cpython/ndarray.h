// Inline access to ndarray's fields, for the two hot paths (guard evaluation and launching) that cannot
// afford a call.
//
// Everything else uses numpy_api.h. The C API table is filled by import_numpy(); until then only the layout
// may be used.
#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL suture_numpy_c_api
#ifndef SUTURE_OWNS_NUMPY_C_API  // defined by numpy_api.cpp alone
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <cstdint>

#include "cpython/py_ref.h"
#include "ops/dtype.h"

namespace suture {

// Filled by import_numpy(): NumPy's own descriptor and scalar type per DType, borrowed for the life of the
// process.
constexpr int kDTypeCount = static_cast<int>(DType::kFloat64) + 1;
struct NumpyObjects {
  PyTypeObject* ndarray = nullptr;
  PyArray_Descr* descriptors[kDTypeCount] = {};
  PyTypeObject* scalar_types[kDTypeCount] = {};
};
extern NumpyObjects numpy_objects;

inline PyArrayObject_fields* array_fields(PyView array) noexcept {
  return reinterpret_cast<PyArrayObject_fields*>(array);
}
inline bool is_exact_array(PyView object) noexcept { return Py_TYPE(object) == numpy_objects.ndarray; }

// True for NumPy's own descriptor of `dtype`, and for an equal native one without metadata (arrays read from
// a pickle carry such copies).
bool is_equal_descriptor(const PyArray_Descr* descriptor, DType dtype) noexcept;
inline bool has_dtype(PyView array, DType dtype) noexcept {
  const PyArray_Descr* descriptor = array_fields(array)->descr;
  return descriptor == numpy_objects.descriptors[static_cast<int>(dtype)] ||
         is_equal_descriptor(descriptor, dtype);
}

// What kernels may assume of every array: NumPy's aligned flag, and strides that are whole elements.
inline bool has_whole_strides(PyView array, int64_t itemsize) noexcept {
  const PyArrayObject_fields* fields = array_fields(array);
  // Itemsizes are powers of two, so one mask over all strides finds a stray byte.
  int64_t bits = 0;
  for (int i = 0; i < fields->nd; ++i) bits |= fields->strides[i];
  return (bits & (itemsize - 1)) == 0;
}

}  // namespace suture
