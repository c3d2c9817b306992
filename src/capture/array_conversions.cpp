// Copies and conversions: astype, copy, asarray, array, the scalar types, fill; and what would leave NumPy
// (item, tolist).
#include <fmt/format.h>

#include "capture/array_adapters.h"
#include "cpython/numpy_api.h"

namespace suture::numpy {

namespace {

// asarray and array of an array or scalar: the same object where nothing has to change and no copy is asked
// for.
struct Conversion {
  std::optional<DType> dtype;
  Order order = Order::kKeep;
  bool copy = true;
};

Outcome converted(const Call& call, const ValueRef& value, const Conversion& to) {
  SUTURE_CAPTURE(id, call.operand(value));
  const TensorType type = call.type(id);
  const bool same_dtype = !to.dtype || *to.dtype == type.dtype;
  if (type.value_class == ValueClass::kArray && same_dtype && !to.copy) return value;
  if (to.order != Order::kKeep && type.rank() > 1) {
    const bool laid_out = is_contiguous(type, to.order == Order::kF ? Order::kF : Order::kC, call.env());
    if (!laid_out && !same_dtype) return call.not_compiled("a conversion that also changes the memory order");
  }
  Attrs attrs;
  attrs.order = to.order;
  if (type.scalar()) attrs.value_class = ValueClass::kArray;
  if (same_dtype) return call.value(OpId::kCopy, {id}, std::move(attrs));
  attrs.dtype = to.dtype;
  return call.value(OpId::kCast, {id}, std::move(attrs));
}

Captured<ValueRef> source_value(const Call& call, const ValueRef& value) {
  if (!value) return call.would_raise("the array is missing");
  if (items_of(call.state, value)) return call.not_compiled("an array made of a Python sequence");
  return value;
}

Outcome copied(const Call& call, const ValueRef& value, Order order) {
  SUTURE_CAPTURE(id, call.array_operand(value));
  Attrs attrs;
  attrs.order = order;
  return call.value(OpId::kCopy, {id}, std::move(attrs));
}

}  // namespace

Outcome copy_function(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"subok"}));
  SUTURE_CAPTURE(order, arguments.order(call, Order::kKeep));
  SUTURE_CAPTURE(value, source_value(call, arguments.get("a")));
  return converted(call, value, {.order = order});
}

Outcome copy_method(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(order, arguments.order(call, Order::kC));
  return copied(call, arguments.get("a"), order);
}

Outcome asarray(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"order", "device", "copy", "like"}));
  SUTURE_CAPTURE(dtype, arguments.dtype(call));
  SUTURE_CAPTURE(value, source_value(call, arguments.get("a")));
  return converted(call, value, {.dtype = dtype, .copy = false});
}

Outcome array(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"order", "subok", "ndmin", "like"}));
  SUTURE_CAPTURE(dtype, arguments.dtype(call));
  if (arguments.given("copy") && !arguments.get("copy")) return call.not_compiled("copy=None");
  SUTURE_CAPTURE(copy, arguments.flag(call, "copy", true));
  if (!copy) return call.not_compiled("copy=False");
  SUTURE_CAPTURE(value, source_value(call, arguments.get("object")));
  return converted(call, value, {.dtype = dtype});
}

Outcome ascontiguousarray(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"like"}));
  SUTURE_CAPTURE(dtype, arguments.dtype(call));
  SUTURE_CAPTURE(value, source_value(call, arguments.get("a")));
  SUTURE_CAPTURE(id, call.array_operand(value));
  const TensorType type = call.type(id);
  if (type.rank() == 0) return call.not_compiled("a 0-d array becomes one-dimensional");
  const bool laid_out = is_contiguous(type, Order::kC, call.env());
  return converted(call, value, {.dtype = dtype, .order = Order::kC, .copy = !laid_out});
}

Outcome astype(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"subok"}));
  SUTURE_CAPTURE(order, arguments.order(call, Order::kKeep));
  if (order != Order::kKeep) return call.not_compiled("an order other than 'K'");
  if (arguments.get("casting") && constant_text(arguments.get("casting")) != "unsafe")
    return call.not_compiled("a casting rule");
  SUTURE_CAPTURE(dtype, arguments.dtype(call));
  if (!dtype) return call.not_compiled("the dtype is missing or None");
  SUTURE_CAPTURE(copy, arguments.flag(call, "copy", true));
  const ValueRef value = arguments.get("a");
  SUTURE_CAPTURE(id, call.array_operand(value));
  if (call.type(id).dtype == *dtype) return copy ? copied(call, value, Order::kKeep) : Outcome(value);
  Attrs attrs;
  attrs.dtype = dtype;
  return call.value(OpId::kCast, {id}, std::move(attrs));
}

Outcome scalar_type_call(const Call& call, DType dtype, const CallArguments& args) {
  if (args.positional.size() != 1 || !args.keyword.empty())
    return call.not_compiled("it is not called with one number");
  const ValueRef& value = args.positional[0];
  if (as_constant(value)) {
    if (PyRef result = call_on_constants(call.state, call.callable, args))
      return call.state.constant(std::move(result));
    return call.would_raise("the conversion raises or warns");
  }
  SUTURE_CAPTURE(id, call.operand(value));
  const TensorType type = call.type(id);
  if (type.rank() != 0) return call.not_compiled("it converts a whole array");
  if (type.value_class == ValueClass::kNumpyScalar && type.dtype == dtype) return value;
  Attrs attrs;
  attrs.dtype = dtype;
  attrs.value_class = ValueClass::kNumpyScalar;
  return call.value(OpId::kCast, {id}, std::move(attrs));
}

Outcome fill(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  if (!arguments.get("value")) return call.would_raise("the value is missing or None");
  SUTURE_CAPTURE(target, call.array_operand(arguments.get("a")));
  SUTURE_CAPTURE(value, call.operand(arguments.get("value")));
  if (call.type(value).rank() != 0) return call.not_compiled("the value is an array");
  Call assignment = call;
  assignment.spelled = "=";
  SUTURE_CAPTURE_VOID(store(assignment, target, value, StoreCasting::kUnsafe));
  return call.state.none();
}

Outcome to_python(const Call& call, const AdapterArguments&) {
  return call.state.make_break(BreakReason::kScalarConversion, {"`" + call.spelled + "`"});
}

}  // namespace suture::numpy
