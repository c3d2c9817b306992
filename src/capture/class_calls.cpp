// isinstance, issubclass and type.
//
// How it works
//   Answers come from the classes alone. What they rest on and a program can change becomes a guard: the method
//   resolution order of a class written in Python (its bases can be assigned), the count of classes registered with
//   abstract base classes, and a lookup of attributes that leaves __class__ to `object`. Objects that name a class of
//   their own as __class__ (mocks, proxies) are asked by Python, after a break.
#include "capture/known_modules.h"
#include "capture/operations.h"
#include "cpython/discard_error.h"
#include "cpython/objects.h"

namespace suture {
namespace {

// The class a question is about.
struct Asked {
  PyView type;
  SourceId source;
};

PyTypeObject* as_type(PyView object) { return reinterpret_cast<PyTypeObject*>(object); }
bool is_changeable(PyView type) { return (as_type(type)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) == 0; }

// The abstract base classes of Python's own. They run no code of their own; a subclass of the user's with a
// __subclasshook__ is asked by them too, here as at run time.
bool is_library_abc(PyView cls) {
  if (!PyType_Check(cls) || reinterpret_cast<PyObject*>(Py_TYPE(cls)) != module_object("abc", "ABCMeta"))
    return false;
  const std::string name = type_name(cls);
  return name.starts_with("numbers.") || name.starts_with("collections.abc.");
}

Captured<bool> is_registered(CaptureState& state, const Asked& asked, PyView abc) {
  Guard g;
  g.kind = GuardKind::kRegistrations;
  g.source = state.object_source(abc);
  g.number = abc_registrations();
  const int answer = PyObject_IsSubclass(asked.type, abc);
  if (answer < 0 || g.number < 0) {
    discard_error();
    return state.make_break(BreakReason::kUnknownCall, {"isinstance with " + short_repr(abc)});
  }
  state.guard(std::move(g));
  return answer == 1;
}

Captured<bool> is_subclass(CaptureState& state, const Asked& asked, PyView cls) {
  if (PyTuple_Check(cls)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cls); ++i) {
      SUTURE_CAPTURE(found, is_subclass(state, asked, PyTuple_GET_ITEM(cls, i)));
      if (found) return true;
    }
    return false;
  }
  const bool is_class = PyType_Check(cls) && Py_IS_TYPE(cls, &PyType_Type);
  if (!is_class && !is_library_abc(cls))
    return state.make_break(BreakReason::kUnknownCall, {"isinstance with " + short_repr(cls)});
  if (is_changeable(asked.type))
    state.guard_identity(state.source(SourceKind::kMroOf, asked.source), as_type(asked.type)->tp_mro);
  if (!is_class) return is_registered(state, asked, cls);
  return PyType_IsSubtype(as_type(asked.type), as_type(cls)) == 1;
}

// Python asks the object for its __class__ when type(object) alone gives no yes. Assigning __class__ to a class never
// reaches its instances; bases are guarded where the answer was found.
Captured<Unit> require_plain_class(CaptureState& state, const ValueRef& value, const Asked& asked) {
  if (!has_plain_class(asked.type))
    return state.make_break(BreakReason::kUnknownCall, {"isinstance of " + state.describe(value) +
                                                        ", which has a `__class__` of its own,"});
  if (!is_changeable(asked.type)) return Unit{};
  const std::string name = "__getattribute__";
  PyRef key = PyRef::steal(PyUnicode_InternFromString(name.c_str()));
  state.guard_identity(state.source(SourceKind::kClassAttr, asked.source, -1, name),
                       lookup_in_classes(asked.type, key.get()));
  return Unit{};
}

}  // namespace

Outcome isinstance_call(CaptureState& state, const CallArguments& args) {
  const ValueRef& value = args.positional[0];
  PyView type = state.python_type(value);
  PyRef cls = state.python_constant(args.positional[1]);
  if (!type || !cls) return state.unknown_break(type ? args.positional[1] : value);
  const Asked asked{type, value->source == kNoSource ? state.object_source(type)
                                                     : state.source(SourceKind::kTypeOf, value->source)};
  const bool certain = cls.get() == type || (PyType_Check(cls.get()) && Py_IS_TYPE(cls.get(), &PyType_Type) &&
                                             PyType_IsSubtype(as_type(type), as_type(cls.get())));
  if (!certain) SUTURE_CAPTURE_VOID(require_plain_class(state, value, asked));
  SUTURE_CAPTURE(answer, is_subclass(state, asked, cls.get()));
  return state.boolean(answer);
}

Outcome issubclass_call(CaptureState& state, const CallArguments& args) {
  PyRef type = state.python_constant(args.positional[0]), cls = state.python_constant(args.positional[1]);
  if (!type || !cls || !PyType_Check(type.get())) return state.unknown_break(args.positional[0]);
  SUTURE_CAPTURE(answer, is_subclass(state, {type.get(), state.object_source(type.get())}, cls.get()));
  return state.boolean(answer);
}

Outcome type_call(CaptureState& state, const CallArguments& args) {
  const ValueRef& value = args.positional[0];
  PyView type = state.python_type(value);
  if (!type) return state.unknown_break(value);
  const SourceId source =
      value->source == kNoSource ? kNoSource : state.source(SourceKind::kTypeOf, value->source);
  return std::make_shared<ConstantValue>(PyRef::borrow(type), source);
}

}  // namespace suture
