// Division and powers of Python floats that are known only when the kernel runs.
//
// Python raises where IEEE arithmetic goes on: ZeroDivisionError for x / 0.0, OverflowError for 1e300 ** 2.
// NumPy's error state does not apply to Python numbers, so floating-point flags, which it may ignore, are not
// enough. A condition is therefore turned into an integer division by zero between scalars, `1 //
// int(condition does not hold)`, which kernels report always; the graph is then run again in Python, which
// raises its own exception. The check has no users on purpose.
#include "passes/decompositions.h"
#include "passes/scalar_values.h"

namespace suture {

namespace {

NodeId number(Rewriter& rewriter, double value) {
  return rewriter.constant(value, ValueClass::kNumpyScalar, DType::kFloat64);
}

// 1 // int(fine): reported when `fine`, a bool scalar, is false.
Status require(Rewriter& rewriter, NodeId fine) {
  SUTURE_TRY(as_int, rewriter.cast(fine, DType::kInt64));
  const NodeId one = rewriter.constant(int64_t{1}, ValueClass::kNumpyScalar, DType::kInt64);
  SUTURE_TRY_VOID(rewriter.add(OpId::kFloorDivide, {one, as_int}));
  return ok_status();
}

bool known_nonzero(const Node& node) {
  if (node.op == OpId::kSymbolValue) return true;  // capture recorded that it is not zero
  const auto value = constant_of(node);
  return value && scalar_as_double(*value) != 0.0;
}

Result<NodeId> checked_division(Rewriter& rewriter, const Node& node) {
  const NodeId divisor = rewriter.mapped(node.operands[1]);
  if (known_nonzero(rewriter.node(divisor))) return kNoNode;
  rewriter.as_numpy_calls();
  SUTURE_TRY(fine, rewriter.add(OpId::kNotEqual, {divisor, number(rewriter, 0.0)}));
  SUTURE_TRY_VOID(require(rewriter, fine));
  return kNoNode;
}

// Out of range, division by zero or complex: a result of finite operands that is not finite.
Result<NodeId> checked_power(Rewriter& rewriter, const Node& node) {
  const NodeId base = rewriter.mapped(node.operands[0]);
  const NodeId exponent = rewriter.mapped(node.operands[1]);
  SUTURE_TRY(result, rewriter.add(OpId::kPower, {base, exponent}));
  rewriter.as_numpy_calls();
  NodeId fine = kNoNode;
  for (NodeId value : {result, base, exponent}) {
    if (constant_of(rewriter.node(value)) || rewriter.node(value).op == OpId::kSymbolValue) continue;
    SUTURE_TRY(finite, rewriter.add(OpId::kIsFinite, {value}));
    SUTURE_TRY(acceptable,
               value == result ? Result<NodeId>(finite) : rewriter.add(OpId::kLogicalNot, {finite}));
    SUTURE_TRY(either, fine == kNoNode ? Result<NodeId>(acceptable)
                                       : rewriter.add(OpId::kLogicalOr, {fine, acceptable}));
    fine = either;
  }
  SUTURE_TRY_VOID(require(rewriter, fine));
  return result;
}

}  // namespace

Result<NodeId> decompose_python_operator(Rewriter& rewriter, const Node& node) {
  if (node.op == OpId::kDivide) return checked_division(rewriter, node);
  if (node.op == OpId::kPower && node.type.value_class == ValueClass::kPyFloat)
    return checked_power(rewriter, node);
  return kNoNode;
}

}  // namespace suture
