// Reductions as functions and as methods.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "capture/array_adapters.h"
#include "ops/promotion.h"

namespace suture::numpy {

namespace {

Captured<Attrs> reduction_attrs(const Call& call, const Arguments& arguments, const TensorType& type) {
  Attrs attrs;
  const ValueRef axis = arguments.get("axis");
  if (!axis) {
    attrs.all_axes = true;
    attrs.axes.resize(type.shape.size());
    std::iota(attrs.axes.begin(), attrs.axes.end(), 0);
  } else {
    SUTURE_CAPTURE(axes, axes_of(call, axis, type.rank()));
    if (axes.empty()) return call.not_compiled("an empty tuple of axes");
    std::sort(axes.begin(), axes.end());
    attrs.axes = std::move(axes);
  }
  SUTURE_CAPTURE(keepdims, arguments.flag(call, "keepdims", false));
  SUTURE_CAPTURE(dtype, arguments.dtype(call));
  attrs.keepdims = keepdims;
  attrs.dtype = dtype;
  return attrs;
}

Captured<double> degrees_of_freedom(const Call& call, const Arguments& arguments) {
  const ValueRef ddof = arguments.get("ddof"), correction = arguments.get("correction");
  if (!ddof && !correction) return 0.0;
  if (ddof && correction) return call.not_compiled("both ddof and correction are given");
  const ValueRef value = ddof ? ddof : correction;
  auto* constant = as_constant(value);
  if (constant && PyFloat_CheckExact(constant->object.get()))
    return PyFloat_AS_DOUBLE(constant->object.get());
  const auto number = integer_of(call.state, value);
  if (!number) return call.not_compiled("ddof is not a constant number");
  return static_cast<double>(call.env().specialize(*number));
}

// add.reduce takes its dtype from `out` when none is asked for, so only an `out` of the natural dtype is the
// same call.
Captured<ValueRef> reduction_out(const Call& call, const Arguments& arguments, const TensorType& type,
                                 std::optional<DType> dtype) {
  const ValueRef out = arguments.get("out");
  if (!out) return ValueRef();
  auto* array = as_array(out);
  const TypeRule rule = info(call.op).rule;
  if (!array || (rule != TypeRule::SumLike && rule != TypeRule::Keep))
    return call.not_compiled("its argument `out` is not handled");
  const auto types = resolve_types(call.op, std::vector<OperandType>{{type.dtype, type.value_class}}, dtype);
  if (!types.ok() || types->result != call.type(array->node).dtype)
    return call.not_compiled("out has another dtype than the result");
  return out;
}

Outcome store_result(const Call& call, NodeId result, const ValueRef& out) {
  const NodeId target = as_array(out)->node;
  if (call.type(target).rank() != call.type(result).rank())
    return call.would_raise("out has the wrong number of dimensions");
  for (size_t axis = 0; axis < call.type(target).shape.size(); ++axis) {
    if (!call.env().eq(call.type(target).shape[axis], call.type(result).shape[axis]))
      return call.would_raise("out has the wrong shape");
  }
  SUTURE_CAPTURE_VOID(store(call, target, result, StoreCasting::kSameKind));
  return out;
}

}  // namespace

Outcome reduction(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"initial", "where", "mean"}));
  const ValueRef array = arguments.get("a");
  if (!array) return call.would_raise("the array is missing");
  SUTURE_CAPTURE(value, call.array_operand(array));
  const TensorType type = call.type(value);
  SUTURE_CAPTURE(attrs, reduction_attrs(call, arguments, type));
  if (type.rank() == 0 && attrs.dtype && type.value_class == ValueClass::kArray) attrs.all_axes = true;
  const bool averages = info(call.op).rule == TypeRule::Mean;
  if (averages && attrs.dtype && !is_float(*attrs.dtype))
    return call.not_compiled("an integer dtype for an average");
  if (call.op == OpId::kVar || call.op == OpId::kStd) {
    SUTURE_CAPTURE(ddof, degrees_of_freedom(call, arguments));
    attrs.ddof = ddof;
  }
  SUTURE_CAPTURE(out, reduction_out(call, arguments, type, attrs.dtype));
  SUTURE_CAPTURE(result, call.node(call.op, {value}, std::move(attrs)));
  return out ? store_result(call, result, out) : Outcome(array_value(result));
}

Outcome arg_reduction(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"out"}));
  const ValueRef array = arguments.get("a");
  if (!array) return call.would_raise("the array is missing");
  if (items_of(call.state, arguments.get("axis"))) return call.would_raise("the axis must be an int");
  SUTURE_CAPTURE(value, call.array_operand(array));
  SUTURE_CAPTURE(attrs, reduction_attrs(call, arguments, call.type(value)));
  return call.value(call.op, {value}, std::move(attrs));
}

}  // namespace suture::numpy
