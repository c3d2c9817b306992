// Subscripts, lengths and writes of Python containers.
#include <fmt/format.h>

#include <algorithm>

#include "capture/known_modules.h"
#include "capture/numpy_calls.h"
#include "capture/operations.h"
#include "cpython/discard_error.h"
#include "cpython/objects.h"

namespace suture {
namespace {

Break would_raise(CaptureState& state, const std::string& what) {
  return state.make_break(BreakReason::kWouldRaise, {what});
}

Failed raises(CaptureState& state) {
  const std::string text = pending_exception_text();
  discard_error();
  return Failed{would_raise(state, text)};
}

// The positions a constant slice selects.
Captured<std::vector<size_t>> selected(CaptureState& state, const ValueRef& index, size_t length) {
  PyRef slice = state.force_constant(index);
  if (!slice || !PySlice_Check(slice.get())) return state.unknown_break(index);
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(slice.get(), &start, &stop, &step) < 0) return raises(state);
  const Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(length), &start, &stop, step);
  std::vector<size_t> positions;
  for (Py_ssize_t i = 0; i < count; ++i) positions.push_back(static_cast<size_t>(start + i * step));
  return positions;
}

// A constant int index, wrapped to [0, length).
Captured<size_t> position(CaptureState& state, const ValueRef& index, size_t length) {
  PyRef number = state.force_constant(index);
  if (!number || !(PyLong_CheckExact(number.get()) || PyBool_Check(number.get()))) {
    if (as_array(index))
      return state.make_break(BreakReason::kScalarConversion, {state.describe(index) + " used as an index"});
    return state.unknown_break(index);
  }
  const long long at = PyLong_AsLongLong(number.get());
  if (PyErr_Occurred()) return raises(state);
  const long long wrapped = at < 0 ? at + static_cast<long long>(length) : at;
  if (wrapped < 0 || wrapped >= static_cast<long long>(length))
    return would_raise(state, "Index out of range");
  return static_cast<size_t>(wrapped);
}

Outcome sequence_item(CaptureState& state, SequenceValue& sequence, const ValueRef& index) {
  if (index->kind == ValueKind::kSlice) {
    if (sequence.type) return state.unknown_break(index);
    SUTURE_CAPTURE(positions, selected(state, index, sequence.items.size()));
    std::vector<ValueRef> items;
    for (size_t i : positions) {
      SUTURE_CAPTURE(value, state.item(sequence, i));
      items.push_back(std::move(value));
    }
    return std::make_shared<SequenceValue>(sequence.kind, std::move(items));
  }
  SUTURE_CAPTURE(at, position(state, index, sequence.items.size()));
  return state.item(sequence, at);
}

// Position of a constant key, or npos; the answer "absent" becomes a guard.
Captured<size_t> find_key(CaptureState& state, DictValue& dict, PyView key) {
  for (size_t i = 0; i < dict.items.size(); ++i) {
    const int equal = PyObject_RichCompareBool(dict.items[i].first.get(), key, Py_EQ);
    if (equal < 0) return raises(state);
    if (equal == 1) return i;
  }
  state.guard_keys(dict);
  return std::string::npos;
}

Captured<PyRef> hashable_key(CaptureState& state, const ValueRef& value) {
  PyRef key = state.force_constant(value);
  if (!key) {
    if (as_array(value))
      return state.make_break(BreakReason::kScalarConversion, {state.describe(value) + " used as a key"});
    return state.unknown_break(value);
  }
  if (PyObject_Hash(key.get()) == -1 && PyErr_Occurred()) return raises(state);
  return key;
}

Outcome dict_item(CaptureState& state, DictValue& dict, const ValueRef& index) {
  SUTURE_CAPTURE(key, hashable_key(state, index));
  SUTURE_CAPTURE(at, find_key(state, dict, key.get()));
  if (at == std::string::npos) return would_raise(state, "KeyError: " + short_repr(key.get()));
  return state.item(dict, at);
}

Outcome range_item(CaptureState& state, const ValueRef& container, const ValueRef& index) {
  auto* range = as_range(container);
  SUTURE_CAPTURE(length, length_of(state, container));
  SUTURE_CAPTURE(at, position(state, index, static_cast<size_t>(state.graph.env.specialize(length))));
  return state.python_int(range->start + SymInt(static_cast<int64_t>(at)) * range->step);
}

Outcome constant_item(CaptureState& state, const ValueRef& container, const ValueRef& index) {
  PyView o = as_constant(container)->object.get();
  PyRef key = state.force_constant(index);
  if (!key || !is_plain_immutable(o)) return state.unknown_break(key ? container : index);
  PyRef item = PyRef::steal(PyObject_GetItem(o, key.get()));
  if (!item) return raises(state);
  return state.literal(item);
}

}  // namespace

Captured<Unit> touch(CaptureState& state, const ValueRef& container) {
  if (container->source == kNoSource) return Unit{};
  if (auto* dict = as_dict(container)) {
    state.guard_keys(*dict);  // which keys are new, and their order, are facts from now on
    dict->mutated = true;
  } else {
    // Everything is read before the first change: positions in the value and in the object still agree.
    SUTURE_CAPTURE_VOID(state.materialize(container));
  }
  if (auto* list = as_list(container)) list->mutated = true;
  state.mark_mutated(container);
  return Unit{};
}

Outcome get_item(CaptureState& state, const ValueRef& container, const ValueRef& index) {
  if (as_array(container)) {
    SUTURE_CAPTURE_VOID(state.materialize(index));
    return array_subscript(state, container, index);
  }
  if (auto* sequence = as_tuple_or_list(container)) return sequence_item(state, *sequence, index);
  if (auto* dict = as_dict(container)) return dict_item(state, *dict, index);
  if (as_range(container)) return range_item(state, container, index);
  if (as_constant(container)) return constant_item(state, container, index);
  if (as_instance(container)) {
    SUTURE_CAPTURE(method, class_method(state, container, "__getitem__"));
    if (method) return call(state, method, {{index}, {}});
  }
  return state.unknown_break(container);
}

namespace {

Captured<Unit> assign_slice(CaptureState& state, const ValueRef& container, const ValueRef& index,
                            const ValueRef& value) {
  auto& list = *as_list(container);
  SUTURE_CAPTURE(items, all_items(state, value));
  SUTURE_CAPTURE(positions, selected(state, index, list.items.size()));
  PyRef slice = state.force_constant(index);
  Py_ssize_t start = 0, stop = 0, step = 0;
  if (PySlice_Unpack(slice.get(), &start, &stop, &step) < 0) return raises(state);
  PySlice_AdjustIndices(static_cast<Py_ssize_t>(list.items.size()), &start, &stop, step);
  SUTURE_CAPTURE_VOID(touch(state, container));
  if (step != 1) {
    if (items.size() != positions.size()) return would_raise(state, "Extended slice of another length");
    for (size_t i = 0; i < items.size(); ++i) list.items[positions[i]] = items[i];
    return Unit{};
  }
  const auto at = list.items.begin() + start;
  list.items.insert(list.items.erase(at, at + static_cast<long>(positions.size())), items.begin(),
                    items.end());
  return Unit{};
}

}  // namespace

Captured<Unit> set_item(CaptureState& state, const ValueRef& container, const ValueRef& index,
                        const ValueRef& value) {
  if (as_array(container)) {
    SUTURE_CAPTURE_VOID(state.materialize(index));
    SUTURE_CAPTURE_VOID(state.materialize(value));
    SUTURE_CAPTURE_VOID(array_store_subscript(state, container, index, value));
    return Unit{};
  }
  if (auto* list = as_list(container)) {
    if (index->kind == ValueKind::kSlice) return assign_slice(state, container, index, value);
    SUTURE_CAPTURE(at, position(state, index, list->items.size()));
    SUTURE_CAPTURE_VOID(touch(state, container));
    list->items[at] = value;
    return Unit{};
  }
  if (auto* dict = as_dict(container)) {
    SUTURE_CAPTURE(key, hashable_key(state, index));
    SUTURE_CAPTURE_VOID(touch(state, container));
    return dict_store(state, *dict, key.get(), value);
  }
  if (as_instance(container)) {
    SUTURE_CAPTURE(method, class_method(state, container, "__setitem__"));
    if (method) {
      SUTURE_CAPTURE_VOID(call(state, method, {{index, value}, {}}));
      return Unit{};
    }
  }
  return state.make_break(BreakReason::kUnsupportedMutation,
                          {"An item of " + state.describe(container) + " is set"});
}

Captured<Unit> delete_item(CaptureState& state, const ValueRef& container, const ValueRef& index) {
  if (auto* list = as_list(container)) {
    std::vector<size_t> positions;
    if (index->kind == ValueKind::kSlice) {
      SUTURE_CAPTURE(chosen, selected(state, index, list->items.size()));
      positions = std::move(chosen);
    } else {
      SUTURE_CAPTURE(at, position(state, index, list->items.size()));
      positions.push_back(at);
    }
    SUTURE_CAPTURE_VOID(touch(state, container));
    std::sort(positions.rbegin(), positions.rend());
    for (size_t at : positions) list->items.erase(list->items.begin() + static_cast<long>(at));
    return Unit{};
  }
  if (auto* dict = as_dict(container)) {
    SUTURE_CAPTURE(key, hashable_key(state, index));
    SUTURE_CAPTURE(at, find_key(state, *dict, key.get()));
    if (at == std::string::npos) return would_raise(state, "KeyError: " + short_repr(key.get()));
    SUTURE_CAPTURE_VOID(touch(state, container));
    dict_erase(*dict, at);
    return Unit{};
  }
  return state.make_break(BreakReason::kUnsupportedMutation,
                          {"An item of " + state.describe(container) + " is deleted"});
}

Captured<Unit> dict_store(CaptureState& state, DictValue& dict, PyView key, const ValueRef& value) {
  SUTURE_CAPTURE(at, find_key(state, dict, key));
  if (at == std::string::npos) {
    ++dict.changes;
    dict.items.emplace_back(PyRef::borrow(key), value);
    dict.stored.push_back(PyRef::borrow(key));
    return Unit{};
  }
  dict.items[at].second = value;
  const auto is_it = [&](const PyRef& stored) { return stored.get() == dict.items[at].first.get(); };
  if (std::none_of(dict.stored.begin(), dict.stored.end(), is_it))
    dict.stored.push_back(dict.items[at].first);
  return Unit{};
}

void dict_erase(DictValue& dict, size_t at) {
  ++dict.changes;
  const PyRef key = dict.items[at].first;
  std::erase_if(dict.stored, [&](const PyRef& stored) { return stored.get() == key.get(); });
  dict.removed.push_back(key);
  dict.items.erase(dict.items.begin() + static_cast<long>(at));
}

Captured<Unit> dict_merge(CaptureState& state, const ValueRef& into, const ValueRef& other,
                          bool refuse_duplicates) {
  auto* target = as_dict(into);
  auto* from = as_dict(other);
  if (!target || !from) return state.unknown_break(other);
  SUTURE_CAPTURE_VOID(state.materialize(other));
  SUTURE_CAPTURE_VOID(touch(state, into));
  for (const auto& [key, value] : from->items) {
    if (refuse_duplicates) {
      SUTURE_CAPTURE(at, find_key(state, *target, key.get()));
      if (at != std::string::npos)
        return would_raise(state, "Repeated keyword argument " + short_repr(key.get()));
    }
    SUTURE_CAPTURE_VOID(dict_store(state, *target, key.get(), value));
  }
  return Unit{};
}

Captured<Unit> list_extend(CaptureState& state, const ValueRef& list, const ValueRef& iterable) {
  SUTURE_CAPTURE_VOID(touch(state, list));
  // Sequences are read as a whole first; what any other iterable gives is in the list before it is asked again,
  // and it may be asked for items of this list.
  if (as_tuple_or_list(iterable)) {
    SUTURE_CAPTURE(items, all_items(state, iterable));
    auto& into = as_list(list)->items;
    into.insert(into.end(), items.begin(), items.end());
    return Unit{};
  }
  SUTURE_CAPTURE(value, make_iterator(state, iterable));
  auto& iterator = static_cast<IteratorValue&>(*value);
  if (auto left = items_left(state, iterator); left && *left > kMostItems)
    return state.make_break(BreakReason::kLoopTooLong, {std::to_string(*left), std::to_string(kMostItems)});
  while (static_cast<int64_t>(as_list(list)->items.size()) <= kMostItems) {
    SUTURE_CAPTURE(item, next_item(state, iterator));
    if (!item) return Unit{};
    as_list(list)->items.push_back(std::move(item));
  }
  return state.make_break(BreakReason::kLoopTooLong, {"more", std::to_string(kMostItems)});
}

namespace {

SymInt range_length(ShapeEnv& env, const RangeValue& range) {
  const bool up = !env.lt(range.step, 0);
  const SymInt low = up ? range.start : range.stop;
  const SymInt high = up ? range.stop : range.start;
  const SymInt step = up ? range.step : -range.step;
  if (env.le(high, low)) return 0;
  return step == SymInt(1) ? high - low : floordiv(high - low + step - SymInt(1), step);
}

}  // namespace

Captured<SymInt> length_of(CaptureState& state, const ValueRef& value) {
  switch (value->kind) {
    case ValueKind::kTuple:
    case ValueKind::kList:
    case ValueKind::kSet:
      return SymInt(static_cast<int64_t>(static_cast<SequenceValue&>(*value).items.size()));
    case ValueKind::kDictView: return length_of(state, as_dict_view(value)->dict);
    case ValueKind::kDict:
      state.guard_keys(*as_dict(value));
      return SymInt(static_cast<int64_t>(as_dict(value)->items.size()));
    case ValueKind::kRange: return range_length(state.graph.env, *as_range(value));
    case ValueKind::kArray: {
      const TensorType& type = state.type_of(*as_array(value));
      if (type.rank() == 0) return would_raise(state, "len() of an unsized object");
      return type.shape[0];
    }
    case ValueKind::kInstance: {
      SUTURE_CAPTURE(method, class_method(state, value, "__len__"));
      if (!method) return state.unknown_break(value);
      SUTURE_CAPTURE(length, call(state, method, {}));
      auto size = state.as_int(length);
      if (!size) return state.unknown_break(value);
      return *size;
    }
    case ValueKind::kConstant: break;
    default: return state.unknown_break(value);
  }
  PyView o = as_constant(value)->object.get();
  if (!is_plain_immutable(o)) return state.unknown_break(value);
  const Py_ssize_t size = PyObject_Size(o);
  if (size < 0) return raises(state);
  return SymInt(size);
}

}  // namespace suture
