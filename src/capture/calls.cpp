// Calls: by kind of the callable.
#include <fmt/format.h>

#include "capture/capture_observer.h"
#include "capture/folding.h"
#include "capture/frame_readers.h"
#include "capture/known_modules.h"
#include "capture/numpy_calls.h"
#include "capture/operations.h"
#include "cpython/discard_error.h"
#include "cpython/jit_callable.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"

namespace suture {
namespace {

Outcome dispatch(CaptureState& state, const ValueRef& callable, const CallArguments& args);

std::string string_attribute(PyView object, const char* name) {
  PyRef value = PyRef::steal(PyObject_GetAttrString(object, name));
  return exact_text(value.get()).value_or("");
}

// "np.linalg.norm" for a NumPy callable, as users write it.
std::string numpy_spelling(PyView callable) {
  std::string module = string_attribute(callable, "__module__");
  const std::string name = string_attribute(callable, "__name__");
  if (module.rfind("numpy", 0) != 0 || module.find("._") != std::string::npos) module = "numpy";
  return "np" + module.substr(5) + "." + (name.empty() ? "?" : name);
}

// "math.gcd"; empty when it has no name.
std::string full_name(PyView callable) {
  const std::string name = string_attribute(callable, "__qualname__");
  const std::string module = name.empty() ? "" : string_attribute(callable, "__module__");
  return module.empty() || module == "builtins" ? name : module + "." + name;
}

std::string spelled(CaptureState& state, const ValueRef& callable) {
  PyView o = nullptr;
  if (auto* constant = as_constant(callable)) o = constant->object.get();
  if (auto* unknown = as_unknown(callable)) o = unknown->object.get();
  if (o && (PyCFunction_Check(o) || PyType_Check(o) || is_jit_callable(o))) {
    const std::string name = full_name(o);
    if (!name.empty()) return "`" + name + "`";
  }
  return state.describe(callable);
}

// What a function of constants cannot be called with during capture.
Break unknown_argument(CaptureState& state, PyView callable, const CallArguments& args,
                       const ValueRef& value) {
  if (!as_array(value)) return state.unknown_break(value);
  const std::string call =
      state.describe_call(full_name(callable), value, args.positional.size() + args.keyword.size() > 1);
  if (!is_python_number(state, value)) return state.make_break(BreakReason::kScalarConversion, {call});
  return state.make_break(BreakReason::kPythonScalarMath,
                          {call + " with a Python number that is known only at run time"});
}

Break unknown_call(CaptureState& state, const ValueRef& callable) {
  if (auto* unknown = as_unknown(callable);
      unknown && unknown->object && is_jit_callable(unknown->object.get()))
    return state.make_break(BreakReason::kDisabled, {spelled(state, callable)});
  auto* constant = as_constant(callable);
  if (constant && PyExceptionClass_Check(constant->object.get()))
    return state.make_break(BreakReason::kException, {spelled(state, callable) + " is raised"});
  return state.make_break(BreakReason::kUnknownCall, {spelled(state, callable)});
}

Outcome call_function(CaptureState& state, const ValueRef& callable, const CallArguments& args) {
  auto& function = *as_function(callable);
  if (PyView f = function.function.get()) {
    if (has_mark(f, "_suture_graph_break")) {
      PyRef message = args.positional.empty() ? PyRef() : state.python_constant(args.positional[0]);
      const std::string text = message ? exact_text(message.get()).value_or(short_repr(message.get())) : "";
      return state.make_break(BreakReason::kUserBreak, {text.empty() ? "" : ": " + text});
    }
    if (has_mark(f, "_suture_disable"))
      return state.make_break(BreakReason::kDisabled, {state.describe(callable)});
  }
  return inline_call(state, function, args);
}

// Where the function is that makes instances of a namedtuple class, as collections.namedtuple wrote it; kNoSource when
// the class is made in another way. Calls of the class stay calls of it.
SourceId namedtuple_maker(CaptureState& state, PyView type) {
  const auto name = [](const char* text) { return PyRef::steal(PyUnicode_InternFromString(text)); };
  PyView maker = lookup_in_classes(type, name("__new__").get());
  PyRef function = maker && Py_IS_TYPE(maker, &PyStaticMethod_Type)
                       ? PyRef::steal(PyObject_GetAttrString(maker, "__func__"))
                       : PyRef();
  const bool written_there = function && is_python_function(function.get()) &&
                             PyDict_GetItemString(function_globals(function.get()), "_tuple_new");
  if (!written_there || !Py_IS_TYPE(type, &PyType_Type) || !has_tuple_operations(type) ||
      reinterpret_cast<PyTypeObject*>(type)->tp_init != PyBaseObject_Type.tp_init)
    return kNoSource;
  const SourceId owner = state.object_source(type);
  state.guard_tuple_operations(owner);
  state.guard_identity(state.source(SourceKind::kClassAttr, owner, -1, "__init__"),
                       lookup_in_classes(type, name("__init__").get()));
  const SourceId method = state.source(SourceKind::kClassAttr, owner, -1, "__new__");
  state.guard_identity(method, maker);
  return state.source(SourceKind::kAttr, method, -1, "__func__");
}

// Instances of collections.namedtuple classes are tuples with a type.
Outcome call_namedtuple(CaptureState& state, PyView type, const CallArguments& args) {
  PyView fields = PyDict_GetItemString(reinterpret_cast<PyTypeObject*>(type)->tp_dict, "_fields");
  const SourceId maker = namedtuple_maker(state, type);
  if (!fields || !PyTuple_CheckExact(fields) || maker == kNoSource) return ValueRef();
  PyView defaults = PyFunction_GET_DEFAULTS(fetch(state.guards.sources, maker, state.input));
  const Py_ssize_t with_default = defaults ? PyTuple_GET_SIZE(defaults) : 0;
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(fields));
  if (args.positional.size() > count) return ValueRef();
  std::vector<ValueRef> items = args.positional;
  items.resize(count);
  for (size_t i = 0; i < count; ++i) {
    PyView field = PyTuple_GET_ITEM(fields, static_cast<Py_ssize_t>(i));
    for (const auto& [name, value] : args.keyword)
      if (PyUnicode_CompareWithASCIIString(field, name.c_str()) == 0) items[i] = value;
    const auto from_end = static_cast<Py_ssize_t>(i) - static_cast<Py_ssize_t>(count);
    if (!items[i] && -from_end <= with_default) {
      const SourceId source = state.source(SourceKind::kDefaultOf, maker, static_cast<int>(from_end));
      SUTURE_CAPTURE(value, state.wrap(PyTuple_GET_ITEM(defaults, with_default + from_end), source));
      items[i] = std::move(value);
    }
    if (!items[i]) return ValueRef();
  }
  if (args.positional.size() + args.keyword.size() > count) return ValueRef();
  auto tuple = std::make_shared<SequenceValue>(ValueKind::kTuple, std::move(items));
  tuple->type = PyRef::borrow(type);
  return ValueRef(std::move(tuple));
}

bool is_namedtuple_class(PyView o) {
  if (!PyType_Check(o)) return false;
  auto* type = reinterpret_cast<PyTypeObject*>(o);
  return type->tp_base == &PyTuple_Type && type->tp_dict && PyDict_GetItemString(type->tp_dict, "_make") &&
         PyDict_GetItemString(type->tp_dict, "_fields");
}

// np.errstate(...) with constants: made once here to see that it can be made, and again where it is entered.
Outcome call_errstate(CaptureState& state, const ValueRef& callable, const CallArguments& args) {
  if (!args.positional.empty()) return unknown_call(state, callable);
  PyView type = as_constant(callable)->object.get();
  PyRef keyword = PyRef::steal(PyDict_New()), none = PyRef::steal(PyTuple_New(0));
  auto context = std::make_shared<ContextValue>(PyRef::borrow(type));
  for (const auto& [name, value] : args.keyword) {
    PyRef object = state.python_constant(value);
    if (!object || !is_plain_immutable(object.get())) return unknown_call(state, callable);
    if (PyDict_SetItemString(keyword.get(), name.c_str(), object.get()) < 0) return Error::python("capture");
    context->keyword.emplace_back(name, value);
  }
  PyRef made = PyRef::steal(PyObject_Call(type, none.get(), keyword.get()));
  if (made) return ValueRef(std::move(context));
  const std::string text = pending_exception_text();
  discard_error();
  return state.make_break(BreakReason::kWouldRaise, {text});
}

Outcome call_constant(CaptureState& state, const ValueRef& callable, const CallArguments& args) {
  PyView o = as_constant(callable)->object.get();
  if (o == numpy_object("errstate")) return call_errstate(state, callable, args);
  if (is_numpy_callable(o)) {
    SUTURE_CAPTURE_VOID(state.materialize(args));
    return call_numpy(state, o, args, numpy_spelling(o));
  }
  SUTURE_CAPTURE(result, call_builtin(state, o, args));
  if (result) return result;
  if (is_namedtuple_class(o)) {
    SUTURE_CAPTURE(tuple, call_namedtuple(state, o, args));
    if (tuple) return tuple;
  }
  if (is_pure_callable(o)) return call_on_constants(state, o, args);
  return unknown_call(state, callable);
}

Outcome call_partial(CaptureState& state, const PartialValue& partial, const CallArguments& args) {
  CallArguments all;
  all.positional = partial.positional;
  all.positional.insert(all.positional.end(), args.positional.begin(), args.positional.end());
  all.keyword = args.keyword;
  for (const auto& [name, value] : partial.keyword) {
    bool given = false;
    for (const auto& [other, unused] : args.keyword) given |= other == name;
    if (!given) all.keyword.emplace_back(name, value);
  }
  return dispatch(state, partial.function, all);
}

std::optional<Break> frame_break(CaptureState& state, const ValueRef& callable, PyView object,
                                 const CallArguments& args) {
  const FrameUse use = frame_use(object, args.positional.size());
  if (use == FrameUse::kNone) return std::nullopt;
  return state.make_break(use == FrameUse::kContents ? BreakReason::kReadsFrame : BreakReason::kReadsStack,
                          {spelled(state, callable)});
}

Outcome call_by_kind(CaptureState& state, const ValueRef& callable, const CallArguments& args) {
  switch (callable->kind) {
    case ValueKind::kFunction: return call_function(state, callable, args);
    case ValueKind::kBoundMethod: {
      auto& method = static_cast<BoundMethodValue&>(*callable);
      CallArguments all = args;
      all.positional.insert(all.positional.begin(), method.self);
      return dispatch(state, method.function, all);
    }
    case ValueKind::kArrayMethod: {
      auto& method = static_cast<ArrayMethodValue&>(*callable);
      SUTURE_CAPTURE_VOID(state.materialize(args));
      return call_array_method(state, method.array, method.name, args);
    }
    case ValueKind::kBuiltinMethod: {
      auto& method = static_cast<BuiltinMethodValue&>(*callable);
      return call_builtin_method(state, method.self, method.name, args);
    }
    case ValueKind::kPartial: return call_partial(state, static_cast<PartialValue&>(*callable), args);
    case ValueKind::kConstant: return call_constant(state, callable, args);
    case ValueKind::kInstance: {
      SUTURE_CAPTURE(method, class_method(state, callable, "__call__"));
      if (method) return dispatch(state, method, args);
      return unknown_call(state, callable);
    }
    default: return unknown_call(state, callable);
  }
}

Outcome dispatch(CaptureState& state, const ValueRef& callable, const CallArguments& args) {
  if (auto* constant = as_constant(callable))
    if (auto reason = frame_break(state, callable, constant->object.get(), args)) return *std::move(reason);
  Outcome outcome = call_by_kind(state, callable, args);
  // A function that was captured to its end reads no frame.
  auto* function = is_value(outcome) ? nullptr : as_function(callable);
  if (function && function->function && std::holds_alternative<Break>(outcome))
    if (auto reason = frame_break(state, callable, function->function.get(), args)) return *std::move(reason);
  return outcome;
}

void show_call(CaptureState& state, CaptureObserver& observer, const UserSpan& where,
               const ValueRef& callable, size_t nodes_before, const Outcome& outcome) {
  const ValueRef* target = &callable;
  if (callable->kind == ValueKind::kBoundMethod) target = &static_cast<BoundMethodValue&>(*callable).function;
  const auto* reason = std::get_if<Break>(&outcome);
  const auto* error = std::get_if<Error>(&outcome);
  const char* word = reason || error                           ? "broke"
                     : (*target)->kind == ValueKind::kFunction ? "inlined"
                     : state.graph.nodes.size() > nodes_before ? "captured"
                                                               : "evaluated";
  observer.call(where, static_cast<int>(state.active.size()), spelled(state, callable), word,
                reason  ? reason->title()
                : error ? error->message
                        : std::string());
}

}  // namespace

Outcome call(CaptureState& state, const ValueRef& callable, const CallArguments& args) {
  CaptureObserver* observer = state.options.observer;
  if (!observer || !observer->wants_calls) return dispatch(state, callable, args);
  const UserSpan where = state.place();
  const size_t nodes = state.graph.nodes.size();
  Outcome outcome = dispatch(state, callable, args);
  show_call(state, *observer, where, callable, nodes, outcome);
  return outcome;
}

// The real call on real objects: results are those Python gives, exceptions become breaks so that Python
// raises them.
Outcome call_on_constants(CaptureState& state, PyView callable, const CallArguments& args) {
  PyRef positional = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  PyRef keyword = PyRef::steal(PyDict_New());
  for (size_t i = 0; i < args.positional.size(); ++i) {
    PyRef object = state.force_constant(args.positional[i]);
    if (!object) return unknown_argument(state, callable, args, args.positional[i]);
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), object.release());
  }
  for (const auto& [name, value] : args.keyword) {
    PyRef object = state.force_constant(value);
    if (!object) return unknown_argument(state, callable, args, value);
    PyDict_SetItemString(keyword.get(), name.c_str(), object.get());
  }
  SUTURE_CAPTURE(result, fold(state, [&] {
                   return PyRef::steal(PyObject_Call(callable, positional.get(), keyword.get()));
                 }));
  if (result) return state.literal(result);
  return state.make_break(BreakReason::kPythonScalarMath,
                          {fmt::format("`{}` of constants warns", short_repr(callable))});
}

}  // namespace suture
