// Functions of module `math` with an operand that is known only at run time.
//
// Python numbers stay Python numbers: the kernel calls what CPython calls, and where math raises,
// passes/decompose_python_numbers.cpp has the call run again in Python. An array or a NumPy scalar would become a
// Python number on the way in (`__float__`), which is a break like float(x).
#include <fmt/format.h>

#include <algorithm>
#include <numbers>

#include "capture/array_adapters.h"
#include "capture/numpy_calls.h"
#include "capture/operations.h"
#include "ops/python_math.h"

namespace suture {
namespace {

Outcome scaled(CaptureState& state, const ValueRef& value, double factor) {
  return binary_op(state, BinaryOperator::kMultiply, value,
                   state.constant(PyRef::steal(PyFloat_FromDouble(factor))));
}

// An int is its own floor, and large ones have no float of the same value.
bool returns_operand(const PythonMath& function, const ValueRef& operand) {
  return function.result == ValueClass::kPyInt && as_sym_int(operand);
}

Outcome captured_call(CaptureState& state, const PythonMath& function,
                      const std::vector<ValueRef>& arguments) {
  if (returns_operand(function, arguments[0])) return arguments[0];
  const numpy::Call call{state, fmt::format("math.{}", function.name)};
  std::vector<NodeId> operands;
  for (const ValueRef& argument : arguments) {
    SUTURE_CAPTURE(operand, call.operand(argument));
    operands.push_back(operand);
  }
  Attrs attrs;
  attrs.value_class = function.result;
  return call.value(function.op, std::move(operands), std::move(attrs));
}

}  // namespace

Outcome math_call(CaptureState& state, std::string_view name, const CallArguments& args) {
  const std::vector<ValueRef>& operands = args.positional;
  bool at_run_time = false, numbers = args.keyword.empty();
  for (const ValueRef& operand : operands) {
    at_run_time |= as_array(operand) || as_sym_int(operand);
    numbers &= is_python_number(state, operand);
    if (as_array(operand) && !is_python_number(state, operand))
      return state.make_break(
          BreakReason::kScalarConversion,
          {state.describe_call(fmt::format("math.{}", name), operand, operands.size() > 1)});
  }
  if (!at_run_time) return ValueRef();
  if (numbers && operands.size() == 1) {
    if (name == "radians") return scaled(state, operands[0], std::numbers::pi / 180.0);
    if (name == "degrees") return scaled(state, operands[0], 180.0 / std::numbers::pi);
  }
  const PythonMath* function = python_math(name);
  if (numbers && name == "log" && operands.size() == 2) {
    SUTURE_CAPTURE(power, captured_call(state, *function, {operands[0]}));
    SUTURE_CAPTURE(base, captured_call(state, *function, {operands[1]}));
    return binary_op(state, BinaryOperator::kTrueDivide, power, base);
  }
  if (function && numbers && operands.size() == static_cast<size_t>(function->arity))
    return captured_call(state, *function, operands);
  const bool all_sizes =
      std::ranges::none_of(operands, [](const ValueRef& value) { return as_array(value); });
  if (all_sizes) return ValueRef();  // their values are fixed, and the function called during capture
  return state.make_break(
      BreakReason::kPythonScalarMath,
      {fmt::format("`math.{}` with a Python number that is known only at run time", name)});
}

}  // namespace suture
