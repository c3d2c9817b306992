// The floating-point status flags of this thread, as <cfenv> names them.
//
// Kernels compute in SSE registers, so only MXCSR counts on x86-64: <cfenv> would also read and write the x87
// unit, which is ten times slower.
#pragma once

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace suture {

constexpr int kFpConditions = FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID;

#if defined(__x86_64__)
// The exception bits of MXCSR are numbered like the FE_ constants.
static_assert(FE_INVALID == 0x01 && FE_DIVBYZERO == 0x04 && FE_OVERFLOW == 0x08 && FE_UNDERFLOW == 0x10);
inline void clear_fp_status() noexcept { _mm_setcsr(_mm_getcsr() & ~0x3Fu); }
inline int fp_status() noexcept { return static_cast<int>(_mm_getcsr()) & kFpConditions; }
#else
inline void clear_fp_status() noexcept { std::feclearexcept(FE_ALL_EXCEPT); }
inline int fp_status() noexcept { return std::fetestexcept(kFpConditions); }
#endif

}  // namespace suture
