// Attribute access on values.
//
// How it works
//   What cpython/objects.h finds without running code becomes a value with source parent.name; the guard on
//   that source covers shadowing too, because the same lookup fetches it at every call. Properties are
//   inlined like calls. Attributes of frozen modules are constants without guards (known_modules.h).
#include <fmt/format.h>

#include <optional>

#include "capture/folding.h"
#include "capture/known_modules.h"
#include "capture/numpy_calls.h"
#include "capture/operations.h"
#include "cpython/discard_error.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"

namespace suture {
namespace {

using Where = AttributeLookup::Where;

PyRef name_object(const std::string& name) { return PyRef::steal(PyUnicode_InternFromString(name.c_str())); }

Break unsupported(CaptureState& state, const ValueRef& object, const std::string& name) {
  return state.make_break(BreakReason::kUnsupportedAttribute,
                          {fmt::format("`{}` of {}", name, state.describe(object))});
}

Break no_attribute(CaptureState& state, const ValueRef& object, const std::string& name) {
  return state.make_break(BreakReason::kWouldRaise,
                          {fmt::format("{} has no attribute '{}'", state.describe(object), name)});
}

// A value for something that is guarded by identity or cannot change: an attribute of a known module, of a
// builtin class.
Outcome fixed_value(CaptureState& state, PyView o) {
  if (is_numpy_callable(o) || PyCFunction_Check(o) || PyType_Check(o) || PyModule_Check(o) ||
      is_plain_immutable(o) || Py_IS_TYPE(o, &PyMethodDescr_Type))
    return state.constant(PyRef::borrow(o));
  if (is_python_function(o)) return state.wrap(o, state.object_source(o));
  return ValueRef();
}

SourceId attribute_source(CaptureState& state, SourceId owner, const std::string& name, Where where) {
  return state.source(SourceKind::kAttr, owner, static_cast<int>(binding_of(where)), name);
}

Outcome module_attribute(CaptureState& state, const ValueRef& object, PyView module,
                         const std::string& name) {
  AttributeLookup found = lookup_attribute(module, name_object(name).get());
  if (found.where == Where::kMissing) return no_attribute(state, object, name);
  if (found.where == Where::kOpaque && is_known_module(module)) {
    // A part of NumPy that is imported when it is first asked for. What the module only answers with, and does
    // not keep, cannot be guarded.
    SUTURE_CAPTURE(loaded,
                   fold(state, [&] { return PyRef::steal(PyObject_GetAttrString(module, name.c_str())); }));
    found = lookup_attribute(module, name_object(name).get());
  }
  // A module may be given a class of its own, whose methods and properties are bound.
  if (!found.value || binding_of(found.where) != Binding::kNone) return unsupported(state, object, name);
  const SourceId owner = object->source != kNoSource ? object->source : state.object_source(module);
  const SourceId source = state.source(SourceKind::kAttr, owner, -1, name);
  if (is_known_module(module)) {
    SUTURE_CAPTURE(fixed, fixed_value(state, found.value.get()));
    if (fixed) {
      state.guard_identity(source, found.value.get());
      return fixed;
    }
  }
  return state.wrap(found.value.get(), source);
}

Outcome class_attribute(CaptureState& state, const ValueRef& object, PyView type, const std::string& name) {
  if (!(reinterpret_cast<PyTypeObject*>(type)->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    PyRef value = PyRef::steal(PyObject_GetAttrString(type, name.c_str()));
    if (!value) discard_error();
    if (!value) return unsupported(state, object, name);
    SUTURE_CAPTURE(fixed, fixed_value(state, value.get()));
    return fixed ? Outcome(fixed) : unsupported(state, object, name);
  }
  AttributeLookup found = lookup_attribute(type, name_object(name).get());
  if (found.where == Where::kMissing) return no_attribute(state, object, name);
  if (!found.value || object->source == kNoSource) return unsupported(state, object, name);
  SUTURE_CAPTURE(value,
                 state.wrap(found.value.get(), attribute_source(state, object->source, name, found.where)));
  // A method of the metaclass is bound to the class, too.
  if (found.where != Where::kClassMethod && found.where != Where::kMethod) return value;
  return std::make_shared<BoundMethodValue>(value, object);
}

Outcome constant_attribute(CaptureState& state, const ValueRef& object, const std::string& name) {
  PyView o = as_constant(object)->object.get();
  if (PyModule_Check(o)) return module_attribute(state, object, o, name);
  if (PyType_Check(o)) return class_attribute(state, object, o, name);
  const bool is_ufunc = reinterpret_cast<PyObject*>(Py_TYPE(o)) == numpy_object("ufunc");
  if (!is_plain_immutable(o) && !is_ufunc) return unsupported(state, object, name);
  SUTURE_CAPTURE(value, fold(state, [&] { return PyRef::steal(PyObject_GetAttrString(o, name.c_str())); }));
  if (!value) return unsupported(state, object, name);
  if (PyCFunction_Check(value.get()) && !is_ufunc) return std::make_shared<BuiltinMethodValue>(object, name);
  if (is_plain_immutable(value.get()) || PyTuple_CheckExact(value.get())) return state.literal(value);
  SUTURE_CAPTURE(fixed, fixed_value(state, value.get()));
  return fixed ? Outcome(fixed) : unsupported(state, object, name);
}

Outcome instance_attribute(CaptureState& state, const ValueRef& object, const std::string& name) {
  auto* instance = as_instance(object);
  for (const auto& [written, value] : instance->written)
    if (written == name) return value;
  AttributeLookup found = lookup_attribute(instance->object.get(), name_object(name).get());
  if (found.where == Where::kMissing) return no_attribute(state, object, name);
  if (found.where == Where::kOpaque || !found.value) return unsupported(state, object, name);
  const SourceId source = attribute_source(state, object->source, name, found.where);
  if (found.where == Where::kProperty) {
    PyRef getter = PyRef::steal(PyObject_GetAttrString(found.value.get(), "fget"));
    if (!getter || !is_python_function(getter.get())) return unsupported(state, object, name);
    SUTURE_CAPTURE(function, state.wrap(getter.get(), state.source(SourceKind::kAttr, source, -1, "fget")));
    return call(state, function, {{object}, {}});
  }
  SUTURE_CAPTURE(value, state.wrap(found.value.get(), source));
  if (found.where == Where::kMethod) return std::make_shared<BoundMethodValue>(value, object);
  if (found.where != Where::kClassMethod) return value;
  PyView type = reinterpret_cast<PyObject*>(Py_TYPE(instance->object.get()));
  auto cls =
      std::make_shared<ConstantValue>(PyRef::borrow(type), state.source(SourceKind::kTypeOf, object->source));
  return std::make_shared<BoundMethodValue>(value, ValueRef(cls));
}

// The item that a field of a namedtuple class reads; empty for any other attribute.
std::optional<size_t> item_of_getter(PyView getter) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(getter)) != module_object("_collections", "_tuplegetter"))
    return std::nullopt;
  PyRef parts = PyRef::steal(PyObject_CallMethod(getter, "__reduce__", nullptr));  // (type, (index, doc))
  PyView made_of = parts && PyTuple_CheckExact(parts.get()) ? PyTuple_GET_ITEM(parts.get(), 1) : nullptr;
  PyView index = made_of && PyTuple_CheckExact(made_of) ? PyTuple_GET_ITEM(made_of, 0) : nullptr;
  const size_t item = index ? PyLong_AsSize_t(index) : 0;
  if (index && !PyErr_Occurred()) return item;
  discard_error();
  return std::nullopt;
}

Outcome namedtuple_attribute(CaptureState& state, const ValueRef& object, const std::string& name) {
  auto& sequence = *as_tuple(object);
  PyView getter = lookup_in_classes(sequence.type.get(), name_object(name).get());
  const std::optional<size_t> index = getter ? item_of_getter(getter) : std::nullopt;
  if (!index || *index >= sequence.items.size()) return unsupported(state, object, name);
  const SourceId type = object->source == kNoSource ? state.object_source(sequence.type.get())
                                                    : state.source(SourceKind::kTypeOf, object->source);
  state.guard_identity(state.source(SourceKind::kClassAttr, type, -1, name), getter);
  return state.item(sequence, *index);
}

// Reading a method of a C type runs no code: the break then happens at the call, with its arguments.
bool is_c_method(PyView object, const std::string& name) {
  PyTypeObject* type = Py_TYPE(object);
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_getattro != PyObject_GenericGetAttr) return false;
  PyRef found = PyRef::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name.c_str()));
  if (!found) discard_error();
  if (!found) return false;
  return Py_IS_TYPE(found.get(), &PyMethodDescr_Type) ||
         std::string_view(Py_TYPE(found.get())->tp_name).ends_with("cython_function_or_method");
}

Outcome function_attribute(CaptureState& state, const ValueRef& object, const std::string& name) {
  PyView f = as_function(object)->function.get();
  if (f && (name == "__name__" || name == "__qualname__" || name == "__module__" || name == "__doc__")) {
    PyRef value = lookup_attribute(f, name_object(name).get()).value;
    if (value && is_plain_immutable(value.get())) {
      // A function that no source names is fixed by what it was found through.
      if (object->source == kNoSource) return state.constant(std::move(value));
      return state.wrap(value.get(), state.source(SourceKind::kAttr, object->source, -1, name));
    }
  }
  return unsupported(state, object, name);
}

// The first class behind super's own in the method resolution order that defines the name.
Outcome super_attribute(CaptureState& state, const ValueRef& object, const std::string& name) {
  auto& super = static_cast<SuperValue&>(*object);
  PyView found =
      lookup_behind(as_instance(super.self)->object.get(), super.type.get(), name_object(name).get());
  if (!found || !is_python_function(found)) return unsupported(state, object, name);
  const SourceId source = state.source(SourceKind::kSuper, super.self->source, -1, name, super.type);
  SUTURE_CAPTURE(function, state.wrap(found, source));
  return std::make_shared<BoundMethodValue>(function, super.self);
}

Outcome range_attribute(CaptureState& state, const ValueRef& object, const std::string& name) {
  auto* range = as_range(object);
  if (name == "start") return state.python_int(range->start);
  if (name == "stop") return state.python_int(range->stop);
  if (name == "step") return state.python_int(range->step);
  return unsupported(state, object, name);
}

Outcome slice_attribute(CaptureState& state, const ValueRef& object, const std::string& name) {
  auto& slice = static_cast<SliceValue&>(*object);
  if (name == "start") return slice.start;
  if (name == "stop") return slice.stop;
  if (name == "step") return slice.step;
  return unsupported(state, object, name);
}

}  // namespace

Outcome get_attribute(CaptureState& state, const ValueRef& object, const std::string& name) {
  switch (object->kind) {
    case ValueKind::kArray:
      if (is_weak(state.type_of(*as_array(object)).value_class)) return unsupported(state, object, name);
      return array_attribute(state, object, name);
    case ValueKind::kConstant: return constant_attribute(state, object, name);
    case ValueKind::kInstance: return instance_attribute(state, object, name);
    case ValueKind::kFunction: return function_attribute(state, object, name);
    case ValueKind::kSuper: return super_attribute(state, object, name);
    case ValueKind::kRange: return range_attribute(state, object, name);
    case ValueKind::kSlice: return slice_attribute(state, object, name);
    case ValueKind::kTuple:
      if (as_tuple(object)->type) return namedtuple_attribute(state, object, name);
      break;
    case ValueKind::kUnknown:
      if (PyView o = as_unknown(object)->object.get(); o && !is_any_ndarray(o) && is_c_method(o, name))
        return std::make_shared<BuiltinMethodValue>(object, name);
      return state.unknown_break(object);
    default: break;
  }
  if (has_builtin_method(object, name)) return std::make_shared<BuiltinMethodValue>(object, name);
  return unsupported(state, object, name);
}

namespace {

// Assignment goes to the instance for as long as its class has the same __setattr__ and, under the name, nothing or a
// thing of the same type, which therefore still does not take assignments.
void guard_plain_assignment(CaptureState& state, const ValueRef& object, const std::string& name) {
  const SourceId type = state.source(SourceKind::kTypeOf, object->source);
  PyView cls = reinterpret_cast<PyObject*>(Py_TYPE(as_instance(object)->object.get()));
  const std::string setter = "__setattr__";
  state.guard_identity(state.source(SourceKind::kClassAttr, type, -1, setter),
                       lookup_in_classes(cls, name_object(setter).get()));
  PyView on_class = lookup_in_classes(cls, name_object(name).get());
  if (on_class) return state.guard_type(state.source(SourceKind::kClassAttr, type, -1, name), on_class);
  state.guard_absent(type, name);
}

}  // namespace

Captured<Unit> set_attribute(CaptureState& state, const ValueRef& object, const std::string& name,
                             const ValueRef& value) {
  auto* instance = as_instance(object);
  const std::string what = fmt::format("Attribute `{}` of {} is set", name, state.describe(object));
  if (!instance) return state.make_break(BreakReason::kUnsupportedMutation, {what});
  PyTypeObject* type = Py_TYPE(instance->object.get());
  AttributeLookup on_type = lookup_attribute(reinterpret_cast<PyObject*>(type), name_object(name).get());
  const bool is_slot =
      on_type.where == Where::kTypeData && Py_IS_TYPE(on_type.value.get(), &PyMemberDescr_Type);
  const bool is_data =
      on_type.where == Where::kTypeData && Py_TYPE(on_type.value.get())->tp_descr_set && !is_slot;
  const bool plain = type->tp_setattro == PyObject_GenericSetAttr && on_type.where != Where::kOpaque &&
                     !is_data && (type->tp_dictoffset != 0 || is_slot);
  if (!plain) return state.make_break(BreakReason::kUnsupportedMutation, {what + " by code of its class"});
  guard_plain_assignment(state, object, name);
  state.mark_mutated(object);
  for (auto& [written, old] : instance->written) {
    if (written != name) continue;
    old = value;
    return Unit{};
  }
  instance->written.emplace_back(name, value);
  return Unit{};
}

Outcome class_method(CaptureState& state, const ValueRef& object, const std::string& name) {
  auto* instance = as_instance(object);
  if (!instance) return ValueRef();
  PyView type = reinterpret_cast<PyObject*>(Py_TYPE(instance->object.get()));
  const SourceId owner = state.source(SourceKind::kTypeOf, object->source);
  if (!lookup_in_classes(type, name_object(name).get())) return state.guard_absent(owner, name), ValueRef();
  AttributeLookup found = lookup_attribute(type, name_object(name).get());
  if (found.where != Where::kTypeData || !is_python_function(found.value.get()))
    return unsupported(state, object, name);
  SUTURE_CAPTURE(function, state.wrap(found.value.get(), state.source(SourceKind::kAttr, owner, -1, name)));
  return std::make_shared<BoundMethodValue>(function, object);
}

}  // namespace suture
