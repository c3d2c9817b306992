// Vector math 2: exp, exp2, expm1, sinh, cosh, tanh.

// x + x_lo = n ln 2 + r; e**r - 1 as hi + lo, where lo is not small against hi (`normalised` makes it so).
constexpr double kLog2e = 0x1.71547652b82fep+0;
constexpr double kLn2Hi = 0x1.62e42fefa39efp-1, kLn2Lo = 0x1.abc9e3b39803fp-56;
struct exp_parts {
  vd n;
  vi n_int;
  vd hi, lo;
};
template <precision P, rest R = kNoRest>
SUTURE_INLINE exp_parts exp_reduced(vd x, vd x_lo = 0.0) {
  const vd shifted = vfma(x, kLog2e, kShift);
  const vd n = shifted - kShift;
  const vd first = vfma(-n, kLn2Hi, x);  // exact
  vd r = vfma(-n, kLn2Lo, first);
  if constexpr (P == kSingle) {
    const vd p = polynomial(r, 0x1.00000017234aap-1, 0x1.5554dcfd31b1dp-3, 0x1.5554b8e068987p-5,
                            0x1.120b66be31a1fp-7, 0x1.6d753b8f79800p-10);
    return {n, low_integer(shifted), vfma(r * r, p, r), 0.0};
  }
  vd r_lo = vfma(-n, kLn2Lo, first - r);
  if constexpr (R == kWithRest) {
    const double_double joined = two_sum(r, r_lo + x_lo);
    r = joined.hi;
    r_lo = joined.lo;
  }
  const vd p =
      polynomial(r, 0x1.0000000000000p-1, 0x1.5555555555557p-3, 0x1.5555555555558p-5, 0x1.11111111100dfp-7,
                 0x1.6c16c16c15200p-10, 0x1.a01a01abe6546p-13, 0x1.a01a01acf9266p-16, 0x1.71de0236e9ce8p-19,
                 0x1.27e4ccd273c58p-22, 0x1.af4dde5028195p-26, 0x1.1f8b441572cedp-29);
  return {n, low_integer(shifted), r, vfma(r * r, p, vfma(r, r_lo, r_lo))};
}
SUTURE_INLINE exp_parts normalised(const exp_parts& e) {
  const double_double sum = fast_two_sum(e.hi, e.lo);
  return {e.n, e.n_int, sum.hi, sum.lo};
}
SUTURE_INLINE vd power_of_two(vi n) { return double_of((n + 1023) << 52); }

// Beyond the limits the result overflows or underflows just as at them. Infinities go around the arithmetic,
// which would raise flags for them.
SUTURE_INLINE vd clamp_finite(vd x, double low, double high) {
  vd inside = select(x > high, high, x);
  inside = select(x < low, low, inside);
  return select(vabs(x) == __builtin_inf(), 0.0, inside);
}
template <precision P>
SUTURE_INLINE vd scaled_exponential(const exp_parts& e) {
  if constexpr (P == kSingle) return double_of(bits_of(1.0 + e.hi) + (e.n_int << 52));
  return scale(1.0 + (e.hi + e.lo), e.n, e.n_int);
}
template <precision P>
SUTURE_INLINE vd exp_of(vd x) {
  const vd inside = P == kExact ? clamp_finite(x, -746.0, 710.0) : clamp_finite(x, -150.0, 150.0);
  const vd result = scaled_exponential<P>(exp_reduced<P>(inside));
  return select(vabs(x) == __builtin_inf(), select(x > 0.0, x, 0.0), result);
}
template <precision P>
SUTURE_INLINE vd exp2_of(vd x) {
  const vd inside = P == kExact ? clamp_finite(x, -1076.0, 1025.0) : clamp_finite(x, -200.0, 200.0);
  const vd shifted = inside + kShift;
  const vd n = shifted - kShift;
  const vd r = inside - n;  // exact
  exp_parts e = {n, low_integer(shifted), 0.0, 0.0};
  if constexpr (P == kSingle) {
    e.hi = vfma(r * r,
                polynomial(r, 0x1.ebfbe024a3bc2p-3, 0x1.c6afed20f773cp-5, 0x1.3b2a26854d53ap-7,
                           0x1.5ec86d5d01092p-10, 0x1.4440083058a80p-13),
                r * kLn2Hi);
  } else {
    const double_double linear = two_product(r, kLn2Hi);
    const vd p =
        polynomial(r, 0x1.ebfbdff82c58fp-3, 0x1.c6b08d704a0c2p-5, 0x1.3b2ab6fba4e79p-7, 0x1.5d87fe78a5276p-10,
                   0x1.430912f86b062p-13, 0x1.ffcbfc670df74p-17, 0x1.62c0224555cacp-20, 0x1.b524fae5b7d4fp-24,
                   0x1.e4cf04ebdc635p-28, 0x1.e9d3feff63b80p-32, 0x1.c4b5b0633f557p-36);
    e.hi = linear.hi;
    e.lo = vfma(r * r, p, vfma(r, kLn2Lo, linear.lo));
  }
  const vd result = scaled_exponential<P>(e);
  return select(vabs(x) == __builtin_inf(), select(x > 0.0, x, 0.0), result);
}

// 2**n (1 + hi + lo) - 1, worked out at half its size so that 2**1024 is in range.
template <precision>
SUTURE_INLINE vd expm1_of(vd x) {
  const exp_parts e = normalised(exp_reduced<kExact>(clamp_finite(x, -40.0, 710.0)));
  const vd half_power = power_of_two(e.n_int - 1);
  const double_double sum = two_sum(half_power - 0.5, half_power * e.hi);
  const vd result = 2.0 * (sum.hi + vfma(half_power, e.lo, sum.lo));
  const vd ends = select(x > 0.0, x, -1.0);
  return select(vabs(x) == __builtin_inf(), ends, select(vabs(x) < 0x1p-54, x, result));
}

// (e**x -+ e**-x) / 2 from 1 + hi + lo; sinh below 1 by its odd series, where the difference would cancel.
SUTURE_INLINE vd hyperbolic(const exp_parts& e, double sign) {
  const double_double s = fast_two_sum(1.0, e.hi);
  const vi few = e.n_int < 60;
  const vd inverse = select(few, power_of_two(-2 * pick(few, e.n_int, 0)), 0.0) / s.hi;
  return scale(s.hi + (s.lo + vfma(sign, inverse, e.lo)), e.n - 1.0, e.n_int - 1);
}
template <precision>
SUTURE_INLINE vd cosh_of(vd x) {
  const vd magnitude = vabs(x);
  const vd result = hyperbolic(normalised(exp_reduced<kExact>(clamp_finite(magnitude, 0.0, 712.0))), 1.0);
  return select(magnitude == __builtin_inf(), magnitude, result);
}
template <precision>
SUTURE_INLINE vd sinh_of(vd x) {
  const vd magnitude = vabs(x);
  const vd large = hyperbolic(normalised(exp_reduced<kExact>(clamp_finite(magnitude, 0.0, 712.0))), -1.0);
  const vi below_one = magnitude < 1.0;
  const vd small = select(below_one, magnitude, 0.0);
  const vd z = small * small;
  const vd p =
      polynomial(z, 0x1.5555555555555p-3, 0x1.1111111111199p-7, 0x1.a01a01a007b24p-13, 0x1.71de3a68223f1p-19,
                 0x1.ae64420b4711bp-26, 0x1.6130abf228635p-33, 0x1.a6d54da3f8255p-41, 0x1.c33e0878aced9p-48);
  const vd result = select(below_one, vfma(small * z, p, small), large);
  return vcopysign(select(magnitude == __builtin_inf(), magnitude, result), x);
}
// em / (em + 2), em = e**(2|x|) - 1; from 22 on the result is 1.
template <precision P>
SUTURE_INLINE vd tanh_of(vd x) {
  const vd magnitude = vabs(x);
  const exp_parts e = exp_reduced<P>(2.0 * select(magnitude > 22.0, 22.0, magnitude));
  const vd power = power_of_two(e.n_int);
  if constexpr (P == kSingle) {
    const vd em = vfma(power, e.hi + e.lo, power - 1.0);
    return vcopysign(em / (em + 2.0), x);
  }
  const exp_parts small = normalised(e);
  const double_double sum = two_sum(power - 1.0, power * small.hi);
  const double_double em = {sum.hi, vfma(power, small.lo, sum.lo)};
  const double_double below = two_sum(em.hi, 2.0);
  const double_double q = divide(em, {below.hi, below.lo + em.lo});
  return vcopysign(q.hi + q.lo, x);
}

SUTURE_VECTOR1(exp)
SUTURE_VECTOR1(exp2)
SUTURE_VECTOR1(expm1)
SUTURE_VECTOR1(cosh)
SUTURE_VECTOR1(sinh)
SUTURE_VECTOR1(tanh)
