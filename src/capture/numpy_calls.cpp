// Which NumPy callable is this, and which adapter handles it: the table numpy_names.def at work.
#include "capture/numpy_calls.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "capture/array_adapters.h"
#include "capture/known_modules.h"
#include "cpython/discard_error.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"

namespace suture {

namespace {

struct Entry {
  std::string_view name;
  OpId op;
  numpy::Adapter adapter;
  std::string_view parameters;
};

constexpr Entry kFunctions[] = {
#define SUTURE_NUMPY(name, op, adapter, parameters) {#name, OpId::op, &numpy::adapter, parameters},
#include "capture/numpy_names.def"
};
constexpr Entry kMethods[] = {
#define SUTURE_NUMPY_METHOD(name, op, adapter, parameters) {#name, OpId::op, &numpy::adapter, parameters},
#include "capture/numpy_names.def"
};

bool starts_with(const char* text, const char* prefix) {
  return text && std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

bool names_numpy(PyView module) {
  const std::string name = exact_text(module).value_or("");
  return name == "numpy" || name.starts_with("numpy.");
}

// __module__ of an object whose type is a C type of CPython's or NumPy's: reading it runs no user code.
bool belongs_to_numpy(PyView object) {
  PyRef module = PyRef::steal(PyObject_GetAttrString(object, "__module__"));
  discard_error();
  return names_numpy(module.get());
}

bool is_numpy_type(PyView object) {
  return PyType_Check(object) && Py_TYPE(object) == &PyType_Type &&
         starts_with(reinterpret_cast<PyTypeObject*>(object)->tp_name, "numpy.");
}

std::string name_of(PyView callable) {
  if (PyType_Check(callable)) {
    const char* full = reinterpret_cast<PyTypeObject*>(callable)->tp_name;
    const char* dot = std::strrchr(full, '.');
    return dot ? dot + 1 : full;
  }
  PyRef name = PyRef::steal(PyObject_GetAttrString(callable, "__name__"));
  return exact_text(name.get()).value_or("");
}

const Entry* find(std::span<const Entry> entries, std::string_view name) {
  for (const Entry& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

const Entry* function_entry(PyView callable) {
  const Entry* entry = find(kFunctions, name_of(callable));
  return entry && numpy_object(entry->name) == callable ? entry : nullptr;
}

// The name by which the function is known to NumPy; the user's spelling may use an alias or another module
// name.
std::string canonical_name(const Entry& entry) { return "np." + std::string(entry.name); }

}  // namespace

bool is_numpy_callable(PyView object) {
  if (!object || !PyCallable_Check(object)) return false;
  if (PyType_Check(object))
    return is_numpy_type(object) || function_entry(object);  // finfo is a class made in Python
  PyView type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  const char* type_name = Py_TYPE(object)->tp_name;
  if (type == numpy_object("ufunc")) return true;
  const bool known_kind = starts_with(type_name, "numpy._ArrayFunctionDispatcher") ||
                          PyCFunction_Check(object) || PyFunction_Check(object);
  return known_kind && belongs_to_numpy(object);
}

Outcome call_numpy(CaptureState& state, PyView callable, const CallArguments& args,
                   const std::string& spelled) {
  numpy::Call call{state, spelled, OpId::kConstant, callable};
  if (const Entry* entry = function_entry(callable)) {
    call.op = entry->op;
    call.name = entry->name;
    if (spelled.empty()) call.spelled = canonical_name(*entry);
    return entry->adapter(call, {args, entry->parameters});
  }
  if (PyType_Check(callable)) {
    if (const auto dtype = dtype_from_object(callable)) return numpy::scalar_type_call(call, *dtype, args);
  }
  return call.not_compiled("there is no kernel for it yet");
}

Outcome call_array_method(CaptureState& state, const ValueRef& array, const std::string& name,
                          const CallArguments& args) {
  numpy::Call call{state, "ndarray." + name};
  const Entry* entry = find(kMethods, name);
  if (!entry) return call.not_compiled("there is no kernel for it yet");
  call.op = entry->op;
  call.name = entry->name;
  CallArguments with_self = args;
  with_self.positional.insert(with_self.positional.begin(), array);
  return entry->adapter(call, {with_self, entry->parameters});
}

}  // namespace suture
