// Vectors of doubles, the currency of the vector math.
//
// How vector functions reach a loop
//   A loop over `vm_sin(x[i])` calls suture_sin_f64, a scalar function that the inliner leaves alone. The
//   in-process compiler tells the loop vectoriser that suture_sin_f64_v is its vector form (and _w the form
//   with twice the lanes), so the loop becomes one call per vector. In there, unlike in an auto-vectorised
//   expression, a rare case may be a branch: "does any lane need the slow path?". The scalar form is lane 0
//   of the vector form: an element's bits never depend on its place in the array.
// Compilers without clang's vector types compile the same text with one lane per "vector", in plain doubles:
// slower, but with the same bits.
#if defined(__clang__) && defined(__x86_64__) && defined(__AVX__)
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

SUTURE_INLINE vd vfma(vd a, vd b, vd c) { return __builtin_elementwise_fma(a, b, c); }
SUTURE_INLINE vd vabs(vd a) { return __builtin_elementwise_abs(a); }
SUTURE_INLINE vd vcopysign(vd a, vd b) { return __builtin_elementwise_copysign(a, b); }
SUTURE_INLINE vd vsqrt(vd a) { return __builtin_elementwise_sqrt(a); }
SUTURE_INLINE vd vfloor(vd a) { return __builtin_elementwise_floor(a); }
SUTURE_INLINE vd vrint(vd a) { return __builtin_elementwise_rint(a); }
SUTURE_INLINE bool any(vi mask) { return __builtin_reduce_or(mask) != 0; }
#else
#define SUTURE_LANES 1
typedef double vd;
typedef int64_t vi;
SUTURE_INLINE vd vfma(vd a, vd b, vd c) { return __builtin_fma(a, b, c); }
SUTURE_INLINE vd vabs(vd a) { return __builtin_fabs(a); }
SUTURE_INLINE vd vcopysign(vd a, vd b) { return __builtin_copysign(a, b); }
SUTURE_INLINE vd vsqrt(vd a) { return __builtin_sqrt(a); }
SUTURE_INLINE vd vfloor(vd a) { return __builtin_floor(a); }
SUTURE_INLINE vd vrint(vd a) { return __builtin_rint(a); }
SUTURE_INLINE bool any(vi mask) { return mask != 0; }
#endif

// A mask is what a comparison gives: all ones or zero per lane, with one lane 1 or 0. Only &, |, lnot, select
// and pick may be applied to it.
SUTURE_INLINE vi lnot(vi mask) { return mask == 0; }
SUTURE_INLINE vd select(vi mask, vd a, vd b) { return mask ? a : b; }
SUTURE_INLINE vi pick(vi mask, vi a, vi b) { return mask ? a : b; }
SUTURE_INLINE vi bits_of(vd x) { return __builtin_bit_cast(vi, x); }
SUTURE_INLINE vd double_of(vi x) { return __builtin_bit_cast(vd, x); }

// c0 + z (c1 + z (c2 + ...))
SUTURE_INLINE vd polynomial(vd, double c) { return c; }
template <class... C>
SUTURE_INLINE vd polynomial(vd z, double c, C... rest) {
  return vfma(polynomial(z, rest...), z, c);
}

// Adding it rounds to an integer, which then sits in the low bits: conversions without the flags of a real
// conversion.
constexpr double kShift = 0x1.8p52;
constexpr int64_t kShiftBits = 0x4338000000000000;
SUTURE_INLINE vi low_integer(vd shifted) { return bits_of(shifted) - kShiftBits; }
SUTURE_INLINE vd to_double(vi small) { return double_of(small + kShiftBits) - kShift; }

// x * 2**n for integer n in +-2200, rounded once.
SUTURE_INLINE vd scale(vd x, vd n, vi n_int) {
#if SUTURE_LANES == 8
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
#ifdef SUTURE_VECTOR_MATH
  for (int i = 0; i < SUTURE_LANES; ++i)
    if (mask[i]) result[i] = function(x[i]);
  return result;
#else
  return mask ? function(x) : result;
#endif
}

typedef double (*scalar_function2)(double, double);
static inline __attribute__((noinline, cold)) vd patch2(vd result, vd x, vd y, vi mask,
                                                        scalar_function2 function) {
#ifdef SUTURE_VECTOR_MATH
  for (int i = 0; i < SUTURE_LANES; ++i)
    if (mask[i]) result[i] = function(x[i], y[i]);
  return result;
#else
  return mask ? function(x, y) : result;
#endif
}

// A value and what rounding it lost.
struct double_double {
  vd hi, lo;
};
// a + b where |a| >= |b| or a == 0 or b == 0
SUTURE_INLINE double_double fast_two_sum(vd a, vd b) {
  const vd sum = a + b;
  return {sum, b - (sum - a)};
}
SUTURE_INLINE double_double two_sum(vd a, vd b) {
  const vd sum = a + b;
  const vd part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
SUTURE_INLINE double_double two_product(vd a, vd b) {
  const vd product = a * b;
  return {product, vfma(a, b, -product)};
}
// (n + n_lo) / (d + d_lo)
SUTURE_INLINE double_double divide(double_double n, double_double d) {
  const vd inverse = 1.0 / d.hi;
  const vd quotient = n.hi * inverse;
  const vd rest = vfma(-quotient, d.lo, vfma(-quotient, d.hi, n.hi) + n.lo);
  return {quotient, rest * inverse};
}

enum precision { kExact, kSingle };  // see vector_trig.h
enum rest { kNoRest, kWithRest };    // whether an argument comes with a low part

// Defines vm_NAME from `template <precision> vd NAME_of(vd)`; floats use kSingle.
#ifdef SUTURE_VECTOR_MATH
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

#define SUTURE_DECLARE_FORMS(NAME, ARGS_VD, ARGS_D, ARGS_VF, ARGS_VW, ARGS_F)       \
  SUTURE_VECTOR_FUNCTION vd NAME##_f64_v ARGS_VD __asm__("suture_" #NAME "_f64_v"); \
  SUTURE_VECTOR_FUNCTION double NAME##_f64 ARGS_D __asm__("suture_" #NAME "_f64");  \
  SUTURE_VECTOR_FUNCTION vf NAME##_f32_v ARGS_VF __asm__("suture_" #NAME "_f32_v"); \
  SUTURE_VECTOR_FUNCTION vw NAME##_f32_w ARGS_VW __asm__("suture_" #NAME "_f32_w"); \
  SUTURE_VECTOR_FUNCTION float NAME##_f32 ARGS_F __asm__("suture_" #NAME "_f32");
#define SUTURE_VECTOR1(NAME)                                                            \
  SUTURE_DECLARE_FORMS(NAME, (vd x), (double x), (vf x), (vw x), (float x))             \
  vd NAME##_f64_v(vd x) { return NAME##_of<kExact>(x); }                                \
  double NAME##_f64(double x) { return NAME##_f64_v(vd(x))[0]; }                        \
  vf NAME##_f32_v(vf x) { return narrow(NAME##_of<kSingle>(widen(x))); }                \
  vw NAME##_f32_w(vw x) { return both_halves(NAME##_f32_v(x.lo), NAME##_f32_v(x.hi)); } \
  float NAME##_f32(float x) { return NAME##_f32_w(vw(x))[0]; }                          \
  SUTURE_INLINE double vm_##NAME(double x) { return NAME##_f64(x); }                    \
  SUTURE_INLINE float vm_##NAME(float x) { return NAME##_f32(x); }
#define SUTURE_VECTOR2(NAME)                                                                              \
  SUTURE_DECLARE_FORMS(NAME, (vd x, vd y), (double x, double y), (vf x, vf y), (vw x, vw y),              \
                       (float x, float y))                                                                \
  vd NAME##_f64_v(vd x, vd y) { return NAME##_of<kExact>(x, y); }                                         \
  double NAME##_f64(double x, double y) { return NAME##_f64_v(vd(x), vd(y))[0]; }                         \
  vf NAME##_f32_v(vf x, vf y) { return narrow(NAME##_of<kSingle>(widen(x), widen(y))); }                  \
  vw NAME##_f32_w(vw x, vw y) { return both_halves(NAME##_f32_v(x.lo, y.lo), NAME##_f32_v(x.hi, y.hi)); } \
  float NAME##_f32(float x, float y) { return NAME##_f32_w(vw(x), vw(y))[0]; }                            \
  SUTURE_INLINE double vm_##NAME(double x, double y) { return NAME##_f64(x, y); }                         \
  SUTURE_INLINE float vm_##NAME(float x, float y) { return NAME##_f32(x, y); }
#else
#define SUTURE_VECTOR1(NAME)                                                \
  SUTURE_INLINE double vm_##NAME(double x) { return NAME##_of<kExact>(x); } \
  SUTURE_INLINE float vm_##NAME(float x) { return float(NAME##_of<kSingle>(double(x))); }
#define SUTURE_VECTOR2(NAME)                                                             \
  SUTURE_INLINE double vm_##NAME(double x, double y) { return NAME##_of<kExact>(x, y); } \
  SUTURE_INLINE float vm_##NAME(float x, float y) { return float(NAME##_of<kSingle>(double(x), double(y))); }
#endif
