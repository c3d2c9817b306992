// np.round, as PyArray_Round computes it: rint for no decimals, otherwise scale by a power of ten, rint,
// scale back.
//
// Integers round to themselves unless decimals is negative; then they pass through float64. The power of ten
// is a Python float, hence weak: float32 data is scaled in float32.
#include "passes/decompositions.h"

namespace suture {

namespace {

// 10.0 ** n with the rounding of NumPy's power_of_ten: exact up to 1e22, then by repeated multiplication.
double power_of_ten(int n) {
  static constexpr double kTable[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
  if (n < 9) return kTable[n];
  double result = 1e9;
  for (; n > 9; --n) result *= 10.0;
  return result;
}

}  // namespace

Result<NodeId> decompose_round(Rewriter& rewriter, const Node& node) {
  const NodeId value = rewriter.mapped(node.operands[0]);
  const DType dtype = rewriter.type(value).dtype;
  const int decimals = node.attrs.decimals;
  if (!is_float(dtype) && decimals >= 0) return rewriter.add(OpId::kPositive, {value});
  if (decimals == 0) return rewriter.add(OpId::kRint, {value});
  const NodeId factor = rewriter.constant(power_of_ten(decimals < 0 ? -decimals : decimals),
                                          ValueClass::kPyFloat, DType::kFloat64);
  const OpId scale = decimals < 0 ? OpId::kDivide : OpId::kMultiply;
  const OpId unscale = decimals < 0 ? OpId::kMultiply : OpId::kDivide;
  SUTURE_TRY(scaled, rewriter.add(scale, {value, factor}));
  SUTURE_TRY(rounded, rewriter.add(OpId::kRint, {scaled}));
  SUTURE_TRY(result, rewriter.add(unscale, {rounded, factor}));
  return rewriter.cast(result, dtype);
}

}  // namespace suture
