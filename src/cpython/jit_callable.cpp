// The JitCallable type. See jit_callable.h.
//
// How a call goes
//   vectorcall -> bypassed, or watched by a debugger or profiler? the function with the same arguments
//              -> exactly the positional parameters given? they are the bound arguments, nothing is copied
//              -> otherwise BoundArguments; when they do not fit, the function is called so that its
//              TypeError is raised
//   -> FrameState::on_call
#include "cpython/jit_callable.h"

#include <structmember.h>

#include "cpython/call_binding.h"
#include "cpython/discard_error.h"
#include "cpython/hidden_frames.h"
#include "cpython/tail_call.h"
#include "cpython/tracing.h"

namespace suture {

namespace {

struct JitCallableObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;
  PyObject* weak_references;
  FrameState* state;
  ParameterLayout layout;
};

PyTypeObject* callable_type = nullptr;  // made once, kept for ever

JitCallableObject* as_callable(PyView object) noexcept {
  return reinterpret_cast<JitCallableObject*>(object);
}

const ParameterLayout& current_layout(JitCallableObject* self) noexcept {
  if (self->layout.code != PyFunction_GET_CODE(self->function))
    self->layout = ParameterLayout::of(self->function);
  return self->layout;
}

PyObject* call_bound(JitCallableObject* self, std::span<PyObject* const> bound) {
  // No level of recursion is counted here: whatever calls on is Python code, and counts its own frame.
  return self->state->on_call(self->function, bound);
}

PyObject* bind_and_call(JitCallableObject* self, const ParameterLayout& layout, PyObject* const* arguments,
                        size_t flags, PyView names) {
  BoundArguments bound;
  if (bound.bind(self->function, layout, arguments, PyVectorcall_NARGS(flags), names))
    return call_bound(self, bound.values());
  if (PyErr_ExceptionMatches(PyExc_MemoryError)) return nullptr;
  discard_error();
  return PyObject_Vectorcall(self->function, arguments, flags, names);
}

PyObject* call_state(JitCallableObject* self, PyObject* const* arguments, size_t flags, PyObject* names) {
  ++self->state->calls;
  if (self->state->bypassed() || (is_watched() && !stepping)) {
    starts_as_tail_call(nullptr);  // nobody will ask: what is called next must not take itself for it
    return PyObject_Vectorcall(self->function, arguments, flags, names);
  }
  const ParameterLayout& layout = current_layout(self);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  if (names == nullptr && count == layout.positional && layout.only_positional())
    return call_bound(self, {arguments, static_cast<size_t>(count)});
  return bind_and_call(self, layout, arguments, flags, names);
}

PyObject* callable_vectorcall(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* names) {
  JitCallableObject* self = as_callable(object);
  if (self->state == nullptr) return PyObject_Vectorcall(self->function, arguments, flags, names);
  PyObject* result = call_state(self, arguments, flags, names);
  if (result == nullptr && self->state != nullptr && self->state->hides_caller) hide_caller();
  return result;
}

int callable_traverse(PyObject* object, visitproc visit, void* arg) {
  JitCallableObject* self = as_callable(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->function);
  Py_VISIT(self->dict);
  return self->state ? self->state->traverse(visit, arg) : 0;
}

// The function stays: it is needed for as long as the object can be called, and the cycles through it are
// broken by clearing the function's own references.
int callable_clear(PyObject* object) {
  JitCallableObject* self = as_callable(object);
  Py_CLEAR(self->dict);
  if (self->state) self->state->clear();
  return 0;
}

void callable_dealloc(PyObject* object) {
  JitCallableObject* self = as_callable(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  callable_clear(object);
  delete std::exchange(self->state, nullptr);
  Py_CLEAR(self->function);
  PyObject_GC_Del(object);
  Py_DECREF(type);
}

PyObject* callable_repr(PyObject* object) {
  PyRef name = PyRef::steal(PyObject_GetAttrString(as_callable(object)->function, "__qualname__"));
  return name ? PyUnicode_FromFormat("<suture.compile of %U at %p>", name.get(), object) : nullptr;
}

PyObject* callable_descr_get(PyObject* object, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return PyRef::borrow(object).release();
  return PyMethod_New(object, instance);
}

PyObject* callable_getattro(PyObject* object, PyObject* name) {
  PyObject* own = PyObject_GenericGetAttr(object, name);
  if (own != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
  discard_error();
  return PyObject_GetAttr(as_callable(object)->function, name);
}

// What a function is made of, and the names it is known by, live in one place: the function.
PyObject* function_attribute(PyObject* object, void* name) {
  return PyObject_GetAttrString(as_callable(object)->function, static_cast<const char*>(name));
}

int set_function_attribute(PyObject* object, PyObject* value, void* name) {
  return PyObject_SetAttrString(as_callable(object)->function, static_cast<const char*>(name), value);
}

PyObject* wrapped(PyObject* object, void*) { return PyRef::borrow(as_callable(object)->function).release(); }

// The object that pickle would find under our module and qualified name; empty when there is none.
PyRef object_at_own_name(JitCallableObject* self) {
  PyRef module_name = PyRef::steal(PyObject_GetAttrString(self->function, "__module__"));
  PyRef path = PyRef::steal(PyObject_GetAttrString(self->function, "__qualname__"));
  PyRef found = module_name ? PyRef::steal(PyImport_GetModule(module_name.get())) : PyRef();
  PyRef separator = PyRef::steal(PyUnicode_FromString("."));
  PyRef parts = path && separator ? PyRef::steal(PyUnicode_Split(path.get(), separator.get(), -1)) : PyRef();
  for (Py_ssize_t i = 0; found && parts && i < PyList_GET_SIZE(parts.get()); ++i)
    found = PyRef::steal(PyObject_GetAttr(found.get(), PyList_GET_ITEM(parts.get(), i)));
  discard_error();
  return found;
}

// By reference to the qualified name, as functions are; a callable that was bound to another name than its
// function's is made again from the function, which pickles by reference itself.
PyObject* callable_reduce(PyObject* object, PyObject*) {
  JitCallableObject* self = as_callable(object);
  PyRef found = object_at_own_name(self);
  if (found.get() != self->function) return PyObject_GetAttrString(self->function, "__qualname__");
  PyRef package = PyRef::steal(PyImport_ImportModule("suture"));
  PyRef compile = package ? PyRef::steal(PyObject_GetAttrString(package.get(), "compile")) : PyRef();
  return compile ? Py_BuildValue("(O(O))", compile.get(), self->function) : nullptr;
}

// compiled.status() and compiled.reset() are functions of the extension module, which knows the compiler.
PyObject* call_core(PyObject* object, const char* function) {
  PyRef core = PyRef::steal(PyImport_ImportModule("suture._core"));
  return core ? PyObject_CallMethod(core.get(), function, "O", object) : nullptr;
}

PyObject* callable_status(PyObject* object, PyObject*) { return call_core(object, "status"); }
PyObject* callable_reset(PyObject* object, PyObject*) { return call_core(object, "reset_callable"); }

PyObject* return_self(PyObject* object, PyObject*) { return PyRef::borrow(object).release(); }

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JitCallableObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(JitCallableObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(JitCallableObject, weak_references), READONLY, nullptr},
    {},
};

// A class makes class methods of plain functions with these names; of this object, because it is told its name.
PyObject* callable_set_name(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "__set_name__ takes a class and a name");
    return nullptr;
  }
  PyObject *owner = arguments[0], *name = arguments[1];
  const bool implicit =
      PyUnicode_Check(name) && (PyUnicode_CompareWithASCIIString(name, "__init_subclass__") == 0 ||
                                PyUnicode_CompareWithASCIIString(name, "__class_getitem__") == 0);
  if (implicit) {
    PyRef method = PyRef::steal(PyClassMethod_New(self));
    if (!method || PyObject_SetAttr(owner, name, method.get()) < 0) return nullptr;
  }
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {
    {"status", callable_status, METH_NOARGS, "What was compiled, and how often it was used"},
    {"__set_name__", reinterpret_cast<PyCFunction>(callable_set_name), METH_FASTCALL, nullptr},
    {"reset", callable_reset, METH_NOARGS, "Forgets the compiled entries of this function"},
    {"__reduce__", callable_reduce, METH_NOARGS, nullptr},
    {"__copy__", return_self, METH_NOARGS, nullptr},
    {"__deepcopy__", return_self, METH_O, nullptr},
    {},
};

char name_of_name[] = "__name__", name_of_qualname[] = "__qualname__", name_of_doc[] = "__doc__",
     name_of_module[] = "__module__", name_of_defaults[] = "__defaults__",
     name_of_kwdefaults[] = "__kwdefaults__", name_of_code[] = "__code__",
     name_of_annotations[] = "__annotations__", name_of_closure[] = "__closure__",
     name_of_globals[] = "__globals__", name_of_builtins[] = "__builtins__";

PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"__wrapped__", wrapped, nullptr, nullptr, nullptr},
    {name_of_name, function_attribute, set_function_attribute, nullptr, name_of_name},
    {name_of_qualname, function_attribute, set_function_attribute, nullptr, name_of_qualname},
    {name_of_doc, function_attribute, set_function_attribute, nullptr, name_of_doc},
    {name_of_module, function_attribute, set_function_attribute, nullptr, name_of_module},
    {name_of_defaults, function_attribute, set_function_attribute, nullptr, name_of_defaults},
    {name_of_kwdefaults, function_attribute, set_function_attribute, nullptr, name_of_kwdefaults},
    {name_of_code, function_attribute, set_function_attribute, nullptr, name_of_code},
    {name_of_annotations, function_attribute, set_function_attribute, nullptr, name_of_annotations},
    {name_of_closure, function_attribute, set_function_attribute, nullptr, name_of_closure},
    {name_of_globals, function_attribute, set_function_attribute, nullptr, name_of_globals},
    {name_of_builtins, function_attribute, set_function_attribute, nullptr, name_of_builtins},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(callable_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(callable_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(callable_clear)},
    {Py_tp_repr, reinterpret_cast<void*>(callable_repr)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(callable_descr_get)},
    {Py_tp_getattro, reinterpret_cast<void*>(callable_getattro)},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, nullptr},
};

PyType_Spec spec = {
    .name = "suture.CompiledFunction",
    .basicsize = sizeof(JitCallableObject),
    .itemsize = 0,
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

bool ready_type() {
  if (callable_type == nullptr) callable_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return callable_type != nullptr;
}

}  // namespace

Status register_jit_callable_type(PyView module) {
  if (!ready_type()) return Error::python("jit_callable");
  if (PyModule_AddObjectRef(module, "CompiledFunction", reinterpret_cast<PyObject*>(callable_type)) < 0)
    return Error::python("jit_callable");
  return ok_status();
}

PyRef make_jit_callable(PyView function, std::unique_ptr<FrameState> state) {
  if (!PyFunction_Check(function)) {
    PyErr_SetString(PyExc_TypeError, "only a Python function can be compiled");
    return {};
  }
  if (!ready_type()) return {};
  JitCallableObject* self = PyObject_GC_New(JitCallableObject, callable_type);
  if (self == nullptr) return {};
  self->vectorcall = callable_vectorcall;
  self->function = PyRef::borrow(function).release();
  self->dict = nullptr;
  self->weak_references = nullptr;
  self->state = state.release();
  self->layout = ParameterLayout::of(function);
  PyObject_GC_Track(reinterpret_cast<PyObject*>(self));
  return PyRef::steal(reinterpret_cast<PyObject*>(self));
}

bool is_jit_callable(PyView object) noexcept {
  return callable_type != nullptr && Py_TYPE(object) == callable_type;
}
PyView jit_callable_function(PyView callable) noexcept { return as_callable(callable)->function; }
FrameState* jit_callable_state(PyView callable) noexcept { return as_callable(callable)->state; }

}  // namespace suture
