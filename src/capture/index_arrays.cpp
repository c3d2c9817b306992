// Reading, writing and iterating arrays by index.
//
// A basic index is a view node; a write is a store through that view. x[mask] = value with a mask of x's own
// shape is exact as x[...] = where(mask, value, x). All other fancy indices are left to NumPy.
#include <fmt/format.h>

#include "capture/array_adapters.h"
#include "capture/index_items.h"
#include "capture/numpy_calls.h"

namespace suture {

namespace {

using numpy::Call;

Captured<NodeId> indexed_node(const Call& call, const ValueRef& array) {
  auto* known = as_array(array);
  if (!known) return Error::internal("capture", "an index of a value that is not an array");
  if (is_weak(call.type(known->node).value_class))
    return call.would_raise("a Python number is not subscriptable");
  if (call.type(known->node).scalar()) return call.bad_index("A NumPy scalar is indexed.");
  return known->node;
}

Captured<NodeId> view(const Call& call, NodeId array, numpy::BasicIndex index) {
  Attrs attrs;
  attrs.index = std::move(index.items);
  attrs.ellipsis = index.ellipsis;
  return call.node(OpId::kSlice, {array}, std::move(attrs));
}

// x[i, j] as a view of one element that can be written, not as the scalar that reading it gives.
void keep_as_array(numpy::BasicIndex& index) {
  if (index.all_ints) index.ellipsis = true;
}

// x[1:] += y ends with x[1:] = the view that was just updated in place: nothing is left to write. NumPy still asks
// whether it may.
bool is_that_view(const Call& call, NodeId array, const numpy::BasicIndex& index, const ValueRef& value) {
  auto* known = as_array(value);
  if (!known) return false;
  const Node& node = call.state.graph.node(known->node);
  return node.op == OpId::kSlice && node.operands[0] == array && !node.type.scalar() &&
         node.attrs.index == index.items;
}

bool is_mask_of(const Call& call, NodeId array, const ValueRef& index) {
  auto* mask = as_array(index);
  if (!mask || !is_bool(call.type(mask->node).dtype)) return false;
  const TensorType& type = call.type(mask->node);
  return type.value_class == ValueClass::kArray && type.rank() == call.type(array).rank() && type.rank() > 0;
}

Outcome store_masked(const Call& call, NodeId array, NodeId mask, const ValueRef& value) {
  SUTURE_CAPTURE(written, call.operand(value));
  const TensorType into = call.type(array);
  if (call.type(written).rank() != 0) return call.bad_write("An array is assigned through a boolean mask.");
  for (size_t axis = 0; axis < into.shape.size(); ++axis) {
    if (!call.env().eq(call.type(mask).shape[axis], into.shape[axis]))
      return call.would_raise("the mask has another shape than the array");
  }
  const TensorType& from = call.type(written);
  // Converted before it is selected, as NumPy converts it, even when no element of the mask is set.
  if (is_float(from.dtype) && !is_float(into.dtype))
    return call.bad_write("A float is assigned to an integer array through a mask.");
  if (from.dtype != into.dtype && !is_weak(from.value_class)) {
    Attrs attrs;
    attrs.dtype = into.dtype;
    SUTURE_CAPTURE(converted, call.node(OpId::kCast, {written}, std::move(attrs)));
    written = converted;
  }
  SUTURE_CAPTURE(merged, call.node(OpId::kWhere, {mask, written, array}));
  if (call.type(merged).dtype != into.dtype)
    return call.bad_write("The value assigned through a mask is of a wider kind than the array.");
  SUTURE_CAPTURE_VOID(store(call, array, merged, numpy::StoreCasting::kUnsafe));
  return call.state.none();
}

}  // namespace

Outcome array_subscript(CaptureState& state, const ValueRef& array, const ValueRef& index) {
  const Call call{state, "[]"};
  SUTURE_CAPTURE(id, indexed_node(call, array));
  SUTURE_CAPTURE(basic, numpy::basic_index(call, call.type(id), index));
  SUTURE_CAPTURE(result, view(call, id, std::move(basic)));
  return numpy::array_value(result);
}

Outcome array_store_subscript(CaptureState& state, const ValueRef& array, const ValueRef& index,
                              const ValueRef& value) {
  const Call call{state, "="};
  SUTURE_CAPTURE(id, indexed_node(call, array));
  if (is_mask_of(call, id, index)) return store_masked(call, id, as_array(index)->node, value);
  SUTURE_CAPTURE(basic, numpy::basic_index(call, call.type(id), index));
  if (is_that_view(call, id, basic, value)) {
    SUTURE_CAPTURE_VOID(numpy::require_writeable(call, as_array(value)->node));
    return state.none();
  }
  keep_as_array(basic);
  SUTURE_CAPTURE(written, call.operand(value));
  if (basic.all_ints && call.type(written).rank() != 0)
    return call.bad_write("An array is assigned to a single element.");
  const Call reading{state, "[]"};
  SUTURE_CAPTURE(target, view(reading, id, std::move(basic)));
  SUTURE_CAPTURE_VOID(store(call, target, written, numpy::StoreCasting::kUnsafe));
  return state.none();
}

Outcome array_items(CaptureState& state, const ValueRef& array, std::vector<ValueRef>& items) {
  const Call call{state, "[]"};
  SUTURE_CAPTURE(id, indexed_node(call, array));
  const TensorType type = call.type(id);
  if (type.rank() == 0) return call.would_raise("iteration over a 0-d array");
  const auto length = type.shape[0].constant();
  if (!length)
    return state.make_break(BreakReason::kDataDependentLoop,
                            {"the symbolic length of " + state.describe(array)});
  if (*length > state.options.limits.max_unroll) {
    return state.make_break(BreakReason::kLoopTooLong,
                            {std::to_string(*length), std::to_string(state.options.limits.max_unroll)});
  }
  for (int64_t i = 0; i < *length; ++i) {
    numpy::BasicIndex row;
    row.items.emplace_back();
    row.items.back().kind = IndexItem::Kind::kInt;
    row.items.back().start = i;
    for (size_t axis = 1; axis < type.shape.size(); ++axis)
      row.items.push_back(numpy::whole_axis(type.shape[axis]));
    SUTURE_CAPTURE(item, view(call, id, std::move(row)));
    items.push_back(numpy::array_value(item));
  }
  return state.none();
}

}  // namespace suture
