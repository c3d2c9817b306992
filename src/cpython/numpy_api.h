// NumPy's C API behind named functions. (cpython/ndarray.h has the inline field reads of the hot paths.)
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

// What `numpy` held when it was imported here: NumPy's own functions, also after a program replaced some of
// them.
PyView numpy_names() noexcept;

// Facts of an ndarray without copying. Pointers are borrowed from the array.
struct ArrayFacts {
  void* data;
  int ndim;
  const int64_t* shape;
  const int64_t* strides;      // bytes
  std::optional<DType> dtype;  // empty: a dtype we do not compile (or byte-swapped)
  bool plain;  // exactly numpy.ndarray, native byte order, aligned, strides multiples of the itemsize
  bool writeable;
  bool c_contiguous, f_contiguous;
};
bool is_exact_ndarray(PyView object) noexcept;
bool is_any_ndarray(PyView object) noexcept;
ArrayFacts array_facts(PyView array) noexcept;
// Of an ndarray: the strides of an array that NumPy allocates with this shape, 'C' or 'F', also along axes of extent 1
// (one rule) and in empty arrays (all 0).
bool has_new_strides(PyView array, char order) noexcept;

// NumPy scalars of supported dtypes (numpy.float64 ...).
std::optional<DType> numpy_scalar_dtype(PyView object) noexcept;
bool read_numpy_scalar(PyView object, DType dtype, void* out) noexcept;
PyRef make_numpy_scalar(DType dtype, const void* value);

// Fresh arrays. strides in elements; data uninitialised.
PyRef new_array(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides_in_elements);
// A view that keeps `base_array` alive, as NumPy's own indexing makes it (base chain collapsed the way NumPy
// does).
PyRef new_view(PyView base_array, void* data, DType dtype, std::span<const int64_t> shape,
               std::span<const int64_t> strides_in_elements, bool writeable);
// An array over memory that somebody else keeps; must not outlive it.
PyRef wrap_memory(void* data, DType dtype, std::span<const int64_t> shape,
                  std::span<const int64_t> strides_in_elements);
PyRef copy_array(PyView array);                     // same values and memory order (order='K')
bool copy_into(PyView destination, PyView source);  // destination[...] = source; false with an exception set
void* array_data(PyView array) noexcept;
bool may_share_memory(PyView a, PyView b) noexcept;  // bounds test, as np.may_share_memory
// np.shares_memory; true also when the question is too hard to answer quickly: above this max_work.
inline constexpr int64_t kMaxOverlapWork = 100000;
bool shares_memory_exact(PyView a, PyView b) noexcept;
std::string dtype_text(PyView array);  // str(array.dtype), for messages
// np.geterr() packed: kErrorFieldBits bits for each of divide, over, under, invalid, lowest first; used as
constexpr int kErrorFieldBits = 3;
constexpr int kErrorStateOfNumpy =
    1 | 1 << kErrorFieldBits | 1 << (3 * kErrorFieldBits);  // warn, warn, ignore, warn
int error_state() noexcept;
// The floating-point exceptions of <cfenv> (FE_DIVBYZERO ...) that `state` does not ignore.
int watched_fp_flags(int state) noexcept;

// While alive, NumPy raises FloatingPointError for every condition that the current error state does not ignore
// (kWatched) or for every condition there is (kAll): the caller learns of it without a warning being issued or
// a handler being called.
class RaisingErrorState {
 public:
  enum class Conditions : uint8_t { kWatched, kAll };
  explicit RaisingErrorState(Conditions conditions = Conditions::kWatched) noexcept;
  ~RaisingErrorState();
  RaisingErrorState(const RaisingErrorState&) = delete;
  RaisingErrorState& operator=(const RaisingErrorState&) = delete;

 private:
  PyObject* token_ = nullptr;
};

// np.float64, "f8", float, dtype(...): what dtype= accepts, as far as that runs no user code. Empty: None, a
// dtype we do not compile, or not a dtype. Leaves no exception behind.
std::optional<DType> dtype_from_object(PyView dtype_like);
PyRef dtype_object(DType dtype);  // np.dtype(...)

}  // namespace suture
