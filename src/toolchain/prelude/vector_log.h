// Vector math 3: logarithms and the inverse hyperbolic functions, which are logarithms.

// u + u_lo = 2**k m, m in [sqrt(1/2), sqrt(2)); with s = (m - 1) / (m + 1): log m = 2 s + s^3 P(s^2) = hi +
// lo. u is positive, normal and finite.
struct log_parts {
  vd k, hi, lo;
};
template <precision P, rest R = kWithRest>
SUTURE_INLINE log_parts log_reduced(vd u, vd u_lo) {
  const vi raw = bits_of(u);
  const vi above = raw - 0x3fe6a09e667f3bcd;
  const vi k = above >> 52;
  const vd f = double_of(raw - (above & int64_t(0xfff0000000000000))) - 1.0;  // exact
  if constexpr (P == kSingle) {
    const vd s = f / (2.0 + f);
    const vd z = s * s;
    const vd p =
        polynomial(z, 0x1.555554fd9c317p-1, 0x1.999a7a8bb2ee0p-2, 0x1.2438d768dee54p-2, 0x1.e2f669d0b704cp-3);
    return {to_double(k), vfma(s * z, p, s + s), 0.0};
  }
  vd f_lo = 0.0;
  if constexpr (R == kWithRest)
    f_lo = select(k < 1000, u_lo, 0.0) * double_of((1023 - pick(k < 1000, k, 0)) << 52);
  const vd sum = 2.0 + f;
  const double_double s = divide({f, f_lo}, {sum, (f - (sum - 2.0)) + f_lo});
  const vd z = s.hi * s.hi;
  const vd p =
      polynomial(z, 0x1.5555555555592p-1, 0x1.999999997ff18p-2, 0x1.24924941e16bbp-2, 0x1.c71c52143b6d7p-3,
                 0x1.74663cf25283ep-3, 0x1.39a1e84213b00p-3, 0x1.2f03bfc2927bep-3);
  return {to_double(k), s.hi + s.hi, vfma(s.hi * z, p, s.lo + s.lo)};
}
// k ln 2 + hi + lo; k times the high part is exact.
constexpr double kLn2High32 = 0x1.62e42fee00000p-1, kLn2Rest = 0x1.a39ef35793c76p-33;
SUTURE_INLINE vd natural_log(const log_parts& l) {
  const double_double sum = fast_two_sum(l.k * kLn2High32, l.hi);
  return sum.hi + (sum.lo + vfma(l.k, kLn2Rest, l.lo));
}
// The logarithm to another base: `one` is that of 2 (its high part times k is exact), `factor` that of e.
SUTURE_INLINE vd other_log(const log_parts& l, double one_hi, double one_lo, double factor_hi,
                           double factor_lo) {
  const double_double product = two_product(l.hi, factor_hi);
  const vd product_lo = vfma(l.hi, factor_lo, vfma(l.lo, factor_hi, product.lo));
  const double_double sum = fast_two_sum(l.k * one_hi, product.hi);
  return sum.hi + (sum.lo + vfma(l.k, one_lo, product_lo));
}
template <precision P, class Combine>
SUTURE_INLINE vd any_log(vd x, scalar_function slow, Combine combine) {
  const vi inside = (x > 0.0) & (x < __builtin_inf());
  const vd positive = select(inside, x, 1.0);
  log_parts l;
  if constexpr (P == kExact) {
    const vi subnormal = positive < 0x1p-1022;
    l = log_reduced<P, kNoRest>(positive * select(subnormal, 0x1p54, 1.0), 0.0);
    l.k = l.k - select(subnormal, 54.0, 0.0);
  } else {
    l = log_reduced<P, kNoRest>(positive, 0.0);
  }
  vd result = select(inside, combine(l), x);  // infinity and NaN are their own logarithms
  const vi outside = x <= 0.0;
  if (__builtin_expect(any(outside), 0)) result = patch(result, x, outside, slow);
  return result;
}
// The natural logarithm alone gets by with one rounding error more and no second part of s (0.75 ULP):
// log m = f - (f^2/2 - s (f^2/2 + s^2 P(s^2))).
SUTURE_INLINE vd plain_log(vd positive) {
  const vi subnormal = positive < 0x1p-1022;
  const vi raw = bits_of(positive * select(subnormal, 0x1p54, 1.0));
  const vi above = raw - 0x3fe6a09e667f3bcd;
  const vd k = to_double(above >> 52) - select(subnormal, 54.0, 0.0);
  const vd f = double_of(raw - (above & int64_t(0xfff0000000000000))) - 1.0;
  const vd s = f / (2.0 + f);
  const vd z = s * s;
  const vd p =
      z * polynomial(z, 0x1.5555555555592p-1, 0x1.999999997ff18p-2, 0x1.24924941e16bbp-2,
                     0x1.c71c52143b6d7p-3, 0x1.74663cf25283ep-3, 0x1.39a1e84213b00p-3, 0x1.2f03bfc2927bep-3);
  const vd half_square = 0.5 * f * f;
  return vfma(k, kLn2High32, -((half_square - vfma(s, half_square + p, k * kLn2Rest)) - f));
}
template <precision P>
SUTURE_INLINE vd log_of(vd x) {
  if constexpr (P == kSingle)
    return any_log<P>(x, log,
                      [](const log_parts& l) __attribute__((always_inline)) { return natural_log(l); });
  const vi inside = (x > 0.0) & (x < __builtin_inf());
  vd result = select(inside, plain_log(select(inside, x, 1.0)), x);
  const vi outside = x <= 0.0;
  if (__builtin_expect(any(outside), 0)) result = patch(result, x, outside, log);
  return result;
}
template <precision P>
SUTURE_INLINE vd log2_of(vd x) {
  return any_log<P>(x, log2, [](const log_parts& l) __attribute__((always_inline)) {
    return other_log(l, 1.0, 0.0, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56);
  });
}
template <precision P>
SUTURE_INLINE vd log10_of(vd x) {
  return any_log<P>(x, log10, [](const log_parts& l) __attribute__((always_inline)) {
    return other_log(l, 0x1.3441350800000p-2, 0x1.f79fef311f12bp-34, 0x1.bcb7b1526e50ep-2,
                     0x1.95355baaafad3p-57);
  });
}
template <precision>
SUTURE_INLINE vd log1p_of(vd x) {
  const vi inside = (x > -1.0) & (x < __builtin_inf());
  const double_double u = two_sum(1.0, select(inside, x, 0.0));
  vd result = natural_log(log_reduced<kExact>(u.hi, u.lo));
  result = select(vabs(x) < 0x1p-54, x, result);
  result = select(inside, result, x);
  const vi outside = x <= -1.0;
  if (__builtin_expect(any(outside), 0)) result = patch(result, x, outside, log1p);
  return result;
}

// --- inverse hyperbolic ------------------------------------------------------------------------------------
// sqrt(t + t_lo), t >= 0
SUTURE_INLINE double_double square_root(double_double t) {
  const vd root = vsqrt(t.hi);
  return {root, (vfma(-root, root, t.hi) + t.lo) / select(t.hi > 0.0, root + root, 1.0)};
}
// log(a + sqrt(a^2 + sign)); beyond 2**28 the root is a to all bits.
SUTURE_INLINE vd log_with_root(vd a, double sign) {
  const vi large = a > 0x1p28;
  const vd small = select(large, 2.0, a);
  const double_double square = two_product(small, small);
  const double_double raised = two_sum(square.hi, sign);
  const double_double root = square_root(fast_two_sum(raised.hi, raised.lo + square.lo));
  const double_double sum = two_sum(small, root.hi);
  log_parts l = log_reduced<kExact>(select(large, a, sum.hi), select(large, 0.0, sum.lo + root.lo));
  l.k = l.k + select(large, 1.0, 0.0);
  return natural_log(l);
}
// x itself where it is tiny, with the underflow that a subnormal result is for the C library.
SUTURE_INLINE vd tiny_or_itself(vd x, vd magnitude) {
  const vd tiny = select(magnitude < 0x1p-28, x, 0.0);
  return select(magnitude < 0x1p-28, vcopysign(vfma(tiny, -0x1p-60, tiny), x), x);
}
template <precision>
SUTURE_INLINE vd asinh_of(vd x) {
  const vd magnitude = vabs(x);
  const vi usual = (magnitude >= 0x1p-28) & (magnitude < __builtin_inf());
  return select(usual, vcopysign(log_with_root(select(usual, magnitude, 1.0), 1.0), x),
                tiny_or_itself(x, magnitude));
}
template <precision>
SUTURE_INLINE vd acosh_of(vd x) {
  const vi usual = (x >= 1.0) & (x < __builtin_inf());
  vd result = select(usual, log_with_root(select(usual, x, 1.0), -1.0), x);
  const vi outside = x < 1.0;
  if (__builtin_expect(any(outside), 0)) result = patch(result, x, outside, acosh);
  return result;
}
template <precision>
SUTURE_INLINE vd atanh_of(vd x) {
  const vd magnitude = vabs(x);
  const vi usual = (magnitude >= 0x1p-28) & (magnitude < 1.0);
  const vd a = select(usual, magnitude, 0.0);
  const double_double top = fast_two_sum(1.0, a), bottom = fast_two_sum(1.0, -a);
  const double_double u = divide(top, bottom);
  vd result = select(usual, vcopysign(0.5 * natural_log(log_reduced<kExact>(u.hi, u.lo)), x),
                     tiny_or_itself(x, magnitude));
  const vi outside = magnitude >= 1.0;
  if (__builtin_expect(any(outside), 0)) result = patch(result, x, outside, atanh);
  return result;
}

SUTURE_VECTOR1(log)
SUTURE_VECTOR1(log2)
SUTURE_VECTOR1(log10)
SUTURE_VECTOR1(log1p)
SUTURE_VECTOR1(asinh)
SUTURE_VECTOR1(acosh)
SUTURE_VECTOR1(atanh)
