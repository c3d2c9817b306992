// Existing objects become values: what is read, and which guards that costs.
//
// How it works
//   One value per source and, for objects with identity (arrays, containers, instances, cells), one per
//   object: the same object met under a second source gives the first value and a kSameObject guard. What
//   capture does not look into becomes an UnknownValue without guards; using it is a break.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "capture/capture_state.h"
#include "capture/known_modules.h"
#include "capture/numpy_calls.h"
#include "capture/operations.h"
#include "cpython/code_object.h"
#include "cpython/discard_error.h"
#include "cpython/jit_callable.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"

namespace suture {
namespace {

bool has_identity(ValueKind kind) {
  return kind == ValueKind::kArray || kind == ValueKind::kList || kind == ValueKind::kDict ||
         kind == ValueKind::kInstance || kind == ValueKind::kTuple;
}

// Keys that hash and compare without user code.
bool is_plain_key(PyView key) {
  if (PyTuple_CheckExact(key)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
      if (!is_plain_key(PyTuple_GET_ITEM(key, i))) return false;
    return true;
  }
  return PyUnicode_CheckExact(key) || PyLong_CheckExact(key) || PyFloat_CheckExact(key) ||
         PyBool_Check(key) || PyBytes_CheckExact(key) || key == Py_None;
}

bool has_plain_keys(PyView dict) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);)
    if (!is_plain_key(key)) return false;
  return true;
}

// A class made by collections.namedtuple: a direct subclass of tuple whose fields are its items.
bool is_namedtuple(PyView object) {
  PyTypeObject* type = Py_TYPE(object);
  if (!PyTuple_Check(object) || type->tp_base != &PyTuple_Type || !type->tp_dict) return false;
  if (!has_tuple_operations(reinterpret_cast<PyObject*>(type))) return false;
  PyView fields = PyDict_GetItemString(type->tp_dict, "_fields");
  return fields && PyTuple_CheckExact(fields) && PyTuple_GET_SIZE(fields) == PyTuple_GET_SIZE(object);
}

// Instances of ordinary classes: everything about them is in their dict, slots and class.
bool is_plain_instance(PyView object) {
  PyTypeObject* type = Py_TYPE(object);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || PyType_Check(object)) return false;
  for (PyTypeObject* base = type; base; base = base->tp_base)
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) return base == &PyBaseObject_Type;
  return false;
}

Guard fact_about(GuardKind kind, SourceId source, int64_t number, int index = -1) {
  Guard g;
  g.kind = kind;
  g.source = source;
  g.number = number;
  g.index = index;
  return g;
}

// Types that kConstant guards compare by value.
bool always_plain_constant(PyView o) {
  return PyBool_Check(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PySlice_Check(o) ||
         PyComplex_CheckExact(o) || PyFrozenSet_CheckExact(o) || is_numpy_dtype(o);
}

bool is_builtin_callable(PyView o) {
  return PyCFunction_Check(o) || PyType_Check(o) || PyModule_Check(o) || is_numpy_callable(o);
}

}  // namespace

Outcome CaptureState::wrap(PyView object, SourceId source) {
  if (auto seen = by_source_.find(source); seen != by_source_.end()) return seen->second;
  if (ValueRef value = known(object, source)) return by_source_[source] = value;
  SUTURE_CAPTURE(value, wrap_new(object, source));
  if (value->source == source && has_identity(value->kind)) {
    by_object_[object] = value;
    known_values_.push_back(value);
  }
  by_source_[source] = value;
  return value;
}

ValueRef CaptureState::known(PyView object, SourceId source) {
  auto seen = by_object_.find(object);
  if (seen == by_object_.end()) return nullptr;
  Guard g = fact_about(GuardKind::kSameObject, source, 0);
  g.other = seen->second->source;
  guard(std::move(g));
  return seen->second;
}

Outcome CaptureState::wrap_new(PyView o, SourceId source) {
  if (o == Py_None || o == unbound_marker() || o == Py_Ellipsis || o == Py_NotImplemented) {
    guard_identity(source, o);
    return std::make_shared<ConstantValue>(PyRef::borrow(o), source);
  }
  if (always_plain_constant(o)) {
    guard_constant(source, o);
    return std::make_shared<ConstantValue>(PyRef::borrow(o), source);
  }
  if (PyLong_CheckExact(o)) return wrap_int(o, source);
  if (PyFloat_CheckExact(o)) return scalar_placeholder(o, source, DType::kFloat64, ValueClass::kPyFloat);
  if (is_any_ndarray(o)) return wrap_array(o, source);
  if (auto dtype = numpy_scalar_dtype(o))
    return scalar_placeholder(o, source, *dtype, ValueClass::kNumpyScalar);
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o) || PyDict_CheckExact(o) || is_namedtuple(o))
    return wrap_container(o, source);
  if (PyRange_Check(o)) {
    guard_constant(source, o);
    return wrap_range(o);
  }
  if (is_builtin_callable(o)) {
    guard_identity(source, o);
    return std::make_shared<ConstantValue>(PyRef::borrow(o), source);
  }
  return wrap_callable(o, source);
}

Outcome CaptureState::wrap_callable(PyView o, SourceId source) {
  if (is_jit_callable(o)) {
    guard_identity(source, o);
    PyView function = jit_callable_function(o);
    if (has_mark(function, "_suture_disable"))
      return std::make_shared<UnknownValue>(PyRef::borrow(o), source);
    return wrap(function, object_source(function));
  }
  if (is_python_function(o)) {
    auto value = std::make_shared<FunctionValue>(source);
    value->function = PyRef::borrow(o);
    value->code = PyRef::borrow(function_code(o));
    value->globals = PyRef::borrow(function_globals(o));
    if (value->globals.get() != function_globals(input.function))
      value->globals_source = this->source(SourceKind::kGlobalsOf, source);
    return ValueRef(std::move(value));
  }
  if (Py_IS_TYPE(o, &PyMethod_Type)) return wrap_method(o, source);
  if (reinterpret_cast<PyObject*>(Py_TYPE(o)) == module_object("functools", "partial"))
    return wrap_partial(o, source);
  if (is_plain_instance(o)) {
    guard_type(source, o);
    return std::make_shared<InstanceValue>(PyRef::borrow(o), source);
  }
  return std::make_shared<UnknownValue>(PyRef::borrow(o), source);
}

Outcome CaptureState::wrap_method(PyView o, SourceId source) {
  guard_type(source, o);
  SUTURE_CAPTURE(function, wrap(PyMethod_GET_FUNCTION(o), this->source(SourceKind::kFuncOf, source)));
  SUTURE_CAPTURE(self, wrap(PyMethod_GET_SELF(o), this->source(SourceKind::kSelfOf, source)));
  auto method = std::make_shared<BoundMethodValue>(std::move(function), std::move(self));
  method->source = source;
  return ValueRef(std::move(method));
}

// Its parts are looked at again at every call: __setstate__ replaces them, and `keywords` is an open dict.
Outcome CaptureState::wrap_partial(PyView o, SourceId source) {
  PyRef function = PyRef::steal(PyObject_GetAttrString(o, "func"));
  PyRef positional = PyRef::steal(PyObject_GetAttrString(o, "args"));
  PyRef keyword = PyRef::steal(PyObject_GetAttrString(o, "keywords"));
  if (!function || !positional || !keyword || !PyTuple_CheckExact(positional.get()) ||
      !PyDict_CheckExact(keyword.get())) {
    discard_error();
    return std::make_shared<UnknownValue>(PyRef::borrow(o), source);
  }
  guard_type(source, o);
  const auto part = [&](const char* name) { return this->source(SourceKind::kAttr, source, -1, name); };
  auto partial = std::make_shared<PartialValue>(source);
  SUTURE_CAPTURE(inner, wrap(function.get(), part("func")));
  partial->function = std::move(inner);
  SUTURE_CAPTURE(arguments, wrap(positional.get(), part("args")));
  SUTURE_CAPTURE(items, all_items(*this, arguments));
  partial->positional = std::move(items);
  SUTURE_CAPTURE(keywords, wrap(keyword.get(), part("keywords")));
  DictValue* dict = as_dict(keywords);
  if (!dict) return unknown_break(keywords);
  guard_keys(*dict);
  for (size_t i = 0; i < dict->items.size(); ++i) {
    SUTURE_CAPTURE(value, item(*dict, i));
    const std::optional<std::string> name = exact_text(dict->items[i].first.get());
    if (!name) return make_break(BreakReason::kUnknownCall, {"a call with a keyword that is no valid text"});
    partial->keyword.emplace_back(*name, std::move(value));
  }
  return ValueRef(std::move(partial));
}

Outcome CaptureState::wrap_container(PyView o, SourceId source) {
  guard_type(source, o);
  if (PyDict_CheckExact(o)) {
    const bool own_globals = o == function_globals(input.function);
    if (!has_plain_keys(o) || own_globals || is_namespace(o))
      return std::make_shared<UnknownValue>(PyRef::borrow(o), source);
    auto dict = std::make_shared<DictValue>(source);
    dict->object = PyRef::borrow(o);
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);)
      dict->items.emplace_back(PyRef::borrow(key), nullptr);
    return ValueRef(std::move(dict));
  }
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(o);
  guard(fact_about(GuardKind::kLength, source, size));
  auto sequence = std::make_shared<SequenceValue>(PyList_Check(o) ? ValueKind::kList : ValueKind::kTuple,
                                                  std::vector<ValueRef>(static_cast<size_t>(size)), source);
  sequence->object = PyRef::borrow(o);
  if (PyTuple_Check(o) && !PyTuple_CheckExact(o)) {
    guard_tuple_operations(this->source(SourceKind::kTypeOf, source));
    sequence->type = PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o)));
  }
  return ValueRef(std::move(sequence));
}

Outcome CaptureState::wrap_range(PyView o) {
  int64_t parts[3] = {};
  const char* names[3] = {"start", "stop", "step"};
  for (int i = 0; i < 3; ++i) {
    PyRef part = PyRef::steal(PyObject_GetAttrString(o, names[i]));
    parts[i] = part ? PyLong_AsLongLong(part.get()) : 0;
    if (!PyErr_Occurred()) continue;
    discard_error();
    return std::make_shared<UnknownValue>(PyRef::borrow(o));
  }
  return std::make_shared<RangeValue>(parts[0], parts[1], parts[2]);
}

SourceId CaptureState::object_source(PyView object) {
  return source(SourceKind::kObject, kNoSource, -1, {}, PyRef::borrow(object));
}

// --- numbers -----------------------------------------------------------------------------------------------
bool CaptureState::wants_symbol(const std::string& key) const {
  const DynamicPlan& plan = options.dynamic;
  if (plan.fixed.contains(key)) return false;
  return plan.symbolic.contains(key) || plan.mode == DynamicMode::kAlways;
}

Outcome CaptureState::wrap_int(PyView o, SourceId source) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(o, &overflow);
  const std::string text = source_text(source);
  if (overflow == 0 && wants_symbol(text)) {
    guard_type(source, o);
    const SymInt symbol = graph.env.create_symbol(text, number, INT64_MIN, INT64_MAX, false);
    guards.bindings.push_back({*symbol.as_symbol(), source, SymbolBinding::What::kIntValue, -1});
    return python_int(symbol, source);
  }
  guard_constant(source, o);
  return std::make_shared<ConstantValue>(PyRef::borrow(o), source);
}

std::string CaptureState::placeholder_name(SourceId source) const {
  std::string name;
  for (char c : source_text(source)) {
    const bool word = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (word) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "arg_" + name;
  return name;
}

ValueRef CaptureState::scalar_placeholder(PyView o, SourceId source, DType dtype, ValueClass value_class) {
  guard_type(source, o);
  TensorType type;
  type.dtype = dtype;
  type.value_class = value_class;
  return placeholder(source, std::move(type));
}

ValueRef CaptureState::placeholder(SourceId source, TensorType type) {
  const NodeId node = builder.placeholder(placeholder_name(source), std::move(type));
  placeholder_sources[node] = source;
  return std::make_shared<ArrayValue>(node, source);
}

// --- arrays ------------------------------------------------------------------------------------------------
SymInt CaptureState::size_of(SourceId source, int axis, int64_t value, const std::string& text) {
  const std::string key = fmt::format("{}.shape[{}]", text, axis);
  if (value < 2 || value > kLargestSize || !wants_symbol(key)) {
    guard(fact_about(GuardKind::kSize, source, value, axis));
    return value;
  }
  int64_t low = 2, high = INT64_MAX;
  if (auto range = options.dynamic.ranges.find(key); range != options.dynamic.ranges.end()) {
    low = std::max<int64_t>(2, range->second.first);
    high = range->second.second;
  }
  const SymInt symbol = graph.env.create_symbol(key, value, low, high, true);
  guards.bindings.push_back({*symbol.as_symbol(), source, SymbolBinding::What::kSize, axis});
  return symbol;
}

// Strides that lead to no other element: NumPy keeps any there, shows them, and derives those of views from them.
// Mostly they are those of a new array; otherwise they become symbols, so that no third entry is needed.
SymInt CaptureState::idle_stride(SourceId source, int axis, int64_t elements, const std::string& text) {
  const SymInt symbol = graph.env.create_symbol(fmt::format("{}.strides[{}]", text, axis), elements,
                                                INT64_MIN, INT64_MAX, false);
  guards.bindings.push_back({*symbol.as_symbol(), source, SymbolBinding::What::kStride, axis});
  return symbol;
}

std::vector<SymInt> CaptureState::contiguous_layout(SourceId source, PyView array,
                                                    const std::vector<SymInt>& shape) {
  const ArrayFacts facts = array_facts(array);
  const std::span<const int64_t> extents(facts.shape, static_cast<size_t>(facts.ndim));
  const bool c_as_new = facts.c_contiguous && has_new_strides(array, 'C');
  const bool as_new = c_as_new || (facts.f_contiguous && has_new_strides(array, 'F'));
  const char order = c_as_new || (facts.c_contiguous && !as_new) ? 'C' : 'F';
  guard(fact_about(GuardKind::kContiguous, source, order));
  const bool empty = std::ranges::find(extents, 0) != extents.end();
  const auto idle = [&](size_t axis) { return empty || extents[axis] == 1; };
  std::vector<SymInt> strides = new_array_strides(shape, order == 'C' ? Order::kC : Order::kF);
  bool any_idle = false;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    any_idle |= idle(axis);
    if (!as_new && idle(axis))
      strides[axis] = idle_stride(source, static_cast<int>(axis),
                                  facts.strides[axis] / itemsize(*facts.dtype), source_text(source));
  }
  if (as_new && any_idle) guard(fact_about(GuardKind::kNewStrides, source, order));
  return strides;
}

std::vector<SymInt> CaptureState::layout_of(SourceId source, PyView array, const std::vector<SymInt>& shape) {
  const ArrayFacts facts = array_facts(array);
  if (facts.ndim == 0) return {};
  if (facts.c_contiguous || facts.f_contiguous) return contiguous_layout(source, array, shape);
  const int64_t size = itemsize(*facts.dtype);
  const std::string text = source_text(source);
  std::vector<SymInt> strides;
  for (int axis = 0; axis < facts.ndim; ++axis) {
    const int64_t bytes = facts.strides[axis];
    const std::string key = fmt::format("{}.strides[{}]", text, axis);
    if (facts.shape[axis] == 1) {
      strides.push_back(idle_stride(source, axis, bytes / size, text));
    } else if (bytes > 0 && wants_symbol(key)) {
      const SymInt symbol = graph.env.create_symbol(key, bytes / size, 1, INT64_MAX, false);
      guards.bindings.push_back({*symbol.as_symbol(), source, SymbolBinding::What::kStride, axis});
      strides.push_back(symbol);
    } else {
      guard(fact_about(GuardKind::kStride, source, bytes, axis));
      strides.push_back(bytes / size);
    }
  }
  return strides;
}

Outcome CaptureState::wrap_array(PyView o, SourceId source) {
  const ArrayFacts facts = is_exact_ndarray(o) ? array_facts(o) : ArrayFacts{};
  if (!is_exact_ndarray(o) || !facts.plain || !facts.dtype)
    return std::make_shared<UnknownValue>(PyRef::borrow(o), source);
  guard(fact_about(GuardKind::kArray, source, 0));
  guard(fact_about(GuardKind::kDtype, source, static_cast<int64_t>(*facts.dtype)));
  guard(fact_about(GuardKind::kRank, source, facts.ndim));
  TensorType type;
  type.dtype = *facts.dtype;
  type.writeable = facts.writeable;
  const std::string text = source_text(source);
  for (int axis = 0; axis < facts.ndim; ++axis)
    type.shape.push_back(size_of(source, axis, facts.shape[axis], text));
  type.strides = layout_of(source, o, type.shape);
  return placeholder(source, std::move(type));
}

// --- functions ---------------------------------------------------------------------------------------------
ValueRef CaptureState::cell_value_of(PyView cell, SourceId contents) {
  ValueRef& value = by_object_[cell];
  if (value) return value;
  auto fresh = std::make_shared<CellValue>(nullptr, contents);
  fresh->loaded = false;
  fresh->cell = PyRef::borrow(cell);
  return value = std::move(fresh);
}

Outcome CaptureState::resolve_function(FunctionValue& function) {
  if (function.resolved || !function.function) return ValueRef();
  function.resolved = true;
  PyView f = function.function.get();
  if (function.source != kNoSource) {
    Guard g;
    g.kind = GuardKind::kCode;
    g.source = function.source;
    g.object = function.code;
    guard(std::move(g));
  }
  if (PyView closure = function_closure(f)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(closure); ++i) {
      if (function.source == kNoSource)
        return make_break(BreakReason::kUnsupportedValue,
                          {"a closure of " + short_repr(f), "a cell that cannot be guarded"});
      const SourceId from = this->source(SourceKind::kClosureOf, function.source, static_cast<int>(i));
      function.closure.push_back(cell_value_of(PyTuple_GET_ITEM(closure, i), from));
    }
  }
  PyView defaults = PyFunction_GET_DEFAULTS(f);
  PyView kwdefaults = PyFunction_GET_KW_DEFAULTS(f);
  auto value_of = [&](PyView object, SourceId from) -> Outcome {
    if (function.source != kNoSource) return wrap(object, from);
    if (is_plain_immutable(object)) return constant(PyRef::borrow(object));
    return make_break(BreakReason::kUnsupportedValue, {"a default of " + short_repr(f), type_name(object)});
  };
  for (Py_ssize_t i = 0; defaults && i < PyTuple_GET_SIZE(defaults); ++i) {
    const auto from_end = static_cast<int>(i - PyTuple_GET_SIZE(defaults));
    const SourceId from = this->source(SourceKind::kDefaultOf, function.source, from_end);
    SUTURE_CAPTURE(value, value_of(PyTuple_GET_ITEM(defaults, i), from));
    function.defaults.push_back(std::move(value));
  }
  PyObject *key = nullptr, *object = nullptr;
  for (Py_ssize_t at = 0; kwdefaults && PyDict_Next(kwdefaults, &at, &key, &object);) {
    const std::string name = exact_text(key).value_or(short_repr(key));
    SUTURE_CAPTURE(value,
                   value_of(object, this->source(SourceKind::kKwDefaultOf, function.source, -1, name)));
    function.kwdefaults.emplace_back(name, std::move(value));
  }
  return ValueRef();
}

}  // namespace suture
