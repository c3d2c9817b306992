// Output arrays whose memory comes back to us when the user drops them.
//
// Overview
//   Freed result memory of 64 KiB to 64 MiB is kept in size classes (four per power of two) and given to the
//   next result, so that a steady state takes no page faults: for arrays of 0.25 to 8 MB, giving memory back
//   to the system and faulting it in again costs about ten times what the kernel costs. An array is handed
//   out with a memory handler of its own (NEP 49), so it owns its data, may be resized, and looks like any
//   other.
// Invariants
//   - At most kKeptBytes are kept; beyond that freed memory goes back to the system at once.
//   - Every block starts at a page with its header; the data lies within the first page, so free() finds the
//     header from the pointer alone.
#pragma once

#include <cstdint>
#include <span>

#include "cpython/py_ref.h"
#include "ops/dtype.h"

namespace suture {

constexpr int64_t kSmallestPooled = int64_t{64} << 10;
constexpr int64_t kLargestPooled = int64_t{64} << 20;
constexpr int64_t kKeptBytes = int64_t{256} << 20;

// new_array (numpy_api.h) from pooled memory; `bytes` is what the array needs. Other sizes come from NumPy's
// own allocator.
PyRef new_output(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides_in_elements,
                 int64_t bytes);

int64_t kept_output_bytes() noexcept;
void release_kept_outputs() noexcept;

}  // namespace suture
