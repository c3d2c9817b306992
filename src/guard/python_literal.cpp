// See python_literal.h. Only exact builtin and NumPy types are written by value, as guards compare only those by value.
#include "guard/python_literal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpython/discard_error.h"
#include "cpython/ndarray.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "guard/constants.h"

namespace suture {
namespace {

constexpr size_t kLongestLiteral = 10000;  // bytes; beyond it the object stands in the table
constexpr int kDeepestLiteral = 16;
constexpr size_t kLongestName = 48;

std::string text_of(PyRef text) {
  if (!text) discard_error();
  std::string out = exact_text(text.get()).value_or("");
  return out.size() > kLongestLiteral ? "" : out;
}

// Python refuses to read or print more than some thousand decimal digits; hexadecimal has no limit.
std::string int_text(PyView value) {
  const bool short_enough = _PyLong_NumBits(value) <= 64;
  return text_of(PyRef::steal(short_enough ? PyObject_Repr(value) : PyNumber_ToBase(value, 16)));
}

PyView builtin_names() { return PyEval_GetBuiltins(); }

std::string string_item(PyView dict, const char* key) {
  PyView value = dict ? PyDict_GetItemString(dict, key) : nullptr;
  return exact_text(value).value_or("");
}

PyView names_of(PyView owner) {
  if (PyModule_CheckExact(owner)) return PyModule_GetDict(owner);
  return PyType_Check(owner) ? reinterpret_cast<PyTypeObject*>(owner)->tp_dict : nullptr;
}

// What `module` has under a dotted path, without asking anything but dicts; null: nothing.
PyView at_path(PyView module, std::string_view path) {
  PyView at = module;
  while (at != nullptr && !path.empty()) {
    const size_t dot = std::min(path.find('.'), path.size());
    PyView names = names_of(at);
    at = names ? PyDict_GetItemString(names, std::string(path.substr(0, dot)).c_str()) : nullptr;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return at;
}

PyView loaded_module(const std::string& name) {
  PyView modules = PyImport_GetModuleDict();
  PyView module = modules ? PyDict_GetItemString(modules, name.c_str()) : nullptr;
  return module && PyModule_CheckExact(module) ? module : nullptr;
}

// Importing it runs nothing of the program's.
bool may_be_imported(const std::string& module) {
  const std::string root = module.substr(0, module.find('.'));
  if (root == "numpy") return true;
  PyView known = PySys_GetObject("stdlib_module_names");
  PyRef name = PyRef::steal(PyUnicode_FromStringAndSize(root.data(), static_cast<Py_ssize_t>(root.size())));
  const bool found = known && name && PyAnySet_Check(known) && PySet_Contains(known, name.get()) == 1;
  discard_error();
  return found && root != "__main__";
}

// Module and qualified name that a class, function or builtin gives for itself.
std::pair<std::string, std::string> own_name(PyView object) {
  if (PyType_Check(object)) {
    auto* type = reinterpret_cast<PyTypeObject*>(object);
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
      return {string_item(type->tp_dict, "__module__"),
              exact_text(reinterpret_cast<PyHeapTypeObject*>(type)->ht_qualname).value_or("")};
    const std::string name = type->tp_name;
    const size_t dot = name.rfind('.');
    return dot == std::string::npos ? std::pair{std::string("builtins"), name}
                                    : std::pair{name.substr(0, dot), name.substr(dot + 1)};
  }
  if (is_python_function(object))
    return {exact_text(reinterpret_cast<PyFunctionObject*>(object)->func_module).value_or(""),
            function_qualname(object)};
  if (PyCFunction_CheckExact(object)) {
    const auto* function = reinterpret_cast<PyCFunctionObject*>(object);
    return {exact_text(function->m_module).value_or(""), function->m_ml->ml_name};
  }
  return {};
}

// NumPy's name for one of its functions; "" when it has none.
std::string name_in_numpy(PyView object) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  std::string best;
  while (PyDict_Next(numpy_names(), &position, &key, &value)) {
    if (value != object) continue;
    const std::string name = exact_text(key).value_or("");
    if (best.empty() || name.size() < best.size()) best = name;  // numpy.max, not numpy.amax
  }
  return best;
}

}  // namespace

std::string PythonLiterals::entry(PyView object) {
  const auto known = std::ranges::find(objects_, object, [](const PyRef& ref) { return ref.get(); });
  const auto index = known - objects_.begin();
  if (known == objects_.end()) objects_.push_back(PyRef::borrow(object));
  return fmt::format("_K[{}]", index);
}

std::string PythonLiterals::of(PyView object) {
  std::string text = constant(object, 0);
  return text.empty() || text.size() > kLongestLiteral ? entry(object) : text;
}

// A literal would make an equal object, but for those of which there is one only.
std::string PythonLiterals::same(PyView object) {
  if (object == Py_None || object == Py_True || object == Py_False || object == Py_Ellipsis)
    return constant(object, 0);
  const std::string text = importable(object);
  return text.empty() ? entry(object) : text;
}

std::string PythonLiterals::call(const char* function, const std::string& arguments) {
  names_.insert(function);
  return fmt::format("{}({})", function, arguments);
}

std::string PythonLiterals::constant(PyView object, int depth) {
  if (depth > kDeepestLiteral) return "";
  if (object == Py_None) return "None";
  if (object == Py_True) return "True";
  if (object == Py_False) return "False";
  if (object == Py_Ellipsis) return "...";
  if (PyUnicode_CheckExact(object)) return text_of(PyRef::steal(PyObject_ASCII(object)));
  if (PyBytes_CheckExact(object)) return text_of(PyRef::steal(PyObject_Repr(object)));
  if (PyTuple_CheckExact(object)) {
    const std::string items = sequence(object, depth);
    return items.empty() && PyTuple_GET_SIZE(object) > 0 ? "" : "(" + items + ")";
  }
  if (PySlice_Check(object)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(object);
    std::string parts[] = {constant(slice->start, depth + 1), constant(slice->stop, depth + 1),
                           constant(slice->step, depth + 1)};
    if (std::ranges::any_of(parts, [](const auto& part) { return part.empty(); })) return "";
    return call("slice", fmt::format("{}, {}, {}", parts[0], parts[1], parts[2]));
  }
  if (PyRange_Check(object)) {
    names_.insert("range");
    return text_of(PyRef::steal(PyObject_Repr(object)));
  }
  if (PyFrozenSet_CheckExact(object)) {
    PyRef items = PyRef::steal(PySequence_Tuple(object));
    if (!items) return discard_error(), "";
    std::vector<std::string> texts;  // sets have no order; texts have
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      texts.push_back(constant(PyTuple_GET_ITEM(items.get(), i), depth + 1));
    if (std::ranges::any_of(texts, [](const auto& text) { return text.empty(); })) return "";
    std::ranges::sort(texts);
    return call("frozenset", texts.empty() ? "" : fmt::format("[{}]", fmt::join(texts, ", ")));
  }
  if (std::string text = number(object); !text.empty()) return text;
  if (std::string text = numpy_value(object); !text.empty()) return text;
  return importable(object);
}

std::string PythonLiterals::sequence(PyView tuple, int depth) {
  std::string items;
  const Py_ssize_t size = PyTuple_GET_SIZE(tuple);
  for (Py_ssize_t i = 0; i < size; ++i) {
    const std::string item = constant(PyTuple_GET_ITEM(tuple, i), depth + 1);
    if (item.empty()) return "";
    items += (i ? ", " : "") + item;
  }
  return size == 1 ? items + "," : items;
}

std::string PythonLiterals::real(double value) {
  if (std::isnan(value)) {
    const double usual = std::numeric_limits<double>::quiet_NaN();
    return std::memcmp(&value, &usual, sizeof value) == 0 ? call("float", "\"nan\"") : "";
  }
  if (std::isinf(value)) return call("float", value < 0 ? "\"-inf\"" : "\"inf\"");
  return text_of(PyRef::steal(PyObject_Repr(PyRef::steal(PyFloat_FromDouble(value)).get())));
}

std::string PythonLiterals::number(PyView object) {
  if (PyLong_CheckExact(object)) return int_text(object);
  if (PyFloat_CheckExact(object)) return real(PyFloat_AS_DOUBLE(object));
  if (!PyComplex_CheckExact(object)) return "";
  const Py_complex value = PyComplex_AsCComplex(object);
  const std::string re = real(value.real), im = real(value.imag);
  return re.empty() || im.empty() ? "" : call("complex", re + ", " + im);
}

// Scalars and dtypes that kernels hold: NumPy's number for them, and values that a Python number holds exactly.
std::string PythonLiterals::numpy_value(PyView object) {
  const bool is_dtype = PyArray_DescrCheck(object);
  const auto* descriptor = reinterpret_cast<PyArray_Descr*>(object);
  const auto scalar = is_dtype ? std::nullopt : numpy_scalar_dtype(object);
  if (!is_dtype && !scalar) return "";
  std::string text;
  if (is_dtype) {
    for (const DTypeInfo& dtype : all_dtypes())
      if (is_equal_descriptor(descriptor, dtype.id)) text = fmt::format("dtype(\"{}\")", dtype.numpy_name);
  } else {
    PyRef item = PyRef::steal(PyObject_CallMethod(object, "item", nullptr));
    if (!item) return discard_error(), "";
    const bool odd = PyFloat_CheckExact(item.get()) && std::isnan(PyFloat_AS_DOUBLE(item.get()));
    const std::string value = odd ? "" : constant(item.get(), kDeepestLiteral);
    const std::string_view name = info(*scalar).numpy_name;
    if (!value.empty()) text = fmt::format("{}{}({})", name, *scalar == DType::kBool ? "_" : "", value);
  }
  if (text.empty()) return "";
  modules_.insert("numpy");
  return "numpy." + text;
}

std::string PythonLiterals::named(PyView object, const std::string& module, const std::string& path) {
  if (path.empty() || !may_be_imported(module)) return "";
  PyView owner = loaded_module(module);
  if (owner == nullptr || at_path(owner, path) != object) return discard_error(), "";
  for (size_t at = 0; at < path.size(); at = std::min(path.find('.', at), path.size()) + 1)
    if (!is_python_name(path.substr(at, path.find('.', at) - at))) return "";
  modules_.insert(module);
  return module + "." + path;
}

std::string PythonLiterals::importable(PyView object) {
  if (PyModule_CheckExact(object)) {
    const std::string name = string_item(PyModule_GetDict(object), "__name__");
    if (name.empty() || loaded_module(name) != object || !may_be_imported(name)) return "";
    modules_.insert(name);
    return name;
  }
  const auto [module, path] = own_name(object);
  if (module == "builtins" && PyDict_GetItemString(builtin_names(), path.c_str()) == object &&
      is_python_name(path)) {
    names_.insert(path);
    return path;
  }
  if (std::string text = named(object, module, path); !text.empty()) return text;
  return named(object, "numpy", name_in_numpy(object));
}

bool is_python_name(const std::string& name) {
  static constexpr std::string_view kKeywords[] = {
      "False",  "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class",  "continue", "def",   "del",    "elif", "else",   "except", "for",      "from",
      "global", "finally",  "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",     "pass",     "raise", "return", "try",  "while",  "with",   "yield",    "__debug__"};
  PyRef text = PyRef::steal(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  if (!text) return discard_error(), false;
  return PyUnicode_IsIdentifier(text.get()) == 1 && std::ranges::find(kKeywords, name) == std::end(kKeywords);
}

std::string as_python_name(std::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kLongestName)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (plain || name.empty() || name.back() != '_') name += plain ? c : '_';
  }
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) name = "_" + name;
  return is_python_name(name) ? name : name + "_";
}

}  // namespace suture
