// Vector math 1: sin, cos, tan and their inverses. Coefficients: bench/toolchain_minimax.py.
//
// Every function of the vector math has two precisions. kExact: below 1 ULP in double. kSingle: relative
// error below 2**-27, for results that are rounded to float; float arguments are doubles far from the ends of
// the range, so most special cases vanish. Where the two would hardly differ, kSingle is simply kExact.

// --- argument reduction
// ----------------------------------------------------------------------------------------------------- x = n
// pi/2 + (hi + lo), |hi| <= pi/4. Three parts of pi/2 (159 bits) and exact products keep hi + lo good to
// 2**-70 for the worst double below the limit, where n still is an exact integer.
constexpr double kTrigLimit = 0x1p30;
constexpr double kPio2Part1 = 0x1.921fb54442d18p+0, kPio2Part2 = 0x1.1a62633145c07p-54,
                 kPio2Part3 = -0x1.f1976b7ed8fbcp-110;
struct reduced_angle {
  vd hi, lo;
  vi quadrant;
};
template <precision P>
SUTURE_INLINE reduced_angle reduce_angle(vd x) {
  const vd shifted = vfma(x, 0x1.45f306dc9c883p-1, kShift);
  const vd n = shifted - kShift;
  const vd first = vfma(-n, kPio2Part1, x);  // exact
  if constexpr (P == kSingle)
    return {vfma(-n, kPio2Part3, vfma(-n, kPio2Part2, first)), 0.0, bits_of(shifted)};
  const double_double second = two_product(n, kPio2Part2);
  const double_double sum = two_sum(first, -second.hi);
  const double_double angle = fast_two_sum(sum.hi, vfma(-n, kPio2Part3, sum.lo - second.lo));
  return {angle.hi, angle.lo, bits_of(shifted)};
}

// Both as an unevaluated sum: adding it up costs half an ULP.
template <precision P>
SUTURE_INLINE double_double sin_kernel(const reduced_angle& a, vd z) {
  if constexpr (P == kSingle)
    return {a.hi, a.hi * z *
                      polynomial(z, -0x1.5555554cbad2cp-3, 0x1.11110896f74e1p-7, -0x1.a00f9e3231265p-13,
                                 0x1.6cd879f770c6fp-19)};
  const vd p = polynomial(z, -0x1.5555555555549p-3, 0x1.111111110f8a6p-7, -0x1.a01a019c1619bp-13,
                          0x1.71de357b1b981p-19, -0x1.ae5e689e922f6p-26, 0x1.5d93a4459f378p-33);
  return {a.hi, vfma(a.hi * z, p, vfma(-0.5 * a.lo, z, a.lo))};
}
template <precision P>
SUTURE_INLINE double_double cos_kernel(const reduced_angle& a, vd z) {
  const vd half = 0.5 * z;
  const vd leading = 1.0 - half;
  if constexpr (P == kSingle)
    return {leading,
            z * z * polynomial(z, 0x1.55554a11518fap-5, -0x1.6c0c33a26de5fp-10, 0x1.99eb9ab9a4bebp-16)};
  const vd p = polynomial(z, 0x1.555555555554bp-5, -0x1.6c16c16c15015p-10, 0x1.a01a019c8f253p-16,
                          -0x1.27e4f7f191267p-22, 0x1.1ee9dbced03f1p-29, -0x1.8fa68464b1f09p-37);
  return {leading, ((1.0 - leading) - half) + vfma(z * z, p, -a.hi * a.lo)};
}

// sin(x + shift pi/2)
template <precision P, int shift>
SUTURE_INLINE vd sin_shifted(vd x, scalar_function slow) {
  const vi far = vabs(x) > kTrigLimit;  // false for NaN
  const reduced_angle a = reduce_angle<P>(select(far, 0.0, x));
  const vd z = a.hi * a.hi;
  const double_double s = sin_kernel<P>(a, z), c = cos_kernel<P>(a, z);
  const vi quadrant = a.quadrant + shift;
  const vd magnitude = select((quadrant & 1) != 0, c.hi + c.lo, s.hi + s.lo);
  vd result = double_of(bits_of(magnitude) ^ ((quadrant & 2) << 62));
  if constexpr (shift == 0) result = select(x == 0.0, x, result);  // the sign of a zero
  if (__builtin_expect(any(far), 0)) result = patch(result, x, far, slow);
  return result;
}
template <precision P>
SUTURE_INLINE vd sin_of(vd x) {
  return sin_shifted<P, 0>(x, sin);
}
template <precision P>
SUTURE_INLINE vd cos_of(vd x) {
  return sin_shifted<P, 1>(x, cos);
}
template <precision P>
SUTURE_INLINE vd tan_of(vd x) {
  const vi far = vabs(x) > kTrigLimit;
  const reduced_angle a = reduce_angle<P>(select(far, 0.0, x));
  const vd z = a.hi * a.hi;
  double_double s = sin_kernel<P>(a, z), c = cos_kernel<P>(a, z);
  const vi odd = (a.quadrant & 1) != 0;  // tan(x + pi/2) = -cos x / sin x
  vd result;
  if constexpr (P == kSingle) {
    const vd sine = s.hi + s.lo, cosine = c.hi + c.lo;
    result = select(odd, -cosine, sine) / select(odd, sine, cosine);
  } else {
    s = fast_two_sum(s.hi, s.lo);
    c = fast_two_sum(c.hi, c.lo);
    const double_double q = divide({select(odd, -c.hi, s.hi), select(odd, -c.lo, s.lo)},
                                   {select(odd, s.hi, c.hi), select(odd, s.lo, c.lo)});
    result = q.hi + q.lo;
  }
  result = select(x == 0.0, x, result);
  if (__builtin_expect(any(far), 0)) result = patch(result, x, far, tan);
  return result;
}

// --- atan, atan2 -------------------------------------------------------------------------------------------
// atan(n / d) for n, d >= 0: the quotient is brought below tan(pi/8) by subtracting pi/4 or pi/2, then
// atan t = t + t^3 P(t^2). The quotient keeps its rounding error.
struct angle_of_quotient {
  vd base_hi, base_lo, t, rest;  // angle = base + t + rest
};
template <precision P>
SUTURE_INLINE angle_of_quotient quotient_angle(vd n, vd d) {
  const vi middle = n > 0x1.a827999fcef32p-2 * d;
  const vi large = n > 0x1.3504f333f9de6p+1 * d;
  const double_double difference = two_sum(n, -d), sum = two_sum(n, d);
  const double_double top = {select(large, -d, select(middle, difference.hi, n)),
                             select(large, 0.0, select(middle, difference.lo, 0.0))};
  const double_double bottom = {select(large, n, select(middle, sum.hi, d)),
                                select(large, 0.0, select(middle, sum.lo, 0.0))};
  const vd base_hi = select(large, 0x1.921fb54442d18p+0, select(middle, 0x1.921fb54442d18p-1, 0.0));
  const vd base_lo = select(large, 0x1.1a62633145c07p-54, select(middle, 0x1.1a62633145c07p-55, 0.0));
  const double_double t = divide(top, bottom);
  const vd z = t.hi * t.hi;
  vd p;
  if constexpr (P == kSingle)
    p = polynomial(z, -0x1.555554c8ac63ap-2, 0x1.99991a57809c8p-3, -0x1.247f0855364f1p-3,
                   0x1.c468321453a1ep-4, -0x1.5b4682936f360p-4, 0x1.84fa76a86f8a9p-5);
  else
    p = polynomial(z, -0x1.555555555553dp-2, 0x1.999999999589bp-3, -0x1.24924922af5ccp-3,
                   0x1.c71c70e7099cfp-4, -0x1.745cf8fc5d73bp-4, 0x1.3b111b8323d23p-4, -0x1.10ebd500016dfp-4,
                   0x1.df10fb5b4ce0ap-5, -0x1.9cda82abcad18p-5, 0x1.37e9a8cb2ba91p-5, -0x1.259687cdc351ap-6);
  return {base_hi, base_lo, t.hi, vfma(t.hi * z, p, t.lo)};
}
template <precision P>
SUTURE_INLINE vd atan_of(vd x) {
  const vd magnitude = vabs(x);
  // From 2**60 on the angle does not change any more.
  const angle_of_quotient a = quotient_angle<P>(select(magnitude > 0x1p60, 0x1p60, magnitude), 1.0);
  const double_double sum = fast_two_sum(a.base_hi, a.t);
  return vcopysign(sum.hi + (sum.lo + (a.base_lo + a.rest)), x);
}
// Zeros are ordinary here: flat terrain is full of them. Infinities and magnitudes whose quotient could leave
// the range take the slow path.
template <precision P>
SUTURE_INLINE vd atan2_of(vd y, vd x) {
  const vd ax = vabs(x), ay = vabs(y);
  const vi usual_x = ((ax < 0x1p500) & (ax > 0x1p-500)) | (x == 0.0);
  const vi usual_y = ((ay < 0x1p500) & (ay > 0x1p-500)) | (y == 0.0);
  const vi nan = (x != x) | (y != y);
  const vi usual = usual_x & usual_y;
  const vi origin = (x == 0.0) & (y == 0.0);
  const angle_of_quotient a =
      quotient_angle<P>(select(usual, ay, 1.0), select(origin | lnot(usual), 1.0, ax));
  // Left half plane: pi - angle.
  const vi left = bits_of(x) < 0;
  const vd t = select(left, -a.t, a.t);
  const vd base_hi = select(left, 0x1.921fb54442d18p+1 - a.base_hi, a.base_hi);
  const vd base_lo = select(left, 0x1.1a62633145c07p-53 - a.base_lo, a.base_lo);
  // 3 pi/4 is the one base that the subtraction of the high parts does not give exactly.
  const vd base_fix = select(left & (a.base_hi == 0x1.921fb54442d18p-1),
                             0x1.a79394c9e8a0ap-54 - (0x1.1a62633145c07p-53 - 0x1.1a62633145c07p-55), 0.0);
  const double_double sum = fast_two_sum(base_hi, t);
  vd result = vcopysign(sum.hi + (sum.lo + (base_lo + base_fix + select(left, -a.rest, a.rest))), y);
  result = select(nan, select(x != x, x, y), result);
  const vi slow = lnot(usual) & lnot(nan);
  if (__builtin_expect(any(slow), 0)) result = patch2(result, y, x, slow, atan2);
  return result;
}

// --- asin, acos --------------------------------------------------------------------------------------------
// asin s = s + s^3 P(s^2) up to 1/2; beyond it pi/2 - 2 asin(sqrt((1 - |x|) / 2)). Outside [-1, 1] the square
// root is NaN and raises invalid.
struct arc {
  vd s, rest;  // asin of |x|, or of the square root: s + rest
  vi large;
};
template <precision P>
SUTURE_INLINE arc arc_of(vd x) {
  const vd magnitude = vabs(x);
  const vi large = magnitude > 0.5;
  const vd halved = select(magnitude > 1.0, -1.0, (1.0 - magnitude) * 0.5);
  const vd small = select(large, 0.0, magnitude);
  const vd z = select(large, halved, small * small);
  const vd root = vsqrt(z);
  const vd s = select(large, root, magnitude);
  const vd root_rest = vfma(-root, root, z) / select(root > 0.0, root + root, 1.0);
  vd p;
  if constexpr (P == kSingle)
    p = polynomial(z, 0x1.5555560916de4p-3, 0x1.3332a808decf3p-4, 0x1.6ddb26975361bp-5, 0x1.ed5392080cd93p-6,
                   0x1.9358c65342d24p-6, 0x1.e980cc1a80a68p-8, 0x1.1c342a460ac55p-5);
  else
    p = polynomial(z, 0x1.5555555555578p-3, 0x1.333333332df21p-4, 0x1.6db6db7229f96p-5, 0x1.f1c71a8c765b0p-6,
                   0x1.6e8bdfc6c8fabp-6, 0x1.1c49e0b7a009ep-6, 0x1.ca20f931dc8dbp-7, 0x1.757a3d19924e1p-7,
                   0x1.617a373711a7ap-7, 0x1.e268bffc1ceb8p-9, 0x1.64aa700d7b6e3p-6, -0x1.597336ccbf707p-6,
                   0x1.0bb92ebb6f11cp-5);
  return {s, vfma(s * z, p, select(large, root_rest, 0.0)), large};
}
template <precision P>
SUTURE_INLINE vd asin_of(vd x) {
  const arc a = arc_of<P>(x);
  const double_double sum = fast_two_sum(0x1.921fb54442d18p+0, -2.0 * a.s);
  const vd from_root = sum.hi + (sum.lo + vfma(-2.0, a.rest, 0x1.1a62633145c07p-54));
  return vcopysign(select(a.large, from_root, a.s + a.rest), x);
}
template <precision P>
SUTURE_INLINE vd acos_of(vd x) {
  const arc a = arc_of<P>(x);
  const vi left = x < 0.0;
  // Large: 2 asin(root), or pi minus that. Small: pi/2 -+ asin |x|.
  const vd base_hi = select(a.large, select(left, 0x1.921fb54442d18p+1, 0.0), 0x1.921fb54442d18p+0);
  const vd base_lo = select(a.large, select(left, 0x1.1a62633145c07p-53, 0.0), 0x1.1a62633145c07p-54);
  const vd direction = select(a.large, select(left, -2.0, 2.0), select(left, 1.0, -1.0));
  const double_double sum = fast_two_sum(base_hi, direction * a.s);
  return sum.hi + (sum.lo + vfma(direction, a.rest, base_lo));
}

SUTURE_VECTOR1(sin)
SUTURE_VECTOR1(cos)
SUTURE_VECTOR1(tan)
SUTURE_VECTOR1(atan)
SUTURE_VECTOR1(asin)
SUTURE_VECTOR1(acos)
SUTURE_VECTOR2(atan2)
