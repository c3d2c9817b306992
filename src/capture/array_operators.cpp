// Operators with at least one array, NumPy scalar or number computed in the graph.
//
// Three worlds meet here. Python numbers among themselves follow Python (ZeroDivisionError, unbounded ints),
// so only what cannot raise or grow is captured. NumPy scalars and arrays follow the ufuncs, except that **
// of an array with some Python numbers is a ufunc of its own (square, reciprocal, sqrt). An in-place operator
// on an array writes into its memory.
#include <fmt/format.h>

#include "capture/array_adapters.h"
#include "capture/numpy_calls.h"
#include "cpython/discard_error.h"
#include "ops/operators.h"

namespace suture {

namespace {

using numpy::Call;

bool is_whole_array(const Call& call, const ValueRef& value) {
  auto* array = as_array(value);
  return array && call.type(array->node).value_class == ValueClass::kArray;
}

// A number (in the widest sense) that an operator may meet; anything else has an operator of its own.
bool is_operand(const Call& call, const ValueRef& value) {
  if (as_array(value) || as_sym_int(value) || numpy::is_array_like(call, value)) return true;
  auto* constant = as_constant(value);
  if (!constant) return false;
  PyView object = constant->object.get();
  return PyBool_Check(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object);
}

Captured<Unit> require_operands(const Call& call, const ValueRef& lhs, const ValueRef& rhs) {
  for (const ValueRef& value : {lhs, rhs}) {
    if (!is_operand(call, value)) {
      return call.not_compiled(fmt::format("an operand is {}", call.state.describe(value)));
    }
  }
  return Unit{};
}

// --- Python numbers ----------------------------------------------------------------------------------------
bool is_float_class(const Node& node) { return node.type.value_class == ValueClass::kPyFloat; }

// Python compares, divides and mixes ints with floats exactly; the kernel goes through float64, which holds
// ints up to 2**53.
bool int_is_exact_as_float(const Call& call, const Node& node) {
  constexpr int64_t kLimit = int64_t{1} << 53;
  if (node.type.value_class == ValueClass::kPyBool || is_float_class(node)) return true;
  if (node.op == OpId::kSymbolValue) {
    const SymInt value = node.attrs.sym;
    return call.env().le(SymInt(-kLimit), value) && call.env().le(value, SymInt(kLimit));
  }
  const auto* value = node.op == OpId::kConstant ? std::get_if<int64_t>(&*node.attrs.scalar) : nullptr;
  return value && *value >= -kLimit && *value <= kLimit;
}

bool is_python_zero(const Call& call, const Node& node) {
  if (node.op == OpId::kSymbolValue) return call.env().eq(SymInt(node.attrs.sym), SymInt(0));
  return node.op == OpId::kConstant &&
         std::visit([](auto v) { return static_cast<double>(v) == 0.0; }, *node.attrs.scalar);
}

// Empty when kernels and Python agree. What raises or becomes complex at run time (1 / 0.0, 1e300 ** 2,
// (-8.0) ** 0.5) is seen by the checks that passes/decompose_python_numbers.cpp adds.
std::string reason_against(const Call& call, OpId op, const Node& lhs, const Node& rhs) {
  const bool any_float = is_float_class(lhs) || is_float_class(rhs);
  if ((any_float || op == OpId::kDivide) &&
      !(int_is_exact_as_float(call, lhs) && int_is_exact_as_float(call, rhs))) {
    return "A Python float meets an int that may be large";
  }
  switch (op) {
    case OpId::kDivide: return is_python_zero(call, rhs) ? "The divisor is zero" : "";
    case OpId::kPower: return any_float ? "" : "A power of Python ints may grow without bound";
    case OpId::kFloorDivide:
    case OpId::kRemainder:
      return "Floor division and remainder of Python numbers that are known only at run time";
    case OpId::kLeftShift: return "A shifted Python int may grow without bound";
    default: return "";
  }
}

Outcome python_operator(const Call& call, OpId op, const ValueRef& lhs, const ValueRef& rhs) {
  SUTURE_CAPTURE(left, call.operand(lhs));
  SUTURE_CAPTURE(right, call.operand(rhs));
  const std::string reason =
      reason_against(call, op, call.state.graph.node(left), call.state.graph.node(right));
  if (!reason.empty()) return call.state.make_break(BreakReason::kPythonScalarMath, {reason});
  return call.value(op, {left, right});
}

bool is_python_number(const Call& call, const ValueRef& value) {
  if (auto* array = as_array(value)) return is_weak(call.type(array->node).value_class);
  return !numpy::is_array_like(call, value);
}

// --- arrays ------------------------------------------------------------------------------------------------
// array ** 2, ** -1, ** 0.5 with exactly these Python numbers are other ufuncs in NumPy (fast_scalar_power).
std::optional<OpId> fast_power(DType base, const ValueRef& exponent) {
  auto* constant = as_constant(exponent);
  if (!constant) return std::nullopt;
  PyView object = constant->object.get();
  const bool whole = PyLong_CheckExact(object);
  if (!whole && !PyFloat_CheckExact(object)) return std::nullopt;
  const double value = whole ? PyLong_AsDouble(object) : PyFloat_AS_DOUBLE(object);
  discard_error();
  if (whole && value == 2.0) return OpId::kSquare;
  if (!is_float(base)) return std::nullopt;
  if (whole && value == -1.0) return OpId::kReciprocal;
  if (!whole && value == 0.5) return OpId::kSqrt;
  return std::nullopt;
}

struct Operation {
  OpId op;
  std::vector<ValueRef> operands;
};

Operation operation_for(const Call& call, OpId op, const ValueRef& lhs, const ValueRef& rhs) {
  if (op == OpId::kPower && is_whole_array(call, lhs)) {
    if (auto fast = fast_power(call.type(as_array(lhs)->node).dtype, rhs)) return {*fast, {lhs}};
  }
  return {op, {lhs, rhs}};
}

Outcome matrix_product(const Call& call, const ValueRef& lhs, const ValueRef& rhs) {
  SUTURE_CAPTURE(left, call.array_operand(lhs));
  SUTURE_CAPTURE(right, call.array_operand(rhs));
  if (call.type(left).rank() == 0 || call.type(right).rank() == 0)
    return call.would_raise("an operand is a scalar");
  return call.value(OpId::kMatmul, {left, right});
}

}  // namespace

Outcome array_binary_op(CaptureState& state, WrittenOperator written, const ValueRef& lhs,
                        const ValueRef& rhs) {
  const BinaryOperatorInfo& binary = info(written.op);
  Call call{state, std::string(binary.symbol)};
  SUTURE_CAPTURE_VOID(require_operands(call, lhs, rhs));
  if (is_python_number(call, lhs) && is_python_number(call, rhs))
    return python_operator(call, binary.op, lhs, rhs);
  const bool writes = written.in_place && is_whole_array(call, lhs);
  if (writes) call.spelled += "=";
  if (binary.op == OpId::kMatmul)
    return writes ? Outcome(call.not_compiled("it writes a matrix product in place"))
                  : matrix_product(call, lhs, rhs);
  const Operation operation = operation_for(call, binary.op, lhs, rhs);
  if (writes) return numpy::elementwise_into(call, operation.op, operation.operands, lhs);
  return numpy::elementwise(call, operation.op, operation.operands);
}

Outcome array_unary_op(CaptureState& state, const UnaryOperatorInfo& op, const ValueRef& operand) {
  const Call call{state, std::string(1, op.symbol)};
  SUTURE_CAPTURE(id, call.operand(operand));
  return call.value(op.op, {id});
}

Outcome python_absolute(CaptureState& state, const ValueRef& operand) {
  const Call call{state, "abs"};
  SUTURE_CAPTURE(id, call.operand(operand));
  Attrs attrs;
  const bool is_float = call.type(id).value_class == ValueClass::kPyFloat;
  attrs.value_class = is_float ? ValueClass::kPyFloat : ValueClass::kPyInt;  // abs(True) is an int
  return call.value(OpId::kAbsolute, {id}, std::move(attrs));
}

Outcome array_compare(CaptureState& state, const ComparisonInfo& comparison, const ValueRef& lhs,
                      const ValueRef& rhs) {
  const Call call{state, std::string(comparison.symbol)};
  SUTURE_CAPTURE_VOID(require_operands(call, lhs, rhs));
  if (is_python_number(call, lhs) && is_python_number(call, rhs))
    return python_operator(call, comparison.op, lhs, rhs);
  return numpy::elementwise(call, comparison.op, {lhs, rhs});
}

}  // namespace suture
