/* The calling convention of every kernel; plain C, shared by generated code and the runtime.
 *
 * buffers[i] points at the first element of argument i; sizes holds run-time sizes and strides in the order
 * the launch plan lists them. The result is a bit set of conditions that floating-point status flags do not
 * show; any bit makes the runtime replay the graph under NumPy, which then emits its own warnings and
 * exceptions. */
#pragma once

#ifdef __cplusplus
#include <cstdint>
extern "C" {
#else
#include <stdint.h>
#endif

typedef uint32_t (*suture_kernel_fn)(void* const* buffers, const int64_t* sizes);

enum {
  SUTURE_KERNEL_OK = 0,
  SUTURE_KERNEL_INT_DIVIDE = 1,   /* integer division by zero, or INT_MIN // -1 */
  SUTURE_KERNEL_INT_OVERFLOW = 2, /* overflow of a NumPy integer scalar (arrays wrap silently) */
  SUTURE_KERNEL_INT_POWER = 4,    /* negative integer power */
  SUTURE_KERNEL_BAD_CAST = 8,     /* NaN or out-of-range float converted to integer */
  SUTURE_KERNEL_PY_ERROR =
      16, /* arithmetic on Python scalars that raises in Python (1 / 0, int overflow); a scalar
                                  that is assigned to a signed integer array and does not fit */
  SUTURE_KERNEL_BUILD_DEPENDENT =
      32 /* what NumPy gives depends on its build: the extreme of zeros of both signs,
                                        warnings of logaddexp for NaN */
};

#ifdef __cplusplus
}
#endif
