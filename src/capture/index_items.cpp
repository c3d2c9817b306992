// Basic indices: see index_items.h.
//
// Bounds may be symbols. Every question about them goes to the ShapeEnv, which answers from ranges where it
// can and otherwise from this call's values, recording the answer as a guard; so the clamping below reads
// like CPython's PySlice_AdjustIndices.
#include "capture/index_items.h"

#include <fmt/format.h>

namespace suture::numpy {

namespace {

// One item of the written index.
struct Written {
  enum class Kind : uint8_t { kInt, kSlice, kNewAxis, kEllipsis } kind;
  SymInt number = 0;
  ValueRef slice;
};

// A constant slice object becomes a slice of constants.
ValueRef as_slice(CaptureState& state, const ValueRef& value) {
  if (value->kind == ValueKind::kSlice) return value;
  auto* constant = as_constant(value);
  if (!constant || !PySlice_Check(constant->object.get())) return nullptr;
  auto* slice = reinterpret_cast<PySliceObject*>(constant->object.get());
  const auto part = [&](PyView object) { return state.constant(PyRef::borrow(object)); };
  return std::make_shared<SliceValue>(part(slice->start), part(slice->stop), part(slice->step));
}

Break refused_index(const Call& call, const ValueRef& value) {
  if (auto* array = as_array(value)) {
    const TensorType& type = call.type(array->node);
    if (is_bool(type.dtype))
      return call.bad_index("A boolean mask selects a number of elements that depends on array values.");
    if (type.scalar())
      return call.bad_index("The position is an array value that is known only after the graph has run.");
    return call.bad_index("An array of positions is used as the index.");
  }
  return call.bad_index(fmt::format("{} is used as an index of an array.", call.state.describe(value)));
}

Captured<Written> read_item(const Call& call, const ValueRef& value) {
  if (is_none(value)) return Written{Written::Kind::kNewAxis};
  if (auto* constant = as_constant(value); constant && constant->object.get() == Py_Ellipsis)
    return Written{Written::Kind::kEllipsis};
  if (auto number = integer_of(call.state, value)) return Written{Written::Kind::kInt, *number};
  if (ValueRef slice = as_slice(call.state, value))
    return Written{Written::Kind::kSlice, 0, std::move(slice)};
  return refused_index(call, value);
}

Captured<std::vector<Written>> read_index(const Call& call, const ValueRef& index) {
  std::vector<ValueRef> parts{index};
  if (!as_list(index)) {
    if (auto items = items_of(call.state, index)) parts = std::move(*items);
  }
  std::vector<Written> written;
  for (const ValueRef& part : parts) {
    SUTURE_CAPTURE(item, read_item(call, part));
    written.push_back(std::move(item));
  }
  return written;
}

Captured<IndexItem> int_item(const Call& call, const SymInt& extent, const SymInt& number) {
  ShapeEnv& env = call.env();
  IndexItem item;
  item.kind = IndexItem::Kind::kInt;
  item.start = env.lt(number, SymInt(0)) ? number + extent : number;
  if (env.lt(item.start, SymInt(0)) || !env.lt(item.start, extent)) {
    return call.would_raise(fmt::format("index {} is out of bounds", env.hint(number)));
  }
  return item;
}

// An end of a slice: absent, or an int brought into [low, high].
struct Clamp {
  ShapeEnv& env;
  const SymInt& extent;
  SymInt low, high;

  SymInt operator()(const SymInt& written) const {
    const SymInt value = env.lt(written, SymInt(0)) ? written + extent : written;
    if (env.lt(value, low)) return low;
    return env.lt(high, value) ? high : value;
  }
};

Captured<std::optional<SymInt>> slice_end(const Call& call, const ValueRef& value) {
  if (!value || is_none(value)) return std::optional<SymInt>();
  const auto number = integer_of(call.state, value);
  if (!number) return refused_index(call, value);
  return number;
}

SymInt selected(ShapeEnv& env, const SymInt& first, const SymInt& last, int64_t step) {
  const bool some = step > 0 ? env.lt(first, last) : env.lt(last, first);
  if (!some) return 0;
  const SymInt distance = step > 0 ? last - first : first - last;
  const int64_t size = step > 0 ? step : -step;
  return size == 1 ? distance : floordiv(distance - SymInt(1), SymInt(size)) + SymInt(1);
}

}  // namespace

IndexItem whole_axis(const SymInt& extent) {
  IndexItem item;
  item.length = extent;
  return item;
}

Captured<IndexItem> slice_item(const Call& call, const SymInt& extent, const SliceValue& slice) {
  SUTURE_CAPTURE(start, slice_end(call, slice.start));
  SUTURE_CAPTURE(stop, slice_end(call, slice.stop));
  SUTURE_CAPTURE(written_step, slice_end(call, slice.step));
  const int64_t step = written_step ? call.env().specialize(*written_step) : 1;
  if (step == 0) return call.would_raise("slice step cannot be zero");
  if (step < -1 - INT32_MAX || step > INT32_MAX) return call.bad_index("The step of a slice is too large.");
  const bool forward = step > 0;
  const Clamp clamp{call.env(), extent, forward ? SymInt(0) : SymInt(-1),
                    forward ? extent : extent - SymInt(1)};
  const SymInt first = start ? clamp(*start) : (forward ? clamp.low : clamp.high);
  const SymInt last = stop ? clamp(*stop) : (forward ? clamp.high : clamp.low);
  IndexItem item;
  item.step = step;
  item.length = selected(call.env(), first, last, step);
  item.start = item.length == SymInt(0) ? SymInt(0) : first;
  return item;
}

Captured<BasicIndex> basic_index(const Call& call, const TensorType& type, const ValueRef& index) {
  SUTURE_CAPTURE(written, read_index(call, index));
  size_t consumed = 0;
  BasicIndex result;
  for (const Written& item : written) {
    consumed += item.kind == Written::Kind::kInt || item.kind == Written::Kind::kSlice;
    if (item.kind == Written::Kind::kEllipsis && result.ellipsis)
      return call.would_raise("an index can only have a single ellipsis");
    result.ellipsis |= item.kind == Written::Kind::kEllipsis;
  }
  const auto rank = type.shape.size();
  if (consumed > rank) return call.would_raise("too many indices for the array");
  if (!result.ellipsis) written.push_back(Written{Written::Kind::kEllipsis});
  size_t axis = 0;
  for (const Written& item : written) {
    switch (item.kind) {
      case Written::Kind::kNewAxis: {
        IndexItem inserted;
        inserted.kind = IndexItem::Kind::kNewAxis;
        result.items.push_back(inserted);
        break;
      }
      case Written::Kind::kEllipsis:
        for (size_t i = consumed; i < rank; ++i) result.items.push_back(whole_axis(type.shape[axis++]));
        break;
      case Written::Kind::kInt: {
        SUTURE_CAPTURE(converted, int_item(call, type.shape[axis++], item.number));
        result.items.push_back(converted);
        break;
      }
      case Written::Kind::kSlice: {
        SUTURE_CAPTURE(converted,
                       slice_item(call, type.shape[axis++], static_cast<const SliceValue&>(*item.slice)));
        result.items.push_back(converted);
        break;
      }
    }
  }
  result.all_ints = true;
  for (const IndexItem& item : result.items) result.all_ints &= item.kind == IndexItem::Kind::kInt;
  return result;
}

}  // namespace suture::numpy
