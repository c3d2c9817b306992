// Conversions between dtypes, with NumPy's results on x86-64.
//
// How it works
//   C leaves an out-of-range conversion undefined, so every conversion is guarded by a range test, and what
//   fails the test sets kStatusBadCast. The ranges are wider than the target types because of how NumPy's C
//   code converts: to 8 and 16 bits through int32, to uint32 through int64 (its low half), to uint64 in two
//   halves. Within these ranges NumPy wraps silently, and so do we; beyond them it gives 0 or the smallest
//   value of the wider type, and warns.

template <class To, class From>
SUTURE_INLINE To op_cast(From x) {
  if constexpr (is_bool<To>)
    return x != 0;
  else
    return To(x);
}

// `in_range` and the value NumPy gives when it is not.
template <class Wide, class From>
SUTURE_INLINE Wide guarded(From x, bool in_range, Wide otherwise) {
  const Wide converted = Wide(in_range ? x : From(0));
  return in_range ? converted : otherwise;
}

SUTURE_INLINE bool fits_int32(double x) { return x > -2147483649.0 && x < 2147483648.0; }
SUTURE_INLINE bool fits_int32(float x) { return x >= -2147483648.0f && x < 2147483648.0f; }
template <class F>
SUTURE_INLINE bool fits_int64(F x) {
  return x >= F(-9223372036854775808.0) && x < F(9223372036854775808.0);
}

template <class To, class From>
SUTURE_INLINE To op_cast(From x, uint32_t& status) {
  static_assert(is_float<From>, "only conversions from floating point can fail");
  if constexpr (is_bool<To> || is_float<To>) {
    return op_cast<To>(x);
  } else if constexpr (type_info<To>::bits <= 16 || (type_info<To>::bits == 32 && is_signed<To>)) {
    const bool fits = fits_int32(x);
    status |= fits ? 0 : kStatusBadCast;
    return To(guarded<int32_t>(x, fits, lowest_int<int32_t>));
  } else if constexpr (type_info<To>::bits == 32 || is_signed<To>) {
    const bool fits = fits_int64(x);
    status |= fits ? 0 : kStatusBadCast;
    return To(guarded<int64_t>(x, fits, lowest_int<int64_t>));
  } else {
    const From half = From(9223372036854775808.0);
    const bool upper = x >= half;
    const From low = upper ? x - half : x;
    const bool fits = fits_int64(low);
    status |= fits ? 0 : kStatusBadCast;
    const uint64_t bits = uint64_t(guarded<int64_t>(low, fits, lowest_int<int64_t>));
    return upper ? bits ^ 0x8000000000000000u : bits;
  }
}

// The item of a signed integer array that NumPy makes of a scalar is int(x): the truncated value fits, or it raises.
template <class To, class From>
SUTURE_INLINE To op_cast_assigned(From x, uint32_t& status) {
  static_assert(is_integer<To> && is_signed<To>, "NumPy assigns to other dtypes by casting");
  bool fits = false;
  if constexpr (is_float<From> && type_info<To>::bits == 64) {
    fits = fits_int64(x);
  } else if constexpr (is_float<From>) {
    const double end = double(uint64_t(1) << (type_info<To>::bits - 1));
    fits = double(x) > -end - 1.0 && double(x) < end;
  } else {
    fits = From(To(x)) == x && (is_signed<From> || To(x) >= 0);
  }
  status |= fits ? 0 : kStatusPyError;
  return To(fits ? x : From(0));
}

// A Python int becomes a float exactly or not at all: Python's own arithmetic on big ints differs from
// NumPy's.
template <class To>
SUTURE_INLINE To op_cast_checked(int64_t x, uint32_t& status) {
  const bool exact = x >= -(int64_t(1) << 53) && x <= (int64_t(1) << 53);
  status |= exact ? 0 : kStatusPyError;
  return To(x);
}
