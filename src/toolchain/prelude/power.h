// op_pow and logaddexp, on top of the vector math.

// Exponents for which NumPy squares, copies, inverts or takes the root are exact here too when they are
// literals.
template <class F>
SUTURE_INLINE F op_pow(F x, F y) {
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

// Equal operands first: infinities of one sign would give inf - inf. NumPy compares NaN as its compiler likes, and may
// report that.
template <class F>
SUTURE_INLINE F vm_logaddexp(F x, F y, uint32_t& status) {
  const F difference = x == y ? F(0) : x - y;
  status |= difference != difference ? kStatusBuildDependent : 0;
  const F larger = difference > 0 ? x : y;
  const F sum = larger + vm_log1p(vm_exp(-op_abs(difference)));
  return x == y ? x + F(0.693147180559945309417) : difference != difference ? difference : sum;
}
