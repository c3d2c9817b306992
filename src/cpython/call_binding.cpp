// See call_binding.h. Only the rules for a successful call are here: every error is left to CPython.
#include "cpython/call_binding.h"

namespace suture {

namespace {

PyCodeObject* code_of(PyView function) {
  return reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
}

PyView parameter_name(const ParameterLayout& layout, int index) {
  return PyTuple_GET_ITEM(reinterpret_cast<PyCodeObject*>(layout.code)->co_localsplusnames, index);
}

void put(PyObject*& slot, PyView value) {
  Py_INCREF(value);
  slot = value;
}

// Index of the parameter that `name` may be given to by keyword, or -1.
int find_keyword(const ParameterLayout& layout, PyView name) {
  const int end = layout.positional + layout.keyword_only;
  for (int i = layout.positional_only; i < end; ++i)  // names are interned on both sides almost always
    if (parameter_name(layout, i) == name) return i;
  for (int i = layout.positional_only; i < end; ++i)
    if (PyUnicode_Compare(parameter_name(layout, i), name) == 0) return i;
  return -1;
}

// The arguments of a vectorcall, spread from bound ones.
struct SpreadCall {
  std::vector<PyObject*> values;  // borrowed from the bound arguments
  std::vector<PyObject*> names;   // borrowed too
  Py_ssize_t positional = 0;

  SpreadCall(const ParameterLayout& layout, std::span<PyObject* const> bound) {
    const auto at = [&](int index) { return bound[static_cast<size_t>(index)]; };
    for (int i = 0; i < layout.positional; ++i) values.push_back(at(i));
    const int rest = layout.positional + layout.keyword_only;
    if (layout.var_positional) {
      PyView tuple = at(rest);
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) values.push_back(PyTuple_GET_ITEM(tuple, i));
    }
    positional = static_cast<Py_ssize_t>(values.size());
    for (int i = layout.positional; i < rest; ++i) add(parameter_name(layout, i), at(i));
    if (layout.var_keyword) add_all(at(rest + layout.var_positional));
  }
  void add(PyView name, PyView value) {
    names.push_back(name);
    values.push_back(value);
  }
  void add_all(PyView dict) {
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict, &position, &name, &value)) add(name, value);
  }
  PyRef name_tuple() const {
    if (names.empty()) return {};
    PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
    for (size_t i = 0; tuple && i < names.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyRef::borrow(names[i]).release());
    return tuple;
  }
};

}  // namespace

ParameterLayout ParameterLayout::of(PyView function) noexcept {
  const PyCodeObject* code = code_of(function);
  ParameterLayout layout;
  layout.code = PyFunction_GET_CODE(function);
  layout.positional = code->co_argcount;
  layout.positional_only = code->co_posonlyargcount;
  layout.keyword_only = code->co_kwonlyargcount;
  layout.var_positional = (code->co_flags & CO_VARARGS) != 0;
  layout.var_keyword = (code->co_flags & CO_VARKEYWORDS) != 0;
  return layout;
}

BoundArguments::~BoundArguments() {
  for (int i = 0; i < count_; ++i) let_go(slots_[i]);
}

bool BoundArguments::bind(PyView function, const ParameterLayout& layout, PyObject* const* arguments,
                          Py_ssize_t count, PyView names) {
  count_ = layout.bound_count();
  if (count_ > kInline) {
    heap_slots_.resize(static_cast<size_t>(count_));
    slots_ = heap_slots_.data();
  }
  if (count > layout.positional && !layout.var_positional) return false;
  for (Py_ssize_t i = 0; i < count && i < layout.positional; ++i) put(slots_[i], arguments[i]);
  if (!bind_rest(layout, arguments, count)) return false;
  const Py_ssize_t keywords = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < keywords; ++i)
    if (!bind_keyword(layout, PyTuple_GET_ITEM(names, i), arguments[count + i])) return false;
  return fill_defaults(function, layout);
}

bool BoundArguments::bind_rest(const ParameterLayout& layout, PyObject* const* arguments, Py_ssize_t count) {
  int index = layout.positional + layout.keyword_only;
  if (layout.var_positional) {
    const Py_ssize_t extra = count > layout.positional ? count - layout.positional : 0;
    PyObject* tuple = slots_[index++] = PyTuple_New(extra);
    for (Py_ssize_t i = 0; tuple && i < extra; ++i)
      PyTuple_SET_ITEM(tuple, i, PyRef::borrow(arguments[layout.positional + i]).release());
    if (tuple == nullptr) return false;
  }
  return !layout.var_keyword || (slots_[index] = PyDict_New()) != nullptr;
}

bool BoundArguments::bind_keyword(const ParameterLayout& layout, PyView name, PyView value) {
  if (!PyUnicode_CheckExact(name)) return false;
  const int index = find_keyword(layout, name);
  if (index >= 0) {
    if (slots_[index] != nullptr) return false;
    put(slots_[index], value);
    return true;
  }
  if (!layout.var_keyword) return false;
  PyView rest = slots_[layout.positional + layout.keyword_only + layout.var_positional];
  return PyDict_Contains(rest, name) == 0 && PyDict_SetItem(rest, name, value) == 0;
}

bool BoundArguments::fill_defaults(PyView function, const ParameterLayout& layout) {
  PyView defaults = PyFunction_GET_DEFAULTS(function);
  const int default_count =
      defaults && PyTuple_Check(defaults) ? static_cast<int>(PyTuple_GET_SIZE(defaults)) : 0;
  for (int i = 0; i < layout.positional; ++i) {
    if (slots_[i] != nullptr) continue;
    const int index = i - (layout.positional - default_count);
    if (index < 0) return false;
    put(slots_[i], PyTuple_GET_ITEM(defaults, index));
  }
  PyView keyword_defaults = PyFunction_GET_KW_DEFAULTS(function);
  for (int i = layout.positional; i < layout.positional + layout.keyword_only; ++i) {
    if (slots_[i] != nullptr) continue;
    PyView value =
        keyword_defaults ? PyDict_GetItemWithError(keyword_defaults, parameter_name(layout, i)) : nullptr;
    if (value == nullptr) return false;
    put(slots_[i], value);
  }
  return true;
}

PyObject* call_with_bound(PyView function, std::span<PyObject* const> bound) {
  const ParameterLayout layout = ParameterLayout::of(function);
  if (layout.only_positional()) return PyObject_Vectorcall(function, bound.data(), bound.size(), nullptr);
  const SpreadCall call(layout, bound);
  PyRef names = call.name_tuple();
  if (!names && !call.names.empty()) return nullptr;
  return PyObject_Vectorcall(function, call.values.data(), static_cast<size_t>(call.positional), names.get());
}

}  // namespace suture
