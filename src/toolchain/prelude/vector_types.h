// Vectors of doubles, the currency of the vector math; clang only.
//
// How vector functions reach a loop
//   A loop over `vm_sin(x[i])` calls suture_sin_f64, a scalar function that the inliner leaves alone. The in-process compiler
//   tells the loop vectoriser that suture_sin_f64_v is its vector form (and _w the form with twice the lanes), so the loop
//   becomes one call per vector. In there, unlike in an auto-vectorised expression, a rare case may be a branch: "does any
//   lane need the slow path?". The scalar form is lane 0 of the vector form: an element's bits never depend on its place in
//   the array.
// Without clang (subprocess g++) the same names are the C library's functions.
#if defined(__clang__) && defined(__x86_64__)
#define SUTURE_VECTOR_MATH 1
#ifdef __AVX512F__
#define SUTURE_LANES 8
#else
#define SUTURE_LANES 4
#endif

typedef double vd __attribute__((ext_vector_type(SUTURE_LANES)));
typedef int64_t vi __attribute__((ext_vector_type(SUTURE_LANES)));
typedef float vf __attribute__((ext_vector_type(SUTURE_LANES)));
typedef float vw __attribute__((ext_vector_type(2 * SUTURE_LANES)));

SUTURE_INLINE vi bits_of(vd x) { return __builtin_bit_cast(vi, x); }
SUTURE_INLINE vd double_of(vi x) { return __builtin_bit_cast(vd, x); }
SUTURE_INLINE vd fma(vd a, vd b, vd c) { return __builtin_elementwise_fma(a, b, c); }
SUTURE_INLINE vd abs(vd a) { return __builtin_elementwise_abs(a); }
SUTURE_INLINE vd copysign(vd a, vd b) { return __builtin_elementwise_copysign(a, b); }
SUTURE_INLINE vd select(vi mask, vd a, vd b) { return mask ? a : b; }
SUTURE_INLINE bool any(vi mask) { return __builtin_reduce_or(mask) != 0; }

// c0 + z (c1 + z (c2 + ...))
SUTURE_INLINE vd polynomial(vd, double c) { return c; }
template <class... C> SUTURE_INLINE vd polynomial(vd z, double c, C... rest) { return fma(polynomial(z, rest...), z, c); }

// Adding it rounds to an integer, which then sits in the low bits: conversions without the flags of a real conversion.
constexpr double kShift = 0x1.8p52;
constexpr int64_t kShiftBits = 0x4338000000000000;
SUTURE_INLINE vi low_integer(vd shifted) { return bits_of(shifted) - kShiftBits; }
SUTURE_INLINE vd to_double(vi small) { return double_of(small + kShiftBits) - kShift; }

// x * 2**n for integer n in +-2200, rounded once.
SUTURE_INLINE vd scale(vd x, vd n, vi n_int) {
#ifdef __AVX512F__
  return __builtin_ia32_scalefpd512_mask(x, n, x, -1, 4);
#else
  const vi half = n_int >> 1;
  const vd once = x * double_of((half + 1023) << 52);  // exact
  return once * double_of((n_int - half + 1023) << 52);
#endif
}

// Lanes in `mask` get the C library's answer, flags included.
typedef double (*scalar_function)(double);
static inline __attribute__((noinline, cold)) vd patch(vd result, vd x, vi mask, scalar_function function) {
  for (int i = 0; i < SUTURE_LANES; ++i)
    if (mask[i]) result[i] = function(x[i]);
  return result;
}

#define SUTURE_VECTOR_FUNCTION static inline __attribute__((noinline, const))
SUTURE_INLINE vw both_halves(vf low, vf high) {
#if SUTURE_LANES == 8
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#else
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#endif
}
SUTURE_INLINE vd widen(vf x) { return __builtin_convertvector(x, vd); }
SUTURE_INLINE vf narrow(vd x) { return __builtin_convertvector(x, vf); }

// Defines vm_NAME from `vd EXACT(vd)` and `vd SINGLE(vd)`, whose result is rounded to float.
#define SUTURE_VECTOR1(NAME, EXACT, SINGLE)                                                                   \
  SUTURE_VECTOR_FUNCTION vd NAME##_f64_v(vd x) __asm__("suture_" #NAME "_f64_v");                             \
  SUTURE_VECTOR_FUNCTION double NAME##_f64(double x) __asm__("suture_" #NAME "_f64");                         \
  SUTURE_VECTOR_FUNCTION vf NAME##_f32_v(vf x) __asm__("suture_" #NAME "_f32_v");                             \
  SUTURE_VECTOR_FUNCTION vw NAME##_f32_w(vw x) __asm__("suture_" #NAME "_f32_w");                             \
  SUTURE_VECTOR_FUNCTION float NAME##_f32(float x) __asm__("suture_" #NAME "_f32");                           \
  vd NAME##_f64_v(vd x) { return EXACT(x); }                                                                  \
  double NAME##_f64(double x) { return NAME##_f64_v(vd(x))[0]; }                                              \
  vf NAME##_f32_v(vf x) { return narrow(SINGLE(widen(x))); }                                                  \
  vw NAME##_f32_w(vw x) { return both_halves(NAME##_f32_v(x.lo), NAME##_f32_v(x.hi)); }                       \
  float NAME##_f32(float x) { return NAME##_f32_w(vw(x))[0]; }                                                \
  SUTURE_INLINE double vm_##NAME(double x) { return NAME##_f64(x); }                                          \
  SUTURE_INLINE float vm_##NAME(float x) { return NAME##_f32(x); }
#endif
