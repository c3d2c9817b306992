// Vector math 4: powers and roots.

// |x| = 8**e m, m in [1, 8): a polynomial gives 17 bits of the root, Newton's step 33, and a step with the
// exact residual all.
template <precision>
SUTURE_INLINE vd cbrt_of(vd x) {
  const vd magnitude = vabs(x);
  const vi usual = (magnitude > 0.0) & (magnitude < __builtin_inf());
  const vi subnormal = magnitude < 0x1p-1022;
  const vd a = select(usual, magnitude, 1.0) * select(subnormal & usual, 0x1p54, 1.0);
  const vd exponent = to_double((bits_of(a) >> 52) - 1023);
  const vd third = vfloor(vfma(exponent, 0x1.5555555555555p-2, 0x1p-10));
  const vd rest = vfma(-3.0, third, exponent);  // 0, 1 or 2
  const vd mantissa = double_of((bits_of(a) & 0x000fffffffffffff) | 0x3ff0000000000000);
  const vd m = mantissa * select(rest == 0.0, 1.0, select(rest == 1.0, 2.0, 4.0));
  const vd guess = polynomial(mantissa, 0x1.0392cb10c6fc4p-1, 0x1.6fb1e4b883ee1p-1, -0x1.33d38e1cfc524p-2,
                              0x1.60a161e8fdb86p-4, -0x1.5b780102b1966p-7) *
                   select(rest == 0.0, 1.0, select(rest == 1.0, 0x1.428a2f98d728bp+0, 0x1.965fea53d6e3dp+0));
  const vd square = guess * guess;
  const vd t = guess - vfma(square, guess, -m) / (3.0 * square);
  const double_double t2 = two_product(t, t);
  const double_double t3 = two_product(t2.hi, t);
  const vd residual = (m - t3.hi) - vfma(t2.lo, t, t3.lo);
  const vd root = t + residual / (3.0 * t2.hi);
  const vi shift = low_integer(third + kShift) - pick(subnormal, 18, 0);
  return select(usual, vcopysign(root * double_of((shift + 1023) << 52), x), x);
}

// sqrt(x^2 + y^2), both scaled away from overflow and underflow. Infinity beats NaN.
template <precision P>
SUTURE_INLINE vd hypot_of(vd x, vd y) {
  const vd ax = vabs(x), ay = vabs(y);
  const vi swapped = ax < ay;
  const vi infinite = (ax == __builtin_inf()) | (ay == __builtin_inf());
  const vi nan = (x != x) | (y != y);
  const vi special = infinite | nan;
  const vd larger = select(special, 1.0, select(swapped, ay, ax)),
           smaller = select(special, 0.0, select(swapped, ax, ay));
  const vd scale_up = select(larger > 0x1p500, 0x1p-600, select(larger < 0x1p-400, 0x1p600, 1.0));
  const vd scale_down = select(larger > 0x1p500, 0x1p600, select(larger < 0x1p-400, 0x1p-600, 1.0));
  const vd a = larger * scale_up, b = smaller * scale_up;
  vd result;
  if constexpr (P == kSingle) {
    result = vsqrt(vfma(a, a, b * b));
  } else {
    const double_double a2 = two_product(a, a), b2 = two_product(b, b);
    const double_double sum = fast_two_sum(a2.hi, b2.hi);
    const double_double root = square_root({sum.hi, sum.lo + (a2.lo + b2.lo)});
    result = root.hi + root.lo;
  }
  result = select(nan, select(x != x, x, y), result * scale_down);
  return select(infinite, __builtin_inf(), result);
}

// log of a positive normal number as hi + lo with 2**-65 of relative error: P's leading term 2/3 is
// multiplied out exactly.
SUTURE_INLINE double_double precise_log(vd u, vd extra_k) {
  const vi raw = bits_of(u);
  const vi above = raw - 0x3fe6a09e667f3bcd;
  const vd k = to_double(above >> 52) + extra_k;
  const vd f = double_of(raw - (above & int64_t(0xfff0000000000000))) - 1.0;
  const vd sum = 2.0 + f;
  const double_double q = divide({f, 0.0}, {sum, f - (sum - 2.0)});
  const double_double s = fast_two_sum(q.hi, q.lo);
  double_double z = two_product(s.hi, s.hi);
  z.lo = vfma(2.0 * s.hi, s.lo, z.lo);
  const vd tail =
      z.hi * z.hi *
      polynomial(z.hi, 0x1.9999999999996p-2, 0x1.2492492492f51p-2, 0x1.c71c71c5968f7p-3, 0x1.745d1829569afp-3,
                 0x1.3b1364c945af2p-3, 0x1.11206f2ddf019p-3, 0x1.de3d70c4826fap-4, 0x1.eac5bb3662a97p-4);
  double_double w = two_product(z.hi, 0x1.5555555555555p-1);
  w.lo = vfma(z.hi, 0x1.5555555555555p-55, vfma(z.lo, 0x1.5555555555555p-1, w.lo));
  w = fast_two_sum(w.hi, tail + w.lo);
  const double_double cubic = two_product(s.hi, w.hi);
  const vd cubic_lo = vfma(s.hi, w.lo, vfma(s.lo, w.hi, cubic.lo));
  const double_double log_m = fast_two_sum(2.0 * s.hi, cubic.hi);
  const vd log_m_lo = log_m.lo + (cubic_lo + 2.0 * s.lo);
  const double_double total = fast_two_sum(k * kLn2High32, log_m.hi);
  const double_double rest = two_product(k, kLn2Rest);
  const double_double joined = two_sum(total.hi, rest.hi);
  return fast_two_sum(joined.hi, joined.lo + (total.lo + (rest.lo + log_m_lo)));
}
SUTURE_INLINE vd precise_power(vd base, vd exponent) {
  const vi subnormal = base < 0x1p-1022;
  const double_double l = precise_log(base * select(subnormal, 0x1p54, 1.0), select(subnormal, -54.0, 0.0));
  const double_double product = two_product(exponent, l.hi);
  const vd inside = clamp_finite(product.hi, -746.0, 710.0);
  const vd rest = select(inside == product.hi, vfma(exponent, l.lo, product.lo), 0.0);
  return scaled_exponential<kExact>(exp_reduced<kExact, kWithRest>(inside, rest));
}
// For 0**-inf NumPy reports a division by zero where it has AVX-512, and nothing elsewhere. Reporting it makes
// NumPy decide.
static inline double reporting_pow(double x, double y) noexcept {
  if (x == 0.0 && y == -__builtin_inf()) return 1.0 / opaque(__builtin_fabs(x));
  return pow(x, y);
}
// e**(y log|x|) with the sign of an odd power. Zeros to a positive power and negative numbers to an integer
// power are usual; what remains (infinities, NaN, 0**-1, the root of a negative number, huge exponents) goes
// to the C library.
template <precision P>
SUTURE_INLINE vd pow_of(vd x, vd y) {
  const vd ax = vabs(x);
  const vi integer = vrint(y) == y;
  const vd half_y = 0.5 * y;
  const vi odd = integer & (vrint(half_y) != half_y);
  const vi finite = (ax < __builtin_inf()) & (vabs(y) < 0x1p62);
  const vi zero = (x == 0.0) & (y > 0.0);
  const vi usual = finite & (zero | (x > 0.0) | ((x < 0.0) & integer));
  const vd base = select(usual & (x != 0.0), ax, 1.0);
  const vd exponent = select(usual, y, 0.0);
  vd magnitude;
  if constexpr (P == kSingle)
    magnitude =
        scaled_exponential<P>(exp_reduced<P>(clamp_finite(exponent * plain_log(base), -150.0, 150.0)));
  else
    magnitude = precise_power(base, exponent);
  magnitude = select(zero, 0.0, magnitude);
  vd result = select(odd & (bits_of(x) < 0), -magnitude, magnitude);
  vi rare = lnot(usual);
  // The C library reports the underflow of every subnormal power, even when it is exact.
  if constexpr (P == kExact) rare = rare | ((magnitude < 0x1p-1022) & lnot(zero));
  if (__builtin_expect(any(rare), 0)) result = patch2(result, x, y, rare, reporting_pow);
  return result;
}

SUTURE_VECTOR1(cbrt)
SUTURE_VECTOR2(hypot)
SUTURE_VECTOR2(pow)
