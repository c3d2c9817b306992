// Elementwise functions: ufuncs, where, clip, round; matmul and dot; questions about dtypes.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "capture/array_adapters.h"
#include "cpython/numpy_api.h"
#include "ops/promotion.h"

namespace suture::numpy {

namespace {

const TensorType& type_at(const Call& call, const std::vector<NodeId>& operands, size_t i) {
  return call.type(operands[i]);
}

// Integers to negative powers: NumPy raises, and so does the kernel (its status word has a bit for it). What is known here is
// left to NumPy at once; between Python numbers the result would be a float.
Captured<Unit> check_integer_exponent(const Call& call, NodeId exponent) {
  const Node& node = call.state.graph.node(exponent);
  if (!is_signed(node.type.dtype)) return Unit{};
  if (node.op == OpId::kConstant) {
    const auto* number = std::get_if<int64_t>(&*node.attrs.scalar);
    if (number && *number >= 0) return Unit{};
    return call.would_raise("integers to negative integer powers");
  }
  if (node.op == OpId::kSymbolValue && call.env().le(SymInt(0), SymInt(node.attrs.sym))) return Unit{};
  if (!is_weak(node.type.value_class)) return Unit{};
  return call.not_compiled("an integer power whose exponent may be negative");
}

// NumPy's float power takes other loops when the exponent does not move along the inner loop
// (passes/decompose_power.cpp). For a scalar exponent that is known here; for an array it depends on strides
// that broadcasting leaves at zero.
bool exponent_moves_everywhere(const Call& call, NodeId base, NodeId exponent) {
  const TensorType& x = call.type(base);
  const TensorType& y = call.type(exponent);
  if (y.rank() == 0) return true;
  if (y.rank() < x.rank()) return false;
  bool single = true;
  for (int axis = 0; axis < y.rank(); ++axis) {
    const SymInt& size = y.shape[static_cast<size_t>(axis)];
    single &= size == SymInt(1);
    if (size == SymInt(1) && axis >= y.rank() - x.rank() &&
        !(x.shape[static_cast<size_t>(axis - (y.rank() - x.rank()))] == SymInt(1))) {
      return false;
    }
    if (!(size == SymInt(1)) && y.strides[static_cast<size_t>(axis)] == SymInt(0)) return false;
  }
  return !single;
}

Captured<Unit> check_power(const Call& call, const std::vector<NodeId>& operands) {
  const auto types = resolve_types(
      OpId::kPower,
      std::vector<OperandType>{{type_at(call, operands, 0).dtype, type_at(call, operands, 0).value_class},
                               {type_at(call, operands, 1).dtype, type_at(call, operands, 1).value_class}},
      std::nullopt);
  if (!types.ok()) return Unit{};  // the builder says why
  if (!is_float(types->result)) return check_integer_exponent(call, operands[1]);
  if (!exponent_moves_everywhere(call, operands[0], operands[1]))
    return call.not_compiled("a power with a broadcast exponent");
  return Unit{};
}

Captured<NodeId> elementwise_node(const Call& call, OpId op, const std::vector<ValueRef>& values) {
  std::vector<NodeId> operands;
  for (const ValueRef& value : values) {
    SUTURE_CAPTURE(id, call.operand(value));
    operands.push_back(id);
  }
  if (op == OpId::kPower) SUTURE_CAPTURE_VOID(check_power(call, operands));
  return call.node(op, std::move(operands));
}

bool all_constant(const std::vector<ValueRef>& values) {
  for (const ValueRef& value : values) {
    if (!as_constant(value)) return false;
  }
  return true;
}

// out=x or out=(x,)
Captured<ValueRef> out_argument(const Call& call, const Arguments& arguments) {
  const ValueRef out = arguments.get("out");
  if (!out) return ValueRef();
  ValueRef array = out;
  if (auto items = items_of(call.state, out)) {
    if (items->size() != 1) return call.would_raise("out must be one array");
    array = (*items)[0];
    if (is_none(array)) return ValueRef();
  }
  auto* known = as_array(array);
  if (!known || call.type(known->node).value_class != ValueClass::kArray)
    return call.not_compiled("out is not an array");
  return array;
}

}  // namespace

bool is_array_like(const Call& call, const ValueRef& value) {
  if (auto* array = as_array(value)) return !is_weak(call.type(array->node).value_class);
  auto* constant = as_constant(value);
  return constant && numpy_scalar_dtype(constant->object.get());
}

Outcome elementwise(const Call& call, OpId op, const std::vector<ValueRef>& operands) {
  SUTURE_CAPTURE(id, elementwise_node(call, op, operands));
  return array_value(id);
}

Outcome elementwise_into(const Call& call, OpId op, const std::vector<ValueRef>& operands,
                         const ValueRef& out) {
  SUTURE_CAPTURE(id, elementwise_node(call, op, operands));
  SUTURE_CAPTURE_VOID(store(call, as_array(out)->node, id, StoreCasting::kSameKind));
  return out;
}

Outcome ufunc(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(
      arguments.require_default(call, {"where", "casting", "order", "dtype", "subok", "signature"}));
  SUTURE_CAPTURE(out, out_argument(call, arguments));
  std::vector<ValueRef> operands{arguments.get("x1")};
  if (info(call.op).arity == 2) operands.push_back(arguments.get("x2"));
  for (const ValueRef& operand : operands) {
    if (!operand) return call.would_raise("an operand is missing or None");
  }
  if (out) return elementwise_into(call, call.op, operands, out);
  if (all_constant(operands)) {
    if (PyRef result = call_on_constants(call.state, call.callable, args.raw))
      return call.state.constant(std::move(result));
  }
  return elementwise(call, call.op, operands);
}

Outcome where(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  const ValueRef condition = arguments.get("condition"), x = arguments.get("x"), y = arguments.get("y");
  if (!arguments.given("x") && !arguments.given("y")) {
    return call.state.make_break(BreakReason::kDataDependentShape, {"`np.where` with one argument"});
  }
  if (!condition || !x || !y) return call.not_compiled("an argument is missing or None");
  SUTURE_CAPTURE(chooser, call.operand(condition));
  SUTURE_CAPTURE(yes, call.operand(x));
  SUTURE_CAPTURE(no, call.operand(y));
  return call.value(OpId::kWhere, {chooser, yes, no});
}

// --- clip --------------------------------------------------------------------------------------------------
namespace {

struct Bounds {
  ValueRef low, high;
};

Captured<Bounds> bounds_of(const Call& call, const Arguments& arguments) {
  const bool old_names = arguments.given("a_min") || arguments.given("a_max");
  const bool new_names = arguments.given("min") || arguments.given("max");
  if (old_names && new_names) return call.would_raise("both a_min/a_max and min/max are given");
  if (old_names && !(arguments.given("a_min") && arguments.given("a_max")))
    return call.would_raise("a bound is missing");
  if (old_names) return Bounds{arguments.get("a_min"), arguments.get("a_max")};
  return Bounds{arguments.get("min"), arguments.get("max")};
}

// numpy/_core/_methods.py drops Python int bounds that cannot bind before promotion sees them.
bool binds(const Call& call, DType dtype, const ValueRef& bound, bool is_low) {
  if (!bound || !is_integer(dtype)) return static_cast<bool>(bound);
  auto* constant = as_constant(bound);
  if (!constant || !PyLong_CheckExact(constant->object.get())) return true;
  const auto number = integer_of(call.state, bound);
  if (!number) return true;  // beyond int64: the operand reader refuses it
  const int64_t value = *number->constant();
  if (is_low) {
    const int64_t lowest =
        is_unsigned(dtype) ? 0 : std::numeric_limits<int64_t>::min() >> (64 - 8 * itemsize(dtype));
    return value > lowest;
  }
  if (dtype == DType::kUInt64) return true;
  const int64_t highest =
      std::numeric_limits<int64_t>::max() >> (64 - 8 * itemsize(dtype) - (is_unsigned(dtype) ? 1 : 0));
  return value < highest;
}

}  // namespace

Outcome clip(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(
      arguments.require_default(call, {"out", "where", "casting", "order", "dtype", "subok"}));
  const ValueRef array = arguments.get("a");
  if (!array) return call.would_raise("the array is missing");
  SUTURE_CAPTURE(value, call.array_operand(array));
  SUTURE_CAPTURE(bounds, bounds_of(call, arguments));
  const DType dtype = call.type(value).dtype;
  Attrs attrs;
  attrs.has_min = binds(call, dtype, bounds.low, true);
  attrs.has_max = binds(call, dtype, bounds.high, false);
  std::vector<NodeId> operands{value};
  if (attrs.has_min) {
    SUTURE_CAPTURE(low, call.operand(bounds.low));
    operands.push_back(low);
  }
  if (attrs.has_max) {
    SUTURE_CAPTURE(high, call.operand(bounds.high));
    operands.push_back(high);
  }
  return call.value(OpId::kClip, std::move(operands), std::move(attrs));
}

Outcome round(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"out"}));
  const ValueRef array = arguments.get("a");
  if (!array) return call.would_raise("the array is missing");
  SUTURE_CAPTURE(value, call.array_operand(array));
  SUTURE_CAPTURE(decimals, arguments.integer(call, "decimals", 0));
  if (decimals < -300 || decimals > 300) return call.not_compiled("decimals is out of the range of float64");
  const TensorType type = call.type(value);
  const bool scales = decimals < 0 || (decimals > 0 && is_float(type.dtype));
  // NumPy allocates the scaled result in C or Fortran order, not in the order of the operand.
  if (scales && type.rank() > 1 && !is_contiguous(type, Order::kC, call.env()) &&
      !is_contiguous(type, Order::kF, call.env())) {
    return call.not_compiled("rounding to decimals of an array that is not contiguous");
  }
  Attrs attrs;
  attrs.decimals = static_cast<int>(decimals);
  return call.value(OpId::kRound, {value}, std::move(attrs));
}

// --- matmul and dot ----------------------------------------------------------------------------------------
Outcome contraction(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(
      call, {"out", "casting", "order", "dtype", "subok", "signature", "axes", "axis"}));
  const bool is_dot = call.op == OpId::kDot;
  const ValueRef left = arguments.get(is_dot ? "a" : "x1"), right = arguments.get(is_dot ? "b" : "x2");
  if (!left || !right) return call.would_raise("an operand is missing or None");
  SUTURE_CAPTURE(a, call.array_operand(left));
  SUTURE_CAPTURE(b, call.array_operand(right));
  if (call.type(a).rank() == 0 || call.type(b).rank() == 0)
    return call.not_compiled("an operand is a scalar");
  return call.value(call.op, {a, b});
}

Outcome on_constants(const Call& call, const AdapterArguments& args) {
  PyRef result = call_on_constants(call.state, call.callable, args.raw);
  if (!result) return call.not_compiled("its arguments are not all constants, or it raises");
  return call.state.constant(std::move(result));
}

}  // namespace suture::numpy
