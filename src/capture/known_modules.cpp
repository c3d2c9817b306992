#include "capture/known_modules.h"

#include <algorithm>
#include <array>

#include "cpython/discard_error.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"

namespace suture {
namespace {

std::string utf8(PyView text) { return exact_text(text).value_or(""); }

template <size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Builtins without effects; `sum`, `min` and the like are here for constants only, arrays go through
// builtins_calls.cpp.
constexpr std::array<std::string_view, 34> kPureBuiltins = {
    "abs",    "all",   "any",    "ascii", "bin",   "bool",      "bytes",   "chr",   "complex",
    "divmod", "float", "format", "hash",  "hex",   "int",       "len",     "list",  "max",
    "min",    "oct",   "ord",    "pow",   "range", "repr",      "round",   "slice", "sorted",
    "str",    "sum",   "tuple",  "dict",  "set",   "frozenset", "callable"};
// Modules whose builtin functions are functions of their arguments.
constexpr std::array<std::string_view, 4> kPureModules = {"math", "cmath", "_operator", "_struct"};

}  // namespace

PyView module_object(const char* module, std::string_view name) {
  PyRef found = PyRef::steal(PyImport_GetModule(PyRef::steal(PyUnicode_InternFromString(module)).get()));
  if (!found || !PyModule_Check(found.get())) {
    discard_error();
    return nullptr;
  }
  return PyDict_GetItemString(PyModule_GetDict(found.get()), std::string(name).c_str());
}

PyView numpy_object(std::string_view name) {
  return PyDict_GetItemString(numpy_names(), std::string(name).c_str());
}

std::string module_name(PyView module) {
  if (!module || !PyModule_Check(module)) return {};
  return utf8(PyDict_GetItemString(PyModule_GetDict(module), "__name__"));
}

bool is_known_module(PyView module) {
  const std::string name = module_name(module);
  static constexpr std::array<std::string_view, 8> kKnown = {"numpy",     "math",     "cmath",  "operator",
                                                             "functools", "builtins", "suture", "itertools"};
  return is_one_of(name, kKnown) || name.starts_with("numpy.");
}

bool is_pure_callable(PyView callable) {
  if (PyCFunction_Check(callable)) {
    auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
    const std::string name = function->m_ml->ml_name;
    const std::string module = utf8(function->m_module);
    if (module == "builtins") return is_one_of(name, kPureBuiltins);
    return is_one_of(module, kPureModules);
  }
  if (!PyType_Check(callable)) return false;
  auto* type = reinterpret_cast<PyTypeObject*>(callable);
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && is_one_of(type->tp_name, kPureBuiltins);
}

bool is_numpy_dtype(PyView object) {
  return std::string_view(Py_TYPE(Py_TYPE(object))->tp_name) == "numpy._DTypeMeta";
}

bool is_plain_immutable(PyView object) {
  if (object == Py_None || object == Py_Ellipsis || object == Py_NotImplemented || PyBool_Check(object))
    return true;
  if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyComplex_CheckExact(object)) return true;
  if (PyUnicode_CheckExact(object) || PyBytes_CheckExact(object)) return true;
  if (PyFrozenSet_CheckExact(object) || PySlice_Check(object) || PyRange_Check(object)) return true;
  if (is_numpy_dtype(object) || numpy_scalar_dtype(object)) return true;
  PyView type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  return type == numpy_object("finfo") || type == numpy_object("iinfo");
}

bool has_mark(PyView callable, const char* mark) {
  PyView dict = nullptr;
  if (PyFunction_Check(callable)) dict = reinterpret_cast<PyFunctionObject*>(callable)->func_dict;
  PyView value = dict ? PyDict_GetItemString(dict, mark) : nullptr;
  return value == Py_True;
}

}  // namespace suture
