// Arithmetic, comparison helpers, bit operations: the exactly rounded and integer operations of ops.def.

// --- sums, products, signs
// ------------------------------------------------------------------------------------------------ Integers
// wrap as NumPy's do; bool adds as "or" and multiplies as "and".
template <class T>
SUTURE_INLINE T op_add(T a, T b) {
  if constexpr (is_bool<T>)
    return a | b;
  else if constexpr (is_float<T>)
    return a + b;
  else
    return T(wrap_t<T>(a) + wrap_t<T>(b));
}
template <class T>
SUTURE_INLINE T op_sub(T a, T b) {
  if constexpr (is_float<T>)
    return a - b;
  else
    return T(wrap_t<T>(a) - wrap_t<T>(b));
}
template <class T>
SUTURE_INLINE T op_mul(T a, T b) {
  if constexpr (is_bool<T>)
    return a & b;
  else if constexpr (is_float<T>)
    return a * b;
  else
    return T(wrap_t<T>(a) * wrap_t<T>(b));
}
template <class T>
SUTURE_INLINE T op_div(T a, T b) {
  static_assert(is_float<T>, "true division runs in floating point");
  return a / b;
}
template <class T>
SUTURE_INLINE T op_neg(T a) {
  if constexpr (is_float<T>)
    return -a;
  else
    return T(wrap_t<T>(0) - wrap_t<T>(a));
}
SUTURE_INLINE double op_abs(double a) { return __builtin_fabs(a); }
SUTURE_INLINE float op_abs(float a) { return __builtin_fabsf(a); }
template <class T>
SUTURE_INLINE T op_abs(T a) {
  if constexpr (is_signed<T>)
    return a < 0 ? op_neg(a) : a;
  else
    return a;
}
// NaN for NaN; the sign of a zero is lost.
template <class T>
SUTURE_INLINE T op_sign(T a) {
  if constexpr (is_float<T>) {
    const T one = a > 0 ? T(1) : T(0);
    const T signed_one = a < 0 ? T(-1) : one;
    return a != a ? a : signed_one;
  } else if constexpr (is_signed<T>) {
    return T(T(a > 0) - T(a < 0));
  } else {
    return T(a > 0);
  }
}
template <class T>
SUTURE_INLINE T op_reciprocal(T a) {
  static_assert(is_float<T>, "the integer form has a status");
  return T(1) / a;
}
// 1/x truncated: only -1, 0 and 1 have a reciprocal other than 0.
template <class T>
SUTURE_INLINE T op_reciprocal(T a, uint32_t& status) {
  status |= a == 0 ? kStatusIntDivide : 0;
  const T unit = is_signed<T> && a == T(-1) ? T(-1) : T(0);
  return a == 0 ? lowest_int<T> : a == 1 ? T(1) : unit;
}
SUTURE_INLINE double op_sqrt(double a) { return __builtin_sqrt(a); }
SUTURE_INLINE float op_sqrt(float a) { return __builtin_sqrtf(a); }
template <class T>
SUTURE_INLINE T op_heaviside(T x, T at_zero) {
  const T step = x > 0 ? T(1) : T(0);
  const T known = x == 0 ? at_zero : step;
  return x != x ? x : known;
}
SUTURE_INLINE double op_copysign(double a, double b) { return __builtin_copysign(a, b); }
SUTURE_INLINE float op_copysign(float a, float b) { return __builtin_copysignf(a, b); }
// NumPy folds the factor in the type itself.
SUTURE_INLINE double op_deg2rad(double a) { return a * (3.14159265358979323846 / 180.0); }
SUTURE_INLINE float op_deg2rad(float a) { return a * (3.14159265358979323846f / 180.0f); }
SUTURE_INLINE double op_rad2deg(double a) { return a * (180.0 / 3.14159265358979323846); }
SUTURE_INLINE float op_rad2deg(float a) { return a * (180.0f / 3.14159265358979323846f); }

// --- minimum, maximum
// A NaN wins (the first of two); of equal values, hence of zeros of both signs, the second wins, as in NumPy's vector
// loops.
template <class T>
SUTURE_INLINE T if_nan(T tested, T then, T otherwise) {
  if constexpr (is_float<T>)
    return tested != tested ? then : otherwise;
  else
    return otherwise;
}
template <class T>
SUTURE_INLINE T op_maximum(T a, T b) {
  return if_nan(a, a, a > b ? a : b);
}
template <class T>
SUTURE_INLINE T op_minimum(T a, T b) {
  return if_nan(a, a, a < b ? a : b);
}
// A NaN loses. NumPy's loops, and within one array their vector part and their rest, differ in which zero they prefer.
template <class T>
SUTURE_INLINE T op_fmax(T a, T b) {
  static_assert(!is_float<T>, "the floating form has a status");
  return a > b ? a : b;
}
template <class T>
SUTURE_INLINE T op_fmin(T a, T b) {
  static_assert(!is_float<T>, "the floating form has a status");
  return a < b ? a : b;
}
template <class T>
SUTURE_INLINE uint32_t zeros_of_both_signs(T a, T b) {
  return (a == b) & (op_bits(a) != op_bits(b)) ? kStatusBuildDependent : 0;
}
template <class T>
SUTURE_INLINE T op_fmax(T a, T b, uint32_t& status) {
  status |= zeros_of_both_signs(a, b);
  return if_nan(b, a, a > b ? a : b);
}
template <class T>
SUTURE_INLINE T op_fmin(T a, T b, uint32_t& status) {
  status |= zeros_of_both_signs(a, b);
  return if_nan(b, a, a < b ? a : b);
}

// --- logic, bits, predicates -------------------------------------------------------------------------------
template <class T>
SUTURE_INLINE bool op_truth(T a) {
  return a != 0;
}
template <class T>
SUTURE_INLINE T op_bitand(T a, T b) {
  return T(a & b);
}
template <class T>
SUTURE_INLINE T op_bitor(T a, T b) {
  return T(a | b);
}
template <class T>
SUTURE_INLINE T op_bitxor(T a, T b) {
  return T(a ^ b);
}
template <class T>
SUTURE_INLINE T op_invert(T a) {
  if constexpr (is_bool<T>)
    return !a;
  else
    return T(~a);
}
// A count outside [0, width) shifts everything out.
template <class T>
SUTURE_INLINE T op_shl(T a, T b) {
  constexpr unsigned width = type_info<T>::bits;
  const bool inside = wrap_t<T>(b) < width;
  const wrap_t<T> count = inside ? wrap_t<T>(b) : wrap_t<T>(0);
  return inside ? T(wrap_t<T>(a) << count) : T(0);
}
template <class T>
SUTURE_INLINE T op_shr(T a, T b) {
  constexpr unsigned width = type_info<T>::bits;
  const bool inside = wrap_t<T>(b) < width;
  // Shifting by width - 1 leaves nothing but the sign; one more and unsigned values are gone too.
  const T count = inside ? b : T(width - 1);
  const T shifted = T(a >> count);
  return inside || is_signed<T> ? shifted : T(0);
}
template <class T>
SUTURE_INLINE bool op_isnan(T a) {
  return a != a;
}
SUTURE_INLINE bool op_isinf(double a) { return __builtin_fabs(a) == __builtin_inf(); }
SUTURE_INLINE bool op_isinf(float a) { return __builtin_fabsf(a) == __builtin_inff(); }
template <class T>
SUTURE_INLINE bool op_isinf(T) {
  return false;
}
SUTURE_INLINE bool op_isfinite(double a) {
  return (__builtin_bit_cast(uint64_t, a) & 0x7ff0000000000000u) != 0x7ff0000000000000u;
}
SUTURE_INLINE bool op_isfinite(float a) {
  return (__builtin_bit_cast(uint32_t, a) & 0x7f800000u) != 0x7f800000u;
}
template <class T>
SUTURE_INLINE bool op_isfinite(T) {
  return true;
}
SUTURE_INLINE bool op_signbit(double a) { return __builtin_bit_cast(int64_t, a) < 0; }
SUTURE_INLINE bool op_signbit(float a) { return __builtin_bit_cast(int32_t, a) < 0; }

// --- rounding ----------------------------------------------------------------------------------------------
#define SUTURE_ROUNDING(name, builtin)                        \
  SUTURE_INLINE double name(double a) { return builtin(a); }  \
  SUTURE_INLINE float name(float a) { return builtin##f(a); } \
  template <class T>                                          \
  SUTURE_INLINE T name(T a) {                                 \
    return a;                                                 \
  }
SUTURE_ROUNDING(op_floor, __builtin_floor)
SUTURE_ROUNDING(op_ceil, __builtin_ceil)
SUTURE_ROUNDING(op_trunc, __builtin_trunc)
SUTURE_ROUNDING(op_rint, __builtin_rint)
#undef SUTURE_ROUNDING

// --- checked forms: integer scalars, whose overflow NumPy reports ------------------------------------------
template <class T>
SUTURE_INLINE T op_add_checked(T a, T b, uint32_t& status) {
  T result;
  status |= __builtin_add_overflow(a, b, &result) ? kStatusIntOverflow : 0;
  return result;
}
template <class T>
SUTURE_INLINE T op_sub_checked(T a, T b, uint32_t& status) {
  T result;
  status |= __builtin_sub_overflow(a, b, &result) ? kStatusIntOverflow : 0;
  return result;
}
template <class T>
SUTURE_INLINE T op_mul_checked(T a, T b, uint32_t& status) {
  T result;
  status |= __builtin_mul_overflow(a, b, &result) ? kStatusIntOverflow : 0;
  return result;
}
template <class T>
SUTURE_INLINE T op_neg_checked(T a, uint32_t& status) {
  return op_sub_checked(T(0), a, status);
}
template <class T>
SUTURE_INLINE T op_abs_checked(T a, uint32_t& status) {
  status |= is_signed<T> && a == lowest_int<T> ? kStatusIntOverflow : 0;
  return op_abs(a);
}
// Python ints grow where NumPy's wrap and refuse negative counts, so every lost bit is reported.
template <class T>
SUTURE_INLINE T op_shl_checked(T a, T b, uint32_t& status) {
  const T result = op_shl(a, b);
  const bool kept = wrap_t<T>(b) < unsigned(type_info<T>::bits) && op_shr(result, b) == a;
  status |= kept ? 0 : kStatusIntOverflow;
  return result;
}
template <class T>
SUTURE_INLINE T op_shr_checked(T a, T b, uint32_t& status) {
  status |= b < T(0) ? kStatusIntOverflow : 0;
  return op_shr(a, b);
}

// --- symbolic sizes and Python ints: floor division and modulo with Python's signs -------------------------
SUTURE_INLINE int64_t sym_floordiv(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return quotient - int64_t(a % b != 0 && (a < 0) != (b < 0));
}
SUTURE_INLINE int64_t sym_mod(int64_t a, int64_t b) {
  const int64_t rest = b == -1 ? 0 : a % b;  // the machine traps on INT64_MIN % -1
  return rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0);
}
SUTURE_INLINE int64_t sym_min(int64_t a, int64_t b) { return a < b ? a : b; }
SUTURE_INLINE int64_t sym_max(int64_t a, int64_t b) { return a > b ? a : b; }
