// sin, cos, exp, log, tanh on vectors. Coefficients: bench/toolchain_minimax.py.
//
// Every function has two precisions. kExact: below 1 ULP in double. kSingle: relative error below 2**-27, for results that
// are rounded to float; float arguments are finite doubles far from the ends of the range, so most special cases vanish.
#ifdef SUTURE_VECTOR_MATH
enum precision { kExact, kSingle };

// --- sin, cos -----------------------------------------------------------------------------------------------------------------
// x = n pi/2 + (hi + lo), |hi| <= pi/4. Three parts of pi/2 (159 bits) and exact products keep hi + lo good to 2**-70 for the
// worst double below the limit, where n still is an exact integer.
constexpr double kTrigLimit = 0x1p30;
constexpr double kPio2Part1 = 0x1.921fb54442d18p+0, kPio2Part2 = 0x1.1a62633145c07p-54, kPio2Part3 = -0x1.f1976b7ed8fbcp-110;
struct reduced_angle {
  vd hi, lo;
  vi quadrant;
};
template <precision P> SUTURE_INLINE reduced_angle reduce_angle(vd x) {
  const vd shifted = fma(x, 0x1.45f306dc9c883p-1, kShift);
  const vd n = shifted - kShift;
  const vd first = fma(-n, kPio2Part1, x);  // exact
  if constexpr (P == kSingle) return {fma(-n, kPio2Part3, fma(-n, kPio2Part2, first)), 0.0, bits_of(shifted)};
  const vd product = n * kPio2Part2;
  const vd product_rest = fma(n, kPio2Part2, -product);
  const vd sum = first - product;
  const vd part = sum - first;
  const vd sum_rest = (first - (sum - part)) - (product + part);
  const vd rest = fma(-n, kPio2Part3, sum_rest - product_rest);
  const vd hi = sum + rest;
  return {hi, rest - (hi - sum), bits_of(shifted)};
}
template <precision P> SUTURE_INLINE vd sin_kernel(vd hi, vd lo, vd z) {
  if constexpr (P == kSingle)
    return fma(hi * z, polynomial(z, -0x1.5555554cbad2cp-3, 0x1.11110896f74e1p-7, -0x1.a00f9e3231265p-13, 0x1.6cd879f770c6fp-19), hi);
  const vd p = polynomial(z, -0x1.5555555555549p-3, 0x1.111111110f8a6p-7, -0x1.a01a019c1619bp-13, 0x1.71de357b1b981p-19,
                          -0x1.ae5e689e922f6p-26, 0x1.5d93a4459f378p-33);
  return hi + fma(hi * z, p, fma(-0.5 * lo, z, lo));
}
template <precision P> SUTURE_INLINE vd cos_kernel(vd hi, vd lo, vd z) {
  const vd half = 0.5 * z;
  const vd leading = 1.0 - half;
  if constexpr (P == kSingle)
    return fma(z * z, polynomial(z, 0x1.55554a11518fap-5, -0x1.6c0c33a26de5fp-10, 0x1.99eb9ab9a4bebp-16), leading);
  const vd p = polynomial(z, 0x1.555555555554bp-5, -0x1.6c16c16c15015p-10, 0x1.a01a019c8f253p-16, -0x1.27e4f7f191267p-22,
                          0x1.1ee9dbced03f1p-29, -0x1.8fa68464b1f09p-37);
  return leading + (((1.0 - leading) - half) + fma(z * z, p, -hi * lo));
}
// sin(x + shift pi/2)
template <precision P, int shift> SUTURE_INLINE vd sin_shifted(vd x, scalar_function slow) {
  const vi far = abs(x) > kTrigLimit;  // false for NaN
  const reduced_angle a = reduce_angle<P>(select(far, 0.0, x));
  const vd z = a.hi * a.hi;
  const vi quadrant = a.quadrant + shift;
  const vd magnitude = select((quadrant & 1) != 0, cos_kernel<P>(a.hi, a.lo, z), sin_kernel<P>(a.hi, a.lo, z));
  vd result = double_of(bits_of(magnitude) ^ ((quadrant & 2) << 62));
  if constexpr (shift == 0) result = select(x == 0.0, x, result);  // the sign of a zero
  if (__builtin_expect(any(far), 0)) result = patch(result, x, far, slow);
  return result;
}
template <precision P> SUTURE_INLINE vd sin_of(vd x) { return sin_shifted<P, 0>(x, sin); }
template <precision P> SUTURE_INLINE vd cos_of(vd x) { return sin_shifted<P, 1>(x, cos); }

// --- exp -----------------------------------------------------------------------------------------------------------------------
constexpr double kLog2e = 0x1.71547652b82fep+0;
constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
// x = n ln 2 + (hi + lo); returns e**(hi + lo) - 1.
struct exp_parts {
  vd n;
  vi n_int;
  vd minus_one;
};
template <precision P> SUTURE_INLINE exp_parts exp_reduced(vd x) {
  const vd shifted = fma(x, kLog2e, kShift);
  const vd n = shifted - kShift;
  const vd first = fma(-n, kLn2Hi, x);  // exact
  const vd hi = fma(-n, kLn2Lo, first);
  if constexpr (P == kSingle) {
    const vd p = polynomial(hi, 0x1.00000017234aap-1, 0x1.5554dcfd31b1dp-3, 0x1.5554b8e068987p-5, 0x1.120b66be31a1fp-7,
                            0x1.6d753b8f79800p-10);
    return {n, low_integer(shifted), fma(hi * hi, p, hi)};
  }
  const vd lo = fma(-n, kLn2Lo, first - hi);
  const vd p = polynomial(hi, 0x1.0000000000000p-1, 0x1.5555555555557p-3, 0x1.5555555555558p-5, 0x1.11111111100dfp-7,
                          0x1.6c16c16c15200p-10, 0x1.a01a01abe6546p-13, 0x1.a01a01acf9266p-16, 0x1.71de0236e9ce8p-19,
                          0x1.27e4ccd273c58p-22, 0x1.af4dde5028195p-26, 0x1.1f8b441572cedp-29);
  return {n, low_integer(shifted), hi + fma(hi * hi, p, lo)};
}
// Beyond the limits the result overflows or underflows just as at them. Infinities go around the arithmetic, which would
// raise flags for them.
template <precision P> SUTURE_INLINE vd exp_of(vd x) {
  constexpr double high = P == kExact ? 710.0 : 150.0, low = P == kExact ? -746.0 : -150.0;
  const vi infinite = abs(x) == __builtin_inf();
  vd inside = select(x > high, high, x);
  inside = select(x < low, low, inside);
  const exp_parts e = exp_reduced<P>(select(infinite, 0.0, inside));
  vd result;
  if constexpr (P == kExact)
    result = scale(1.0 + e.minus_one, e.n, e.n_int);
  else
    result = double_of(bits_of(1.0 + e.minus_one) + (e.n_int << 52));
  return select(infinite, select(x > 0.0, x, 0.0), result);
}

// --- log -----------------------------------------------------------------------------------------------------------------------
// x = 2**k m, m in [sqrt(1/2), sqrt(2)); f = m - 1, s = f / (2 + f): log m = f - (f^2/2 - s (f^2/2 + s^2 R(s^2))).
constexpr double kLn2High32 = 0x1.62e42fee00000p-1, kLn2Rest = 0x1.a39ef35793c76p-33;  // k * high is exact
template <precision P> SUTURE_INLINE vd log_of(vd x) {
  const vd positive = select(x > 0.0, x, 1.0);
  const vi subnormal = positive < 0x1p-1022;
  const vd normal = P == kExact ? positive * select(subnormal, 0x1p54, 1.0) : positive;
  const vi raw = bits_of(normal);
  const vi above = raw - 0x3fe6a09e667f3bcd;
  vd k = to_double(above >> 52);
  if constexpr (P == kExact) k = k - select(subnormal, 54.0, 0.0);
  const vd f = double_of(raw - (above & int64_t(0xfff0000000000000))) - 1.0;
  const vd s = f / (2.0 + f);
  const vd z = s * s;
  vd result;
  if constexpr (P == kSingle) {
    const vd r = polynomial(z, 0x1.555554fd9c317p-1, 0x1.999a7a8bb2ee0p-2, 0x1.2438d768dee54p-2, 0x1.e2f669d0b704cp-3);
    result = fma(k, kLn2Hi, fma(s * z, r, s + s));
  } else {
    const vd r = z * polynomial(z, 0x1.5555555555592p-1, 0x1.999999997ff18p-2, 0x1.24924941e16bbp-2, 0x1.c71c52143b6d7p-3,
                                0x1.74663cf25283ep-3, 0x1.39a1e84213b00p-3, 0x1.2f03bfc2927bep-3);
    const vd half_square = 0.5 * f * f;
    result = fma(k, kLn2High32, -((half_square - fma(s, half_square + r, k * kLn2Rest)) - f));
  }
  result = select(x < __builtin_inf(), result, x);  // inf and NaN
  const vi outside = x <= 0.0;
  if (__builtin_expect(any(outside), 0)) result = patch(result, x, outside, log);
  return result;
}

// --- tanh ----------------------------------------------------------------------------------------------------------------------
// tanh |x| = em / (em + 2), em = e**(2|x|) - 1; from 22 on the result is 1.
template <precision P> SUTURE_INLINE vd tanh_of(vd x) {
  const vd magnitude = abs(x);
  const exp_parts e = exp_reduced<P>(2.0 * select(magnitude > 22.0, 22.0, magnitude));
  const vd power = double_of((e.n_int + 1023) << 52);
  const vd em = fma(power, e.minus_one, power - 1.0);
  return copysign(em / (em + 2.0), x);
}

SUTURE_VECTOR1(sin, sin_of<kExact>, sin_of<kSingle>)
SUTURE_VECTOR1(cos, cos_of<kExact>, cos_of<kSingle>)
SUTURE_VECTOR1(exp, exp_of<kExact>, exp_of<kSingle>)
SUTURE_VECTOR1(log, log_of<kExact>, log_of<kSingle>)
SUTURE_VECTOR1(tanh, tanh_of<kExact>, tanh_of<kSingle>)
#endif
