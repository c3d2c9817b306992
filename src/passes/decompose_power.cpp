// Powers for which NumPy's power loop does something other than pow().
//
// When the exponent is the same for the whole loop (a scalar), the float loops of np.power use 1/x, sqrt(x),
// x and x*x for -1, 0.5, 1 and 2. That shows: sqrt(-0.0) is -0.0 and sqrt(-inf) is NaN, where pow gives 0.0
// and inf. The ** of two NumPy scalars calls pow() always, and so does np.float_power.
#include "passes/decompositions.h"
#include "passes/scalar_values.h"

namespace suture {

namespace {

// x ** y between scalars never reaches the ufunc.
bool is_scalar_math(const Rewriter& rewriter, const Node& node) {
  const bool by_operator = node.target == "**" || node.target == "**=";
  const auto scalar = [&](NodeId id) { return rewriter.old().node(id).type.scalar(); };
  return by_operator && scalar(node.operands[0]) && scalar(node.operands[1]);
}

std::optional<OpId> loop_for(double exponent) {
  if (exponent == 2.0) return OpId::kSquare;
  if (exponent == 1.0) return OpId::kPositive;
  if (exponent == 0.5) return OpId::kSqrt;
  if (exponent == -1.0) return OpId::kReciprocal;
  return std::nullopt;
}

// `chosen ? op(base) : otherwise`. Values that are not asked for must not signal, so there op sees 1.
Result<NodeId> choose(Rewriter& rewriter, OpId op, double exponent_of_op, NodeId base, NodeId exponent,
                      NodeId otherwise) {
  const DType dtype = rewriter.type(base).dtype;
  const auto number = [&](double value) { return rewriter.constant(value, ValueClass::kNumpyScalar, dtype); };
  SUTURE_TRY(chosen, rewriter.add(OpId::kEqual, {exponent, number(exponent_of_op)}));
  SUTURE_TRY(operand, rewriter.add(OpId::kWhere, {chosen, base, number(1.0)}));
  SUTURE_TRY(value, rewriter.add(op, {operand}));
  return rewriter.add(OpId::kWhere, {chosen, value, otherwise});
}

// The exponent is known only when the kernel runs, and so is the loop. x itself is what pow gives for 1.
Result<NodeId> choose_at_run_time(Rewriter& rewriter, NodeId base, NodeId exponent) {
  SUTURE_TRY(result, rewriter.add(OpId::kPower, {base, exponent}));
  for (double known : {2.0, -1.0, 0.5}) {
    SUTURE_TRY(next, choose(rewriter, *loop_for(known), known, base, exponent, result));
    result = next;
  }
  return result;
}

}  // namespace

Result<NodeId> decompose_power(Rewriter& rewriter, const Node& node) {
  const NodeId exponent = rewriter.mapped(node.operands[1]);
  if (is_scalar_math(rewriter, node) || rewriter.type(exponent).rank() != 0) return kNoNode;
  const DType dtype = node.type.dtype;
  const auto known = constant_of(rewriter.node(exponent));
  if (known) {
    const auto loop = loop_for(scalar_as_double(*known));
    if (!loop || (!is_float(dtype) && *loop != OpId::kSquare)) return kNoNode;
    SUTURE_TRY(base, rewriter.cast(rewriter.mapped(node.operands[0]), dtype));
    return rewriter.add(*loop, {base});
  }
  if (!is_float(dtype)) return kNoNode;
  SUTURE_TRY(base, rewriter.cast(rewriter.mapped(node.operands[0]), dtype));
  SUTURE_TRY(converted, rewriter.cast(exponent, dtype));
  return choose_at_run_time(rewriter, base, converted);
}

Result<NodeId> decompose_float_power(Rewriter& rewriter, const Node& node) {
  SUTURE_TRY(base, rewriter.cast(rewriter.mapped(node.operands[0]), DType::kFloat64));
  SUTURE_TRY(exponent, rewriter.cast(rewriter.mapped(node.operands[1]), DType::kFloat64));
  return rewriter.add(OpId::kPower, {base, exponent});
}

}  // namespace suture
