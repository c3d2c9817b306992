// Division, powers and functions of `math` on Python floats that are known only when the kernel runs.
//
// Python raises where IEEE arithmetic goes on: ZeroDivisionError for x / 0.0, OverflowError for 1e300 ** 2, ValueError
// for math.log(0.0).
// NumPy's error state does not apply to Python numbers, so floating-point flags, which it may ignore, are not
// enough. A condition is therefore turned into an integer division by zero between scalars, `1 //
// int(condition does not hold)`, which kernels report always; the graph is then run again in Python, which
// raises its own exception. The check has no users on purpose.
#include "ops/python_math.h"
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

// What an operand must be for a result that is not finite to be Python's answer.
enum class Excuse : uint8_t { kNotFinite, kNan };

Result<NodeId> excused(Rewriter& rewriter, NodeId operand, Excuse excuse) {
  if (excuse == Excuse::kNan) return rewriter.add(OpId::kIsNan, {operand});
  SUTURE_TRY(finite, rewriter.add(OpId::kIsFinite, {operand}));
  return rewriter.add(OpId::kLogicalNot, {finite});
}

// Out of range, division by zero or complex: a result that is not finite although no operand excuses it. Some
// infinite results of infinite operands are Python's, too; there the call only runs again for nothing.
Result<NodeId> checked_result(Rewriter& rewriter, const Node& node, Excuse excuse) {
  const std::vector<NodeId> operands = rewriter.mapped_operands(node);
  SUTURE_TRY(result, rewriter.add(node.op, operands, node.attrs));
  rewriter.as_numpy_calls();
  SUTURE_TRY(finite, rewriter.add(OpId::kIsFinite, {result}));
  NodeId fine = finite;
  for (NodeId operand : operands) {
    if (constant_of(rewriter.node(operand)) || rewriter.node(operand).op == OpId::kSymbolValue) continue;
    SUTURE_TRY(acceptable, excused(rewriter, operand, excuse));
    SUTURE_TRY(either, rewriter.add(OpId::kLogicalOr, {fine, acceptable}));
    fine = either;
  }
  SUTURE_TRY_VOID(require(rewriter, fine));
  return result;
}

// floor, ceil, trunc: an int, which the kernel has when it fits 64 bits. NaN and infinity, which raise, do not.
Result<NodeId> rounded_to_int(Rewriter& rewriter, const Node& node) {
  rewriter.as_numpy_calls();
  SUTURE_TRY(whole, rewriter.add(node.op, {rewriter.mapped(node.operands[0])}));
  SUTURE_TRY(magnitude, rewriter.add(OpId::kAbsolute, {whole}));
  SUTURE_TRY(fits, rewriter.add(OpId::kLess, {magnitude, number(rewriter, 0x1p63)}));
  SUTURE_TRY_VOID(require(rewriter, fits));
  Attrs attrs;
  attrs.dtype = DType::kInt64;
  attrs.value_class = ValueClass::kPyInt;
  return rewriter.add(OpId::kCast, {whole}, std::move(attrs));
}

// A function of `math`, for it was not written as an operator.
Result<NodeId> checked_math(Rewriter& rewriter, const Node& node, const PythonMath& function) {
  if (function.result == ValueClass::kPyInt) return rounded_to_int(rewriter, node);
  if (function.raises == PythonMath::Raises::Never) return kNoNode;
  return checked_result(rewriter, node, Excuse::kNan);
}

}  // namespace

Result<NodeId> decompose_python_operator(Rewriter& rewriter, const Node& node) {
  const PythonMath* function = spelling_of(node) == Spelling::kFunction ? python_math(node.op) : nullptr;
  if (function) return checked_math(rewriter, node, *function);
  if (node.op == OpId::kDivide) return checked_division(rewriter, node);
  if (node.op == OpId::kPower && node.type.value_class == ValueClass::kPyFloat)
    return checked_result(rewriter, node, Excuse::kNotFinite);
  return kNoNode;
}

}  // namespace suture
