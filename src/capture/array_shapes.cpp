// Views and questions about shapes. Checks of sizes are the builder's (graph/infer_view.cpp); here axes and
// dims are read.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "capture/array_adapters.h"

namespace suture::numpy {

namespace {

Captured<NodeId> viewed_array(const Call& call, const ValueRef& value) {
  if (!value) return call.would_raise("the array is missing");
  SUTURE_CAPTURE(id, call.array_operand(value));
  if (call.type(id).scalar()) return call.not_compiled("the shape of a scalar is changed");
  return id;
}

Attrs in_c_order(std::vector<SymInt> dims = {}) {
  Attrs attrs;
  attrs.dims = std::move(dims);
  attrs.order = Order::kC;
  return attrs;
}

// `dims` with a -1 replaced by what is left of the size. Sizes that do not fit are for the builder to refuse.
std::vector<SymInt> resolved_dims(const TensorType& type, std::vector<SymInt> dims) {
  const auto unknown = std::find(dims.begin(), dims.end(), SymInt(-1));
  SymInt others = 1;
  for (auto dim = dims.begin(); dim != dims.end(); ++dim) {
    if (dim != unknown) others = others * *dim;
  }
  if (unknown != dims.end() && !(others == SymInt(0))) *unknown = floordiv(element_count(type), others);
  return dims;
}

// Where no view can have the new shape, NumPy copies first and returns a view of the copy.
Outcome reshaped(const Call& call, NodeId array, const std::vector<SymInt>& written) {
  const TensorType type = call.type(array);
  const std::vector<SymInt> dims = resolved_dims(type, written);
  const bool fits = call.env().eq(product(dims), element_count(type));
  if (fits && reshape_copies(type, dims, call.env())) {
    SUTURE_CAPTURE(copy, call.node(OpId::kCopy, {array}, in_c_order()));
    array = copy;
  }
  return call.value(OpId::kReshape, {array},
                    in_c_order(written));  // the builder also asks whether -1 was written
}

// flatten() and the copying ravel() own their memory, so the copy cannot be reshaped afterwards: the values
// are stored through a view that gives the new flat array the shape of the old one.
Outcome copied_flat(const Call& call, NodeId array) {
  const TensorType type = call.type(array);
  if (type.rank() == 1) return call.value(OpId::kCopy, {array}, in_c_order());
  Attrs memory = in_c_order({element_count(type)});
  memory.dtype = type.dtype;
  SUTURE_CAPTURE(flat, call.node(OpId::kEmpty, {}, std::move(memory)));
  SUTURE_CAPTURE(view, call.node(OpId::kReshape, {flat}, in_c_order(type.shape)));
  Call assignment = call;
  assignment.spelled = "=";
  SUTURE_CAPTURE_VOID(store(assignment, view, array, StoreCasting::kUnsafe));
  return array_value(flat);
}

Captured<int> axis_of(const Call& call, const Arguments& arguments, std::string_view name, int rank) {
  const ValueRef value = arguments.get(name);
  if (!value) return call.would_raise(fmt::format("`{}` is missing", name));
  if (items_of(call.state, value)) return call.not_compiled(fmt::format("`{}` is a sequence", name));
  SUTURE_CAPTURE(axes, axes_of(call, value, rank));
  return axes[0];
}

// Method arguments written as x.m(2, 3) or x.m((2, 3)): the part after the array.
std::vector<ValueRef> variable_arguments(const Call& call, const AdapterArguments& args) {
  std::vector<ValueRef> rest(args.raw.positional.begin() + 1, args.raw.positional.end());
  if (rest.size() == 1) {
    if (auto items = items_of(call.state, rest[0])) return *items;
  }
  return rest;
}

Captured<std::vector<SymInt>> int_arguments(const Call& call, const AdapterArguments& args) {
  std::vector<SymInt> numbers;
  for (const ValueRef& value : variable_arguments(call, args)) {
    const auto number = integer_of(call.state, value);
    if (!number) return call.not_compiled(fmt::format("{} is not an int", call.state.describe(value)));
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

std::vector<int> reversed_axes(int rank) {
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.rbegin(), axes.rend(), 0);
  return axes;
}

Outcome permuted(const Call& call, NodeId array, std::vector<int> axes) {
  Attrs attrs;
  attrs.axes = std::move(axes);
  return call.value(OpId::kTranspose, {array}, std::move(attrs));
}

SymInt element_count(const TensorType& type) { return product(type.shape); }

ValueRef shape_tuple(CaptureState& state, const TensorType& type) {
  std::vector<ValueRef> items;
  for (const SymInt& size : type.shape) items.push_back(state.python_int(size));
  return std::make_shared<SequenceValue>(ValueKind::kTuple, std::move(items));
}

// --- reshape, ravel, flatten -------------------------------------------------------------------------------
Outcome reshape(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"copy"}));
  SUTURE_CAPTURE(order, arguments.order(call, Order::kC));
  if (order != Order::kC) return call.not_compiled("an order other than 'C'");
  SUTURE_CAPTURE(array, viewed_array(call, arguments.get("a")));
  const ValueRef shape = arguments.get("shape");
  if (!shape) return call.would_raise("the shape is missing");
  SUTURE_CAPTURE(dims, sizes_of(call, shape, "the shape"));
  return reshaped(call, array, dims);
}

Outcome reshape_method(const Call& call, const AdapterArguments& args) {
  for (const auto& [name, value] : args.raw.keyword) {
    if (name != "order" || constant_text(value) != "C")
      return call.not_compiled(fmt::format("its argument `{}` is not handled", name));
  }
  SUTURE_CAPTURE(array, viewed_array(call, args.raw.positional[0]));
  SUTURE_CAPTURE(dims, int_arguments(call, args));
  return reshaped(call, array, dims);
}

// ravel gives a view of a contiguous array and otherwise a contiguous copy, also where reshape(-1) would
// still find a view.
Outcome ravel(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(order, arguments.order(call, Order::kC));
  if (order != Order::kC) return call.not_compiled("an order other than 'C'");
  SUTURE_CAPTURE(array, viewed_array(call, arguments.get("a")));
  if (is_contiguous(call.type(array), Order::kC, call.env())) return reshaped(call, array, {SymInt(-1)});
  return copied_flat(call, array);
}

Outcome flatten(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(order, arguments.order(call, Order::kC));
  if (order != Order::kC) return call.not_compiled("an order other than 'C'");
  SUTURE_CAPTURE(array, viewed_array(call, arguments.get("a")));
  return copied_flat(call, array);
}

// --- permutations ------------------------------------------------------------------------------------------
Outcome transpose(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(array, viewed_array(call, arguments.get("a")));
  const int rank = call.type(array).rank();
  const ValueRef written = arguments.get("axes");
  if (!written) return permuted(call, array, reversed_axes(rank));
  SUTURE_CAPTURE(axes, axes_of(call, written, rank));
  return permuted(call, array, std::move(axes));
}

Outcome transpose_method(const Call& call, const AdapterArguments& args) {
  if (!args.raw.keyword.empty()) return call.would_raise("transpose() takes no keyword arguments");
  SUTURE_CAPTURE(array, viewed_array(call, args.raw.positional[0]));
  const int rank = call.type(array).rank();
  const bool all =
      args.raw.positional.size() == 1 || (args.raw.positional.size() == 2 && is_none(args.raw.positional[1]));
  if (all) return permuted(call, array, reversed_axes(rank));
  auto axes = std::make_shared<SequenceValue>(ValueKind::kTuple, variable_arguments(call, args));
  SUTURE_CAPTURE(normalised, axes_of(call, axes, rank));
  return permuted(call, array, std::move(normalised));
}

Outcome matrix_transpose(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(array, viewed_array(call, arguments.get("x")));
  const int rank = call.type(array).rank();
  if (rank < 2) return call.would_raise("the array has fewer than two axes");
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return permuted(call, array, std::move(axes));
}

Outcome swapaxes(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(array, viewed_array(call, arguments.get("a")));
  const int rank = call.type(array).rank();
  SUTURE_CAPTURE(first, axis_of(call, arguments, "axis1", rank));
  SUTURE_CAPTURE(second, axis_of(call, arguments, "axis2", rank));
  std::vector<int> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<size_t>(first)], axes[static_cast<size_t>(second)]);
  return permuted(call, array, std::move(axes));
}

Outcome moveaxis(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(array, viewed_array(call, arguments.get("a")));
  const int rank = call.type(array).rank();
  if (!arguments.get("source") || !arguments.get("destination"))
    return call.would_raise("source or destination is missing");
  SUTURE_CAPTURE(from, axes_of(call, arguments.get("source"), rank));
  SUTURE_CAPTURE(to, axes_of(call, arguments.get("destination"), rank));
  if (from.size() != to.size()) return call.would_raise("source and destination differ in length");
  std::vector<int> order;
  for (int axis = 0; axis < rank; ++axis) {
    if (std::find(from.begin(), from.end(), axis) == from.end()) order.push_back(axis);
  }
  std::vector<std::pair<int, int>> moves;
  for (size_t i = 0; i < from.size(); ++i) moves.emplace_back(to[i], from[i]);
  std::sort(moves.begin(), moves.end());
  for (const auto& [destination, source] : moves) order.insert(order.begin() + destination, source);
  return permuted(call, array, std::move(order));
}

// --- unit axes and broadcasting ----------------------------------------------------------------------------
Outcome expand_dims(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(array, viewed_array(call, arguments.get("a")));
  const ValueRef axis = arguments.get("axis");
  if (!axis) return call.would_raise("the axis is missing");
  SUTURE_CAPTURE(written, sizes_of(call, axis, "the axis"));
  Attrs attrs;
  SUTURE_CAPTURE(axes, axes_of(call, axis, call.type(array).rank() + static_cast<int>(written.size())));
  attrs.axes = std::move(axes);
  return call.value(OpId::kExpandDims, {array}, std::move(attrs));
}

Outcome squeeze(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(array, viewed_array(call, arguments.get("a")));
  const TensorType type = call.type(array);
  Attrs attrs;
  if (const ValueRef axis = arguments.get("axis")) {
    SUTURE_CAPTURE(axes, axes_of(call, axis, type.rank()));
    if (axes.empty()) return call.not_compiled("an empty tuple of axes");
    attrs.axes = std::move(axes);
  } else {
    // Without unit axes NumPy returns the array itself.
    if (std::find(type.shape.begin(), type.shape.end(), SymInt(1)) == type.shape.end())
      return arguments.get("a");
    attrs.all_axes = true;
  }
  return call.value(OpId::kSqueeze, {array}, std::move(attrs));
}

Outcome broadcast_to(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE_VOID(arguments.require_default(call, {"subok"}));
  SUTURE_CAPTURE(array, viewed_array(call, arguments.get("array")));
  if (!arguments.get("shape")) return call.would_raise("the shape is missing");
  SUTURE_CAPTURE(dims, sizes_of(call, arguments.get("shape"), "the shape"));
  Attrs attrs;
  attrs.dims = std::move(dims);
  return call.value(OpId::kBroadcastTo, {array}, std::move(attrs));
}

// --- questions ---------------------------------------------------------------------------------------------
namespace {

Captured<NodeId> asked_array(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  const ValueRef array = arguments.get("a");
  if (!array) return call.would_raise("the array is missing");
  return call.operand(array);
}

}  // namespace

Outcome shape_of(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(array, asked_array(call, args));
  return shape_tuple(call.state, call.type(array));
}

Outcome ndim_of(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(array, asked_array(call, args));
  return call.state.python_int(call.type(array).rank());
}

Outcome size_of(const Call& call, const AdapterArguments& args) {
  SUTURE_CAPTURE(arguments, args.bind(call));
  SUTURE_CAPTURE(array, asked_array(call, args));
  const ValueRef axis = arguments.get("axis");
  if (!axis) return call.state.python_int(element_count(call.type(array)));
  SUTURE_CAPTURE(index, axis_of(call, arguments, "axis", call.type(array).rank()));
  return call.state.python_int(call.type(array).shape[static_cast<size_t>(index)]);
}

}  // namespace suture::numpy
