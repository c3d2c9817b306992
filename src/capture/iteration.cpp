// Iterators: pulled item by item, as Python's are.
#include <algorithm>

#include "capture/known_modules.h"
#include "capture/numpy_calls.h"
#include "capture/operations.h"
#include "capture/symbolic_interpreter.h"
#include "cpython/discard_error.h"
#include "cpython/objects.h"

namespace suture {
namespace {

using Of = IteratorValue::Of;

std::shared_ptr<IteratorValue> iterator_of(Of of, ValueRef subject) {
  auto iterator = std::make_shared<IteratorValue>();
  iterator->of = of;
  iterator->subject = std::move(subject);
  return iterator;
}

ValueRef iterator_over(std::vector<ValueRef> items) {
  auto iterator = std::make_shared<IteratorValue>();
  iterator->remaining = std::move(items);
  return iterator;
}

// Items of a constant, in the order the real object yields them.
Outcome constant_iterator(CaptureState& state, PyView o) {
  PyRef real = PyRef::steal(PyObject_GetIter(o));
  std::vector<ValueRef> items;
  while (real) {
    PyRef item = PyRef::steal(PyIter_Next(real.get()));
    if (!item) break;
    items.push_back(state.literal(item));
  }
  if (PyErr_Occurred()) {
    const std::string text = pending_exception_text();
    discard_error();
    return state.make_break(BreakReason::kWouldRaise, {text});
  }
  return iterator_over(std::move(items));
}

Outcome array_iterator(CaptureState& state, const ValueRef& array) {
  const TensorType& type = state.type_of(*as_array(array));
  const bool few =
      type.rank() > 0 && type.shape[0].constant().value_or(INT64_MAX) <= state.options.limits.max_unroll;
  if (!few && type.rank() > 0) return ValueRef(iterator_of(Of::kOpaque, array));
  std::vector<ValueRef> items;
  SUTURE_CAPTURE_VOID(array_items(state, array, items));
  return iterator_over(std::move(items));
}

ValueRef dict_iterator(CaptureState& state, const ValueRef& subject, DictPart part) {
  DictValue& dict = *as_dict(subject);
  state.guard_keys(dict);
  auto iterator = iterator_of(Of::kDict, subject);
  iterator->part = part;
  iterator->size = dict.items.size();
  iterator->changes = dict.changes;
  return iterator;
}

// The order is the one of a real set with these items.
Outcome set_iterator(CaptureState& state, const ValueRef& subject) {
  PyRef set = state.python_constant(subject);
  if (!set) return state.unknown_break(subject);
  SUTURE_CAPTURE(value, constant_iterator(state, set.get()));
  auto& iterator = static_cast<IteratorValue&>(*value);
  iterator.of = Of::kSet;
  iterator.subject = subject;
  iterator.size = iterator.remaining.size();
  return value;
}

}  // namespace

Outcome make_iterator(CaptureState& state, const ValueRef& iterable) {
  switch (iterable->kind) {
    case ValueKind::kIterator: return iterable;
    case ValueKind::kTuple:
    case ValueKind::kList: return ValueRef(iterator_of(Of::kList, iterable));
    case ValueKind::kRange: return ValueRef(iterator_of(Of::kRange, iterable));
    case ValueKind::kDict: return dict_iterator(state, iterable, DictPart::kKeys);
    case ValueKind::kDictView:
      return dict_iterator(state, as_dict_view(iterable)->dict, as_dict_view(iterable)->part);
    case ValueKind::kArray: return array_iterator(state, iterable);
    case ValueKind::kSet: return set_iterator(state, iterable);
    case ValueKind::kConstant: {
      PyView o = as_constant(iterable)->object.get();
      if (!is_plain_immutable(o)) return state.unknown_break(iterable);
      return constant_iterator(state, o);
    }
    case ValueKind::kInstance: {
      SUTURE_CAPTURE(method, class_method(state, iterable, "__iter__"));
      if (!method) return state.unknown_break(iterable);
      SUTURE_CAPTURE(result, call(state, method, {}));
      if (result->kind != ValueKind::kIterator) return state.unknown_break(result);
      return result;
    }
    case ValueKind::kUnknown: return ValueRef(iterator_of(Of::kOpaque, iterable));
    default: return state.unknown_break(iterable);
  }
}

Outcome make_reversed(CaptureState& state, const ValueRef& iterable) {
  if (as_range(iterable)) {
    SUTURE_CAPTURE(items, all_items(state, iterable));
    std::reverse(items.begin(), items.end());
    return iterator_over(std::move(items));
  }
  const bool known = as_tuple_or_list(iterable) || as_dict(iterable) || as_dict_view(iterable);
  if (!known) return ValueRef();
  SUTURE_CAPTURE(value, make_iterator(state, iterable));
  auto& iterator = static_cast<IteratorValue&>(*value);
  iterator.reversed = true;
  if (iterator.of == Of::kList) iterator.size = as_tuple_or_list(iterator.subject)->items.size();
  return value;
}

namespace {

Outcome next_of_list(CaptureState& state, IteratorValue& it) {
  auto& sequence = *as_tuple_or_list(it.subject);
  if (it.reversed && it.next >= it.size) return ValueRef();
  const size_t at = it.reversed ? it.size - 1 - it.next : it.next;
  if (at >= sequence.items.size()) return ValueRef();
  ++it.next;
  return state.item(sequence, at);
}

// CPython looks at the size first, also behind the last item.
Outcome next_of_dict(CaptureState& state, IteratorValue& it) {
  DictValue& dict = *as_dict(it.subject);
  if (dict.items.size() != it.size)
    return state.make_break(BreakReason::kWouldRaise, {"dictionary changed size during iteration"});
  if (dict.changes != it.changes)
    return state.make_break(BreakReason::kWouldRaise, {"dictionary keys changed during iteration"});
  if (it.next >= it.size) return ValueRef();
  const size_t at = it.reversed ? it.size - 1 - it.next : it.next;
  ++it.next;
  if (it.part == DictPart::kKeys) return state.literal(dict.items[at].first);
  SUTURE_CAPTURE(value, state.item(dict, at));
  if (it.part == DictPart::kValues) return value;
  return std::make_shared<SequenceValue>(ValueKind::kTuple,
                                         std::vector<ValueRef>{state.literal(dict.items[at].first), value});
}

Outcome next_of_set(CaptureState& state, IteratorValue& it) {
  if (as_set(it.subject)->items.size() != it.size)
    return state.make_break(BreakReason::kWouldRaise, {"Set changed size during iteration"});
  return it.next < it.size ? it.remaining[it.next++] : ValueRef();
}

Outcome next_of_range(CaptureState& state, IteratorValue& iterator) {
  auto* range = as_range(iterator.subject);
  SUTURE_CAPTURE(length, length_of(state, iterator.subject));
  auto count = length.constant();
  if (!count)
    return state.make_break(BreakReason::kDataDependentLoop,
                            {"the size " + state.graph.env.names_to_text(length)});
  if (static_cast<int64_t>(iterator.next) >= *count) return ValueRef();
  return state.python_int(range->start + SymInt(static_cast<int64_t>(iterator.next++)) * range->step);
}

Outcome next_of_zip(CaptureState& state, IteratorValue& iterator, std::vector<ValueRef>& items) {
  for (const ValueRef& child : iterator.children) {
    SUTURE_CAPTURE(item, next_item(state, static_cast<IteratorValue&>(*child)));
    if (!item) return ValueRef();
    items.push_back(std::move(item));
  }
  return state.none();
}

Outcome next_of_filter(CaptureState& state, IteratorValue& iterator) {
  while (true) {
    SUTURE_CAPTURE(item, next_item(state, static_cast<IteratorValue&>(*iterator.children[0])));
    if (!item) return item;
    auto* function = as_constant(iterator.subject);
    ValueRef verdict = item;
    if (!function || function->object.get() != Py_None) {
      SUTURE_CAPTURE(answer, call(state, iterator.subject, {{item}, {}}));
      verdict = answer;
    }
    SUTURE_CAPTURE(keep, truth(state, verdict));
    if (keep) return item;
  }
}

Outcome pull(CaptureState& state, IteratorValue& it) {
  switch (it.of) {
    case Of::kItems: return it.next < it.remaining.size() ? it.remaining[it.next++] : ValueRef();
    case Of::kList: return next_of_list(state, it);
    case Of::kDict: return next_of_dict(state, it);
    case Of::kSet: return next_of_set(state, it);
    case Of::kRange: return next_of_range(state, it);
    case Of::kZip:
    case Of::kMap: {
      std::vector<ValueRef> items;
      SUTURE_CAPTURE(more, next_of_zip(state, it, items));
      if (!more || it.children.empty()) return ValueRef();
      if (it.of == Of::kZip) return std::make_shared<SequenceValue>(ValueKind::kTuple, std::move(items));
      return call(state, it.subject, {std::move(items), {}});
    }
    case Of::kEnumerate: {
      SUTURE_CAPTURE(item, next_item(state, static_cast<IteratorValue&>(*it.children[0])));
      if (!item) return item;
      SUTURE_CAPTURE(number, state.computed_int(it.counter + SymInt(static_cast<int64_t>(it.next++))));
      return std::make_shared<SequenceValue>(ValueKind::kTuple, std::vector<ValueRef>{number, item});
    }
    case Of::kFilter: return next_of_filter(state, it);
    case Of::kGenerator: return resume_generator(state, it);
    case Of::kOpaque: return state.make_break(BreakReason::kDataDependentLoop, {state.describe(it.subject)});
  }
  return ValueRef();
}

}  // namespace

Outcome next_item(CaptureState& state, IteratorValue& iterator) {
  if (iterator.exhausted) return ValueRef();
  SUTURE_CAPTURE(item, pull(state, iterator));
  if (!item) iterator.exhausted = true;
  return item;
}

std::optional<int64_t> items_left(CaptureState& state, const IteratorValue& it) {
  const auto next = static_cast<int64_t>(it.next);
  if (it.exhausted) return 0;
  switch (it.of) {
    case Of::kItems: return static_cast<int64_t>(it.remaining.size()) - next;
    case Of::kDict:
    case Of::kSet: return static_cast<int64_t>(it.size) - next;
    case Of::kList:
      if (it.reversed) return static_cast<int64_t>(it.size) - next;
      return std::max<int64_t>(0, static_cast<int64_t>(as_tuple_or_list(it.subject)->items.size()) - next);
    case Of::kRange: {
      auto* range = as_range(it.subject);
      if (!range->start.is_constant() || !range->stop.is_constant() || !range->step.is_constant())
        return std::nullopt;
      auto length = length_of(state, it.subject);
      if (!is_value(length)) return std::nullopt;
      return std::max<int64_t>(0, *std::get<SymInt>(length).constant() - next);
    }
    case Of::kZip:
    case Of::kMap:
    case Of::kEnumerate: {
      std::optional<int64_t> least;
      for (const ValueRef& child : it.children) {
        auto left = items_left(state, static_cast<const IteratorValue&>(*child));
        if (left && (!least || *left < *least)) least = left;
      }
      return least;
    }
    default: return std::nullopt;
  }
}

Captured<std::vector<ValueRef>> all_items(CaptureState& state, const ValueRef& iterable) {
  if (as_tuple_or_list(iterable)) SUTURE_CAPTURE_VOID(state.materialize(iterable));
  SUTURE_CAPTURE(value, make_iterator(state, iterable));
  auto& iterator = static_cast<IteratorValue&>(*value);
  if (auto left = items_left(state, iterator); left && *left > kMostItems)
    return state.make_break(BreakReason::kLoopTooLong, {std::to_string(*left), std::to_string(kMostItems)});
  std::vector<ValueRef> items;
  while (static_cast<int64_t>(items.size()) <= kMostItems) {
    SUTURE_CAPTURE(item, next_item(state, iterator));
    if (!item) return items;
    items.push_back(std::move(item));
  }
  return state.make_break(BreakReason::kLoopTooLong, {"more", std::to_string(kMostItems)});
}

}  // namespace suture
