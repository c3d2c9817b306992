// Elementary functions by the C library: glibc's are below 1 ULP in double, and a double result rounded to float is within
// 0.501 ULP. Functions that have a vector form (vector_math.h) use it where the compiler can vectorise calls.
#define SUTURE_LIBM1(name)                                       \
  SUTURE_INLINE double vm_##name(double x) { return name(x); }   \
  SUTURE_INLINE float vm_##name(float x) { return float(name(double(x))); }
#define SUTURE_LIBM2(name)                                                   \
  SUTURE_INLINE double vm_##name(double x, double y) { return name(x, y); }   \
  SUTURE_INLINE float vm_##name(float x, float y) { return float(name(double(x), double(y))); }
#ifndef SUTURE_VECTOR_MATH
SUTURE_LIBM1(sin)
SUTURE_LIBM1(cos)
SUTURE_LIBM1(tanh)
SUTURE_LIBM1(exp)
SUTURE_LIBM1(log)
#endif
SUTURE_LIBM1(tan)
SUTURE_LIBM1(asin)
SUTURE_LIBM1(acos)
SUTURE_LIBM1(atan)
SUTURE_LIBM1(sinh)
SUTURE_LIBM1(cosh)
SUTURE_LIBM1(asinh)
SUTURE_LIBM1(acosh)
SUTURE_LIBM1(atanh)
SUTURE_LIBM1(exp2)
SUTURE_LIBM1(expm1)
SUTURE_LIBM1(log2)
SUTURE_LIBM1(log10)
SUTURE_LIBM1(log1p)
SUTURE_LIBM1(cbrt)
SUTURE_LIBM2(atan2)
SUTURE_LIBM2(hypot)
SUTURE_LIBM2(pow)
#undef SUTURE_LIBM1
#undef SUTURE_LIBM2

// Exponents for which NumPy squares, copies, inverts or takes the root are exact here too when they are literals; the C
// library's pow is exact for the others' special values.
template <class F> SUTURE_INLINE F op_pow(F x, F y) {
  static_assert(is_float<F>, "the integer form has a status");
  if (__builtin_constant_p(y)) {
    if (y == F(2)) return x * x;
    if (y == F(1)) return x;
    if (y == F(0.5)) return op_sqrt(x);
    if (y == F(-1)) return F(1) / x;
    if (y == F(0)) return F(1);
  }
  return vm_pow(x, y);
}

// Equal operands first: infinities of one sign would give inf - inf.
template <class F> SUTURE_INLINE F vm_logaddexp(F x, F y) {
  const F difference = x == y ? F(0) : x - y;
  const F larger = difference > 0 ? x : y;
  const F sum = larger + vm_log1p(vm_exp(-op_abs(difference)));
  return x == y ? x + F(0.693147180559945309417) : difference != difference ? difference : sum;
}
