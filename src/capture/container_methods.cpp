// Methods of list, dict, tuple, str and other plain types.
//
// One table row per method: kind of the receiver, name, function. Methods of immutable constants are called
// for real.
#include <algorithm>
#include <array>

#include "capture/known_modules.h"
#include "capture/operations.h"
#include "cpython/discard_error.h"
#include "cpython/objects.h"

namespace suture {
namespace {

using Items = std::vector<ValueRef>;
using Method = Outcome (*)(CaptureState&, const ValueRef&, const Items&);

Break raised(CaptureState& state, const std::string& what) {
  return state.make_break(BreakReason::kWouldRaise, {what});
}

Captured<int64_t> constant_int(CaptureState& state, const ValueRef& value) {
  PyRef number = state.force_constant(value);
  if (!number || !PyLong_Check(number.get())) return state.unknown_break(value);
  const long long out = PyLong_AsLongLong(number.get());
  if (!PyErr_Occurred()) return static_cast<int64_t>(out);
  discard_error();
  return state.unknown_break(value);
}

Items& items_of(const ValueRef& self) { return static_cast<SequenceValue&>(*self).items; }

// --- list and tuple ----------------------------------------------------------------------------------------
Outcome list_append(CaptureState& state, const ValueRef& self, const Items& args) {
  SUTURE_CAPTURE_VOID(touch(state, self));
  items_of(self).push_back(args[0]);
  return state.none();
}

Outcome list_extend_method(CaptureState& state, const ValueRef& self, const Items& args) {
  SUTURE_CAPTURE_VOID(list_extend(state, self, args[0]));
  return state.none();
}

Outcome list_insert(CaptureState& state, const ValueRef& self, const Items& args) {
  SUTURE_CAPTURE(index, constant_int(state, args[0]));
  SUTURE_CAPTURE_VOID(touch(state, self));
  Items& items = items_of(self);
  const auto size = static_cast<int64_t>(items.size());
  const int64_t at = std::clamp<int64_t>(index < 0 ? index + size : index, 0, size);
  items.insert(items.begin() + at, args[1]);
  return state.none();
}

Outcome list_pop(CaptureState& state, const ValueRef& self, const Items& args) {
  int64_t at = -1;
  if (!args.empty()) {
    SUTURE_CAPTURE(index, constant_int(state, args[0]));
    at = index;
  }
  const auto size = static_cast<int64_t>(items_of(self).size());
  if (at < 0) at += size;
  if (at < 0 || at >= size) return raised(state, "pop index out of range");
  SUTURE_CAPTURE_VOID(touch(state, self));
  SUTURE_CAPTURE(item, state.item(static_cast<SequenceValue&>(*self), static_cast<size_t>(at)));
  items_of(self).erase(items_of(self).begin() + at);
  return item;
}

Outcome list_clear(CaptureState& state, const ValueRef& self, const Items&) {
  SUTURE_CAPTURE_VOID(touch(state, self));
  items_of(self).clear();
  return state.none();
}

Outcome list_reverse(CaptureState& state, const ValueRef& self, const Items&) {
  SUTURE_CAPTURE_VOID(touch(state, self));
  std::reverse(items_of(self).begin(), items_of(self).end());
  return state.none();
}

Outcome list_copy(CaptureState& state, const ValueRef& self, const Items&) {
  SUTURE_CAPTURE_VOID(state.materialize(self));
  return std::make_shared<SequenceValue>(ValueKind::kList, items_of(self));
}

Outcome sequence_find(CaptureState& state, const ValueRef& self, const ValueRef& wanted, bool count) {
  int64_t found = 0;
  SUTURE_CAPTURE_VOID(state.materialize(self));
  for (size_t i = 0; i < items_of(self).size(); ++i) {
    bool equal = items_of(self)[i] == wanted;
    if (!equal) {
      SUTURE_CAPTURE(result, compare_op(state, "==", items_of(self)[i], wanted));
      SUTURE_CAPTURE(answer, truth(state, result));
      equal = answer;
    }
    if (equal && !count) return state.python_int(static_cast<int64_t>(i));
    found += equal;
  }
  return count ? Outcome(state.python_int(found)) : raised(state, "value not in sequence");
}

Outcome sequence_index(CaptureState& state, const ValueRef& self, const Items& args) {
  return sequence_find(state, self, args[0], false);
}
Outcome sequence_count(CaptureState& state, const ValueRef& self, const Items& args) {
  return sequence_find(state, self, args[0], true);
}

Outcome list_remove(CaptureState& state, const ValueRef& self, const Items& args) {
  SUTURE_CAPTURE(index, sequence_find(state, self, args[0], false));
  SUTURE_CAPTURE_VOID(touch(state, self));
  items_of(self).erase(items_of(self).begin() + *state.as_int(index)->constant());
  return state.none();
}

// --- dict --------------------------------------------------------------------------------------------------
Outcome dict_keys(CaptureState&, const ValueRef& self, const Items&) {
  return std::make_shared<DictViewValue>(self, DictPart::kKeys);
}
Outcome dict_values(CaptureState&, const ValueRef& self, const Items&) {
  return std::make_shared<DictViewValue>(self, DictPart::kValues);
}
Outcome dict_items(CaptureState&, const ValueRef& self, const Items&) {
  return std::make_shared<DictViewValue>(self, DictPart::kItems);
}

Outcome dict_get(CaptureState& state, const ValueRef& self, const Items& args) {
  SUTURE_CAPTURE(found, contains(state, self, args[0]));
  if (found) return get_item(state, self, args[0]);
  return args.size() > 1 ? args[1] : state.none();
}

Outcome dict_setdefault(CaptureState& state, const ValueRef& self, const Items& args) {
  SUTURE_CAPTURE(found, contains(state, self, args[0]));
  if (found) return get_item(state, self, args[0]);
  const ValueRef value = args.size() > 1 ? args[1] : state.none();
  SUTURE_CAPTURE_VOID(set_item(state, self, args[0], value));
  return value;
}

Outcome dict_pop(CaptureState& state, const ValueRef& self, const Items& args) {
  SUTURE_CAPTURE(found, contains(state, self, args[0]));
  if (!found && args.size() > 1) return args[1];
  SUTURE_CAPTURE(value, get_item(state, self, args[0]));
  SUTURE_CAPTURE_VOID(delete_item(state, self, args[0]));
  return value;
}

// update(other, **values)
Outcome dict_update_keywords(CaptureState& state, const ValueRef& self, const CallArguments& args) {
  if (!args.positional.empty()) SUTURE_CAPTURE_VOID(dict_merge(state, self, args.positional[0], false));
  for (const auto& [name, value] : args.keyword) {
    const PyRef key = PyRef::steal(PyUnicode_FromString(name.c_str()));
    if (!key) return Error::python("capture");
    SUTURE_CAPTURE_VOID(set_item(state, self, state.literal(key), value));
  }
  return state.none();
}

Outcome dict_copy(CaptureState& state, const ValueRef& self, const Items&) {
  SUTURE_CAPTURE_VOID(state.materialize(self));
  auto copy = std::make_shared<DictValue>();
  copy->items = as_dict(self)->items;
  return ValueRef(copy);
}

Outcome dict_clear(CaptureState& state, const ValueRef& self, const Items&) {
  SUTURE_CAPTURE_VOID(touch(state, self));
  while (!as_dict(self)->items.empty()) dict_erase(*as_dict(self), as_dict(self)->items.size() - 1);
  return state.none();
}

// --- set: constants only -----------------------------------------------------------------------------------
Outcome set_add(CaptureState& state, const ValueRef& self, const Items& args) {
  if (!state.python_constant(args[0])) return state.unknown_break(args[0]);
  SUTURE_CAPTURE(found, contains(state, self, args[0]));
  if (!found) items_of(self).push_back(args[0]);
  return state.none();
}

struct Row {
  ValueKind kind;
  std::string_view name;
  size_t least, most;
  Method method;
};
constexpr std::array kMethods = {
    Row{ValueKind::kList, "append", 1, 1, list_append},
    Row{ValueKind::kList, "extend", 1, 1, list_extend_method},
    Row{ValueKind::kList, "insert", 2, 2, list_insert},
    Row{ValueKind::kList, "pop", 0, 1, list_pop},
    Row{ValueKind::kList, "clear", 0, 0, list_clear},
    Row{ValueKind::kList, "reverse", 0, 0, list_reverse},
    Row{ValueKind::kList, "copy", 0, 0, list_copy},
    Row{ValueKind::kList, "index", 1, 1, sequence_index},
    Row{ValueKind::kList, "count", 1, 1, sequence_count},
    Row{ValueKind::kList, "remove", 1, 1, list_remove},
    Row{ValueKind::kTuple, "index", 1, 1, sequence_index},
    Row{ValueKind::kTuple, "count", 1, 1, sequence_count},
    Row{ValueKind::kDict, "keys", 0, 0, dict_keys},
    Row{ValueKind::kDict, "values", 0, 0, dict_values},
    Row{ValueKind::kDict, "items", 0, 0, dict_items},
    Row{ValueKind::kDict, "get", 1, 2, dict_get},
    Row{ValueKind::kDict, "setdefault", 1, 2, dict_setdefault},
    Row{ValueKind::kDict, "pop", 1, 2, dict_pop},
    Row{ValueKind::kDict, "copy", 0, 0, dict_copy},
    Row{ValueKind::kDict, "clear", 0, 0, dict_clear},
    Row{ValueKind::kSet, "add", 1, 1, set_add},
};

const Row* find_method(ValueKind kind, std::string_view name) {
  for (const Row& row : kMethods)
    if (row.kind == kind && row.name == name) return &row;
  return nullptr;
}

Outcome call_constant_method(CaptureState& state, const ValueRef& self, const std::string& name,
                             const CallArguments& args) {
  PyRef method = PyRef::steal(PyObject_GetAttrString(as_constant(self)->object.get(), name.c_str()));
  if (!method) {
    discard_error();
    return state.unknown_break(self);
  }
  return call_on_constants(state, method.get(), args);
}

}  // namespace

bool has_builtin_method(const ValueRef& self, const std::string& name) {
  switch (self->kind) {
    case ValueKind::kList:
      return PyObject_HasAttrString(reinterpret_cast<PyObject*>(&PyList_Type), name.c_str()) == 1;
    case ValueKind::kDict:
      return PyObject_HasAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), name.c_str()) == 1;
    case ValueKind::kSet:
      return PyObject_HasAttrString(reinterpret_cast<PyObject*>(&PySet_Type), name.c_str()) == 1;
    default: return find_method(self->kind, name) != nullptr;
  }
}

Outcome call_builtin_method(CaptureState& state, const ValueRef& self, const std::string& name,
                            const CallArguments& args) {
  if (as_constant(self)) return call_constant_method(state, self, name, args);
  if (self->kind == ValueKind::kDict && name == "update" && args.positional.size() <= 1)
    return dict_update_keywords(state, self, args);
  const Row* row = find_method(self->kind, name);
  if (row && args.keyword.empty() && args.positional.size() >= row->least &&
      args.positional.size() <= row->most)
    return row->method(state, self, args.positional);
  return state.make_break(BreakReason::kUnknownCall, {"Method `" + name + "` of " + state.describe(self)});
}

}  // namespace suture
