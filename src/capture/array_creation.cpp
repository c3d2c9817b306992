// zeros, ones, empty, full, their *_like forms, arange and linspace.
#include <fmt/format.h>

#include <cmath>

#include "capture/array_adapters.h"
#include "ops/promotion.h"

namespace suture::numpy {

namespace {

struct Layout {
  std::vector<SymInt> dims, strides;
  Order order = Order::kC;
};

Outcome made(const Call& call, std::optional<NodeId> fill, DType dtype, Layout layout) {
  Attrs attrs;
  attrs.dims = std::move(layout.dims);
  attrs.strides = std::move(layout.strides);
  attrs.order = layout.order;
  attrs.dtype = dtype;
  if (fill) return call.value(OpId::kFull, {*fill}, std::move(attrs));
  return call.value(OpId::kEmpty, {}, std::move(attrs));
}

// The value that zeros or ones fill with, in the dtype of the array; empty for empty().
std::optional<NodeId> standard_fill(const Call& call, DType dtype) {
  if (call.op == OpId::kEmpty) return std::nullopt;
  const bool one = call.name == "ones" || call.name == "ones_like";
  Scalar value = one ? int64_t{1} : int64_t{0};
  if (is_bool(dtype)) value = one;
  if (is_unsigned(dtype)) value = one ? uint64_t{1} : uint64_t{0};
  if (is_float(dtype)) value = one ? 1.0 : 0.0;
  return call.state.builder.constant(value, ValueClass::kNumpyScalar, dtype);
}

Captured<Layout> new_layout(const Call& call, const Arguments& arguments) {
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"device", "like"}));
  if (!arguments.get("shape")) return call.would_raise("the shape is missing");
  Layout layout;
  SUTURE_CAPTURE(dims, sizes_of(call, arguments.get("shape"), "the shape"));
  SUTURE_CAPTURE(order, arguments.order(call, Order::kC));
  layout.dims = std::move(dims);
  layout.order = order == Order::kF ? Order::kF : Order::kC;
  return layout;
}

struct Prototype {
  TensorType type;
  Layout layout;
};

Captured<Prototype> prototype(const Call& call, const Arguments& arguments) {
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"device", "subok", "shape"}));
  const ValueRef array = arguments.get("a");
  if (!array) return call.would_raise("the array is missing");
  SUTURE_CAPTURE(id, call.array_operand(array));
  SUTURE_CAPTURE(order, arguments.order(call, Order::kKeep));
  Prototype out;
  out.type = call.type(id);
  out.layout.dims = out.type.shape;
  out.layout.strides = like_strides(out.type, order, call.env());
  return out;
}

// A fill value as its own array would have it: np.full(3, 2) is int64, np.full(3, True) bool.
Captured<NodeId> fill_value(const Call& call, const Arguments& arguments, std::optional<DType> dtype) {
  const ValueRef value = arguments.get("fill_value");
  if (!value) return call.not_compiled("the fill value is missing or None");
  SUTURE_CAPTURE(id, call.operand(value));
  if (call.type(id).rank() != 0) return call.not_compiled("the fill value is an array");
  const bool python_float = call.type(id).value_class == ValueClass::kPyFloat;
  if (!dtype || !is_integer(*dtype) || !python_float) return id;
  const Node& node = call.state.graph.node(id);
  const double number = node.op == OpId::kConstant ? std::get<double>(*node.attrs.scalar) : NAN;
  if (!(number > -9.2e18 && number < 9.2e18))
    return call.not_compiled("a Python float fills an integer array");
  return call.state.builder.constant(static_cast<int64_t>(number), ValueClass::kPyInt, DType::kInt64);
}

}  // namespace

Outcome filled(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(layout, new_layout(call, arguments));
  SUTURE_CAPTURE(dtype, arguments.dtype(call));
  const DType element = dtype.value_or(DType::kFloat64);
  return made(call, standard_fill(call, element), element, std::move(layout));
}

Outcome full(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(layout, new_layout(call, arguments));
  SUTURE_CAPTURE(dtype, arguments.dtype(call));
  SUTURE_CAPTURE(fill, fill_value(call, arguments, dtype));
  const DType element = dtype.value_or(call.type(fill).dtype);
  return made(call, fill, element, std::move(layout));
}

Outcome filled_like(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(like, prototype(call, arguments));
  SUTURE_CAPTURE(dtype, arguments.dtype(call));
  const DType element = dtype.value_or(like.type.dtype);
  return made(call, standard_fill(call, element), element, std::move(like.layout));
}

Outcome full_like(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(like, prototype(call, arguments));
  SUTURE_CAPTURE(dtype, arguments.dtype(call));
  const DType element = dtype.value_or(like.type.dtype);
  SUTURE_CAPTURE(fill, fill_value(call, arguments, element));
  return made(call, fill, element, std::move(like.layout));
}

// --- arange ------------------------------------------------------------------------------------------------
namespace {

struct Range {
  ValueRef start, stop, step;
};

Range range_of(const Arguments& arguments, const ValueRef& zero, const ValueRef& one) {
  Range range{arguments.get("start"), arguments.get("stop"), arguments.get("step")};
  if (!range.stop) {
    range.stop = range.start;
    range.start = zero;
  }
  if (!range.start) range.start = zero;
  if (!range.step) range.step = one;
  return range;
}

Outcome counted(const Call& call, const SymInt& length, NodeId start, NodeId step, DType dtype) {
  Attrs attrs;
  attrs.dims = {length};
  attrs.dtype = dtype;
  return call.value(OpId::kArange, {start, step}, std::move(attrs));
}

// A Python int node: constant or symbol.
NodeId int_node(const Call& call, const SymInt& value) {
  if (auto known = value.constant())
    return call.state.builder.constant(*known, ValueClass::kPyInt, DType::kInt64);
  return call.state.builder.symbol_value(value);
}

SymInt ceil_divide(const SymInt& distance, int64_t step) { return -floordiv(-distance, SymInt(step)); }

Outcome integer_range(const Call& call, const SymInt& start, const SymInt& stop, const SymInt& stride,
                      std::optional<DType> dtype) {
  const int64_t step = call.env().specialize(stride);
  if (step == 0) return call.would_raise("the step is zero");
  const DType element = dtype.value_or(DType::kInt64);
  if (is_float(element) && !start.is_constant())
    return call.not_compiled("a float range from a symbolic start");
  const bool runs = step > 0 ? call.env().lt(start, stop) : call.env().lt(stop, start);
  const SymInt length =
      runs ? (step > 0 ? ceil_divide(stop - start, step) : ceil_divide(start - stop, -step)) : SymInt(0);
  return counted(call, length, int_node(call, start), int_node(call, SymInt(step)), element);
}

std::optional<double> number_of(const Call& call, const ValueRef& value) {
  auto* constant = as_constant(value);
  if (constant && PyFloat_CheckExact(constant->object.get()))
    return PyFloat_AS_DOUBLE(constant->object.get());
  const auto whole = call.state.as_int(value);
  if (!whole || !whole->is_constant()) return std::nullopt;
  return static_cast<double>(*whole->constant());
}

// NumPy stores start and start + step in the array and continues with their difference; only where that
// difference is the step itself do the elements equal start + i * step.
template <class T>
bool step_survives(double start, double step) {
  const T first = static_cast<T>(start);
  const T second = static_cast<T>(start + step);
  return static_cast<T>(second - first) == static_cast<T>(step) &&
         static_cast<T>(first + static_cast<T>(step)) == second;
}

Outcome float_range(const Call& call, const Range& range, std::optional<DType> dtype) {
  const auto start = number_of(call, range.start), stop = number_of(call, range.stop),
             step = number_of(call, range.step);
  if (!start || !stop || !step) return call.not_compiled("a float range whose ends are not constants");
  const DType element = dtype.value_or(DType::kFloat64);
  if (!is_float(element)) return call.not_compiled("an integer range with float ends");
  const double length = std::ceil((*stop - *start) / *step);
  if (!(length < 1e15) || *step == 0) return call.would_raise("the range is too long");
  const bool exact =
      element == DType::kFloat32 ? step_survives<float>(*start, *step) : step_survives<double>(*start, *step);
  if (!exact && length > 1) return call.not_compiled("a range whose step is not exact in its dtype");
  const NodeId first = call.state.builder.constant(*start, ValueClass::kPyFloat, DType::kFloat64);
  const NodeId stride = call.state.builder.constant(*step, ValueClass::kPyFloat, DType::kFloat64);
  return counted(call, SymInt(length > 0 ? static_cast<int64_t>(length) : 0), first, stride, element);
}

}  // namespace

Outcome arange(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"device", "like"}));
  SUTURE_CAPTURE(dtype, arguments.dtype(call));
  if (!arguments.get("start") && !arguments.get("stop")) return call.would_raise("the end is missing");
  const Range range = range_of(arguments, call.state.python_int(0), call.state.python_int(1));
  const auto start = call.state.as_int(range.start), stop = call.state.as_int(range.stop),
             step = call.state.as_int(range.step);
  if (start && stop && step) return integer_range(call, *start, *stop, *step, dtype);
  return float_range(call, range, dtype);
}

Outcome linspace(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"retstep", "axis", "device"}));
  if (!arguments.get("start") || !arguments.get("stop")) return call.would_raise("an end is missing");
  SUTURE_CAPTURE(start, call.operand(arguments.get("start")));
  SUTURE_CAPTURE(stop, call.operand(arguments.get("stop")));
  for (NodeId end : {start, stop}) {
    if (call.type(end).rank() != 0) return call.not_compiled("an end is an array");
    if (call.type(end).dtype == DType::kFloat32) return call.not_compiled("an end is float32");
  }
  SUTURE_CAPTURE(dtype, arguments.dtype(call));
  SUTURE_CAPTURE(endpoint, arguments.flag(call, "endpoint", true));
  std::optional<SymInt> count = SymInt(50);
  if (arguments.get("num")) count = integer_of(call.state, arguments.get("num"));
  if (!count) return call.not_compiled("the number of samples is not an int");
  // The last sample is computed apart, so the code depends on there being two.
  if (!count->is_constant() && !call.env().le(SymInt(2), *count))
    count = SymInt(call.env().specialize(*count));
  Attrs attrs;
  attrs.dims = {*count};
  attrs.dtype = dtype.value_or(DType::kFloat64);
  attrs.endpoint = endpoint;
  // NumPy reshapes the arange it starts from and works in place, as far as there is a step; other dtypes are
  // copies.
  const auto samples = count->constant();
  const bool has_step = !samples || *samples > (endpoint ? 1 : 0);
  const bool is_view = has_step && *attrs.dtype == DType::kFloat64;
  SUTURE_CAPTURE(line, call.node(OpId::kLinspace, {start, stop}, std::move(attrs)));
  if (!is_view) return array_value(line);
  Attrs same_shape;
  same_shape.dims = {*count};
  same_shape.order = Order::kC;
  return call.value(OpId::kReshape, {line}, std::move(same_shape));
}

}  // namespace suture::numpy
