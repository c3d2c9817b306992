// Floor division, remainder and fmod, integer and floating, and integer powers.

// --- integers ----------------------------------------------------------------------------------------------
// Up to 32 bits the quotient is taken in double, which vectorises and is exact after truncation: a quotient
// that is no integer differs from the nearest one by at least 1/|b|, while its rounding error is below |a/b|
// * 2**-53 < 1/|b|.
template <class T>
SUTURE_INLINE T truncated_quotient(T a, T b) {
  if constexpr (type_info<T>::bits < 32 || (type_info<T>::bits == 32 && is_signed<T>))
    return T(int32_t(double(a) / double(b)));
  else if constexpr (type_info<T>::bits == 32)
    return T(int64_t(double(a) / double(b)));
  else
    return T(a / b);
}
// A zero divisor, and INT_MIN / -1, are replaced by 1: the quotient of the first is then overwritten, that of
// the second is INT_MIN, which is NumPy's.
template <class T>
SUTURE_INLINE T safe_divisor(T a, T b, bool& zero, uint32_t& status) {
  zero = b == 0;
  const bool overflow = is_signed<T> && b == T(-1) && a == lowest_int<T>;
  status |= zero | overflow ? kStatusIntDivide : 0;
  return zero | overflow ? T(1) : b;
}
template <class T>
SUTURE_INLINE T op_floor_divide(T a, T b, uint32_t& status) {
  bool zero;
  const T divisor = safe_divisor(a, b, zero, status);
  const T quotient = truncated_quotient(a, divisor);
  const T rest = op_sub(a, op_mul(quotient, divisor));
  const T below = is_signed<T> && rest != 0 && (rest < 0) != (divisor < 0) ? T(1) : T(0);
  return zero ? T(0) : op_sub(quotient, below);
}
template <class T>
SUTURE_INLINE T op_fmod(T a, T b, uint32_t& status) {
  bool zero;
  const T divisor = safe_divisor(a, b, zero, status);
  const T rest = op_sub(a, op_mul(truncated_quotient(a, divisor), divisor));
  return zero ? T(0) : rest;
}
template <class T>
SUTURE_INLINE T op_remainder(T a, T b, uint32_t& status) {
  const T rest = op_fmod(a, b, status);
  const bool wrong_sign = is_signed<T> && rest != 0 && (rest < 0) != (b < 0);
  return wrong_sign ? op_add(rest, b) : rest;
}
template <class T>
SUTURE_INLINE T op_pow(T base, T exponent, uint32_t& status) {
  status |= is_signed<T> && exponent < 0 ? kStatusIntPower : 0;
  wrap_t<T> result = 1, square = wrap_t<T>(base);
  for (auto left = is_signed<T> && exponent < 0 ? wrap_t<T>(0) : wrap_t<T>(exponent); left; left >>= 1) {
    if (left & 1) result *= square;
    square *= square;
  }
  return T(result);
}
template <class T>
SUTURE_INLINE T op_floor_divide_checked(T a, T b, uint32_t& status) {
  return op_floor_divide(a, b, status);
}
template <class T>
SUTURE_INLINE T op_remainder_checked(T a, T b, uint32_t& status) {
  return op_remainder(a, b, status);
}
template <class T>
SUTURE_INLINE T op_pow_checked(T base, T exponent, uint32_t& status) {
  status |= is_signed<T> && exponent < 0 ? kStatusIntPower : 0;
  T result = 1, square = base;
  bool overflow = false;
  for (auto left = is_signed<T> && exponent < 0 ? wrap_t<T>(0) : wrap_t<T>(exponent); left;) {
    if (left & 1) overflow |= __builtin_mul_overflow(result, square, &result);
    left >>= 1;
    if (left) overflow |= __builtin_mul_overflow(square, square, &square);
  }
  status |= overflow ? kStatusIntOverflow : 0;
  return result;
}

// --- floating point ----------------------------------------------------------------------------------------
extern "C" double fmod(double, double) noexcept;
extern "C" float fmodf(float, float) noexcept;
SUTURE_INLINE double op_fmod(double a, double b) { return fmod(a, b); }
SUTURE_INLINE float op_fmod(float a, float b) { return fmodf(a, b); }

// Quotient and remainder in the steps NumPy takes (its _divmod), because their roundings show in the result.
template <class F>
SUTURE_INLINE F floor_and_rest(F a, F b, F& rest_out) {
  F rest = op_fmod(a, b);
  F quotient = (a - rest) / b;
  const bool wrong_sign = rest != 0 && (b < 0) != (rest < 0);
  quotient = wrong_sign ? quotient - F(1) : quotient;
  rest_out = rest != 0 ? (wrong_sign ? rest + b : rest) : op_copysign(F(0), b);
  const F floored = op_floor(quotient);
  const F snapped = quotient - floored > F(0.5) ? floored + F(1) : floored;
  return quotient != 0 ? snapped : op_copysign(F(0), a / b);
}
template <class F>
SUTURE_INLINE F op_floor_divide(F a, F b) {
  F rest;
  const F quotient = floor_and_rest(a, b, rest);
  return b == 0 ? a / b : quotient;
}
template <class F>
SUTURE_INLINE F op_remainder(F a, F b) {
  F rest;
  floor_and_rest(a, b, rest);
  return b == 0 ? op_fmod(a, b) : rest;
}
