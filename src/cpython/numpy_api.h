// NumPy's C API behind named functions. The only header that knows ndarray's layout.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "cpython/py_ref.h"
#include "ops/dtype.h"

namespace suture {

// Imports numpy's C API once; error kPython when it fails or NumPy is older than 2.0.
Status import_numpy();

// Facts of an ndarray without copying. Pointers are borrowed from the array.
struct ArrayFacts {
  void* data;
  int ndim;
  const int64_t* shape;
  const int64_t* strides;  // bytes
  std::optional<DType> dtype;  // empty: a dtype we do not compile (or byte-swapped)
  bool plain;      // exactly numpy.ndarray, native byte order, aligned, strides multiples of the itemsize
  bool writeable;
  bool c_contiguous, f_contiguous;
};
bool is_exact_ndarray(PyView object) noexcept;
bool is_any_ndarray(PyView object) noexcept;
ArrayFacts array_facts(PyView array) noexcept;

// NumPy scalars of supported dtypes (numpy.float64 ...).
std::optional<DType> numpy_scalar_dtype(PyView object) noexcept;
bool read_numpy_scalar(PyView object, DType dtype, void* out) noexcept;
PyRef make_numpy_scalar(DType dtype, const void* value);

// Fresh arrays. strides in elements; data uninitialised.
PyRef new_array(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides_in_elements);
// A view that keeps `base_array` alive, as NumPy's own indexing makes it (base chain collapsed the way NumPy does).
PyRef new_view(PyView base_array, void* data, DType dtype, std::span<const int64_t> shape,
               std::span<const int64_t> strides_in_elements, bool writeable);
void* array_data(PyView array) noexcept;
bool may_share_memory(PyView a, PyView b) noexcept;  // bounds test, as np.may_share_memory
bool shares_memory_exact(PyView a, PyView b) noexcept;
std::string dtype_text(PyView array);                // str(array.dtype), for messages
// np.geterr() in the four-letter order divide, over, under, invalid, packed; used as guard and to skip flag tests.
int error_state() noexcept;
std::optional<DType> dtype_from_object(PyView dtype_like);  // np.float64, "f8", float, dtype(...): what dtype= accepts

}  // namespace suture
