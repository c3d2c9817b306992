// Correctly rounded references: MPFR for the value, the C library for special values and status flags.
#pragma once

#include <mpfr.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace suture {

struct Reference {
  const char* op;  // name in ops.def
  int (*mpfr1)(mpfr_t, const mpfr_t, mpfr_rnd_t);
  double (*libm1)(double);
  int (*mpfr2)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t) = nullptr;
  double (*libm2)(double, double) = nullptr;
};

inline const std::vector<Reference>& references() {
#define SUTURE_ONE(op, mpfr, libm) {op, mpfr, static_cast<double (*)(double)>(libm)}
#define SUTURE_TWO(op, mpfr, libm) {op, nullptr, nullptr, mpfr, static_cast<double (*)(double, double)>(libm)}
  static const std::vector<Reference> all = {
      SUTURE_ONE("exp", mpfr_exp, ::exp),         SUTURE_ONE("exp2", mpfr_exp2, ::exp2),
      SUTURE_ONE("expm1", mpfr_expm1, ::expm1),   SUTURE_ONE("log", mpfr_log, ::log),
      SUTURE_ONE("log2", mpfr_log2, ::log2),      SUTURE_ONE("log10", mpfr_log10, ::log10),
      SUTURE_ONE("log1p", mpfr_log1p, ::log1p),   SUTURE_ONE("sin", mpfr_sin, ::sin),
      SUTURE_ONE("cos", mpfr_cos, ::cos),         SUTURE_ONE("tan", mpfr_tan, ::tan),
      SUTURE_ONE("arcsin", mpfr_asin, ::asin),    SUTURE_ONE("arccos", mpfr_acos, ::acos),
      SUTURE_ONE("arctan", mpfr_atan, ::atan),    SUTURE_ONE("sinh", mpfr_sinh, ::sinh),
      SUTURE_ONE("cosh", mpfr_cosh, ::cosh),      SUTURE_ONE("tanh", mpfr_tanh, ::tanh),
      SUTURE_ONE("arcsinh", mpfr_asinh, ::asinh), SUTURE_ONE("arccosh", mpfr_acosh, ::acosh),
      SUTURE_ONE("arctanh", mpfr_atanh, ::atanh), SUTURE_ONE("cbrt", mpfr_cbrt, ::cbrt),
      SUTURE_TWO("arctan2", mpfr_atan2, ::atan2), SUTURE_TWO("hypot", mpfr_hypot, ::hypot),
      SUTURE_TWO("pow", mpfr_pow, ::pow)};
#undef SUTURE_ONE
#undef SUTURE_TWO
  return all;
}

// Distance of `result` from the exact value in units of the last place that the exact value has in type T.
template <class T>
double ulp_error(T result, const mpfr_t exact) {
  if (mpfr_nan_p(exact)) return std::isnan(result) ? 0 : std::numeric_limits<double>::infinity();
  if (std::isnan(result)) return std::numeric_limits<double>::infinity();
  const T rounded =
      sizeof(T) == 8 ? static_cast<T>(mpfr_get_d(exact, MPFR_RNDN)) : mpfr_get_flt(exact, MPFR_RNDN);
  if (std::isinf(rounded) || std::isinf(result))
    return rounded == result || std::abs(result) == std::numeric_limits<T>::max()
               ? 0
               : std::numeric_limits<double>::infinity();
  if (mpfr_zero_p(exact)) return result == 0 ? 0 : std::numeric_limits<double>::infinity();
  const long lowest = std::numeric_limits<T>::min_exponent -
                      std::numeric_limits<T>::digits;  // exponent of the smallest subnormal
  const long exponent = std::max<long>(mpfr_get_exp(exact) - std::numeric_limits<T>::digits, lowest);
  mpfr_t difference;
  mpfr_init2(difference, 300);
  mpfr_sub_d(difference, exact, result, MPFR_RNDN);
  mpfr_mul_2si(difference, difference, -exponent, MPFR_RNDN);
  const double error = std::abs(mpfr_get_d(difference, MPFR_RNDN));
  mpfr_clear(difference);
  return error;
}

template <class T>
double ulp_error(const Reference& reference, T x, T y, T result) {
  mpfr_t a, b, exact;
  mpfr_inits2(160, a, b, exact, nullptr);
  mpfr_set_d(a, x, MPFR_RNDN);
  mpfr_set_d(b, y, MPFR_RNDN);
  if (reference.mpfr1)
    reference.mpfr1(exact, a, MPFR_RNDN);
  else
    reference.mpfr2(exact, a, b, MPFR_RNDN);
  const double error = ulp_error(result, exact);
  mpfr_clears(a, b, exact, nullptr);
  return error;
}

// The C library's result in type T; `flags` receives invalid, divide-by-zero and overflow.
template <class T>
T libm_result(const Reference& reference, T x, T y, int& flags) {
  std::feclearexcept(FE_ALL_EXCEPT);
  volatile double a = x, b = y;
  volatile T result = static_cast<T>(reference.libm1 ? reference.libm1(a) : reference.libm2(a, b));
  flags = std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  return result;
}

// Values where elementary functions change their behaviour, of both signs.
template <class T>
std::vector<T> edge_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> values = {0,
                           L::denorm_min(),
                           L::min() / 2,
                           L::min(),
                           T(1e-30),
                           T(1e-10),
                           T(1e-5),
                           T(0.25),
                           T(0.41),
                           T(0.5),
                           T(0.69),
                           T(0.7),
                           T(0.9),
                           std::nextafter(T(1), T(0)),
                           1,
                           std::nextafter(T(1), T(2)),
                           T(1.4),
                           T(1.5707963267948966),
                           2,
                           3,
                           T(3.141592653589793),
                           10,
                           22,
                           37,
                           88,
                           89,
                           104,
                           127,
                           128,
                           150,
                           700,
                           T(709.7),
                           T(709.8),
                           710,
                           T(745.1),
                           746,
                           1000,
                           1023,
                           1024,
                           1074,
                           1075,
                           1e5,
                           1e6,
                           T(1.0e9),
                           T(1.1e9),
                           T(1e15),
                           T(1e22),
                           T(1e30),
                           L::max() / 2,
                           L::max(),
                           L::infinity(),
                           L::quiet_NaN()};
  for (size_t i = 0, n = values.size(); i < n; ++i) values.push_back(-values[i]);
  return values;
}

// Half of them uniform over bit patterns (all exponents), the other half over the range where results are
// neither trivial nor out of range.
template <class T>
std::vector<T> random_values(size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> near(-1.5, 1.5), middle(-20, 20), far(-800, 800);
  std::vector<T> values;
  while (values.size() < count) {
    std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t> bits = random();
    values.push_back(__builtin_bit_cast(T, bits));
    values.push_back(T(near(random)));
    values.push_back(T(middle(random)));
    values.push_back(T(far(random)));
  }
  return values;
}

}  // namespace suture
