// The meaning of every guard kind, one small function each. Runs no user code.
#include "guard/guard_check.h"

#include <iterator>

#include "cpython/discard_error.h"
#include "cpython/ndarray.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "guard/constants.h"

namespace suture {

namespace {

bool array_has_axis(PyView value, int axis) noexcept {
  return value != nullptr && is_exact_array(value) && axis >= 0 && axis < array_fields(value)->nd;
}

bool check_array(const Guard& guard, PyView value) noexcept {
  if (!is_exact_array(value)) return false;
  const PyArrayObject_fields* fields = array_fields(value);
  switch (guard.kind) {
    case GuardKind::kArray: return array_facts(value).plain;
    case GuardKind::kDtype:
      return guard.number >= 0 && guard.number < std::ssize(numpy_objects.descriptors) &&
             has_dtype(value, static_cast<DType>(guard.number));
    case GuardKind::kRank: return fields->nd == guard.number;
    case GuardKind::kSize:
      return array_has_axis(value, guard.index) && fields->dimensions[guard.index] == guard.number;
    case GuardKind::kStride:
      return array_has_axis(value, guard.index) && fields->strides[guard.index] == guard.number;
    case GuardKind::kWriteable: return ((fields->flags & NPY_ARRAY_WRITEABLE) != 0) == (guard.number != 0);
    case GuardKind::kContiguous:
      return (fields->flags & (guard.number == 'F' ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS)) != 0;
    case GuardKind::kNewStrides: return has_new_strides(value, guard.number == 'F' ? 'F' : 'C');
    default: return false;
  }
}

bool check_dict_keys(PyView expected, PyView dict) noexcept {
  // An OrderedDict keeps an order of its own.
  if (!PyDict_Check(dict) || PyODict_Check(dict) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(expected))
    return false;
  PyObject *key, *value;
  Py_ssize_t position = 0, index = 0;
  while (PyDict_Next(dict, &position, &key, &value))
    if (!same_constant(key, PyTuple_GET_ITEM(expected, index++))) return false;
  return true;
}

bool check_absent(PyView name, PyView owner) noexcept {
  if (PyType_Check(owner))
    return lookup_in_classes(owner, name) == nullptr;  // as special methods are looked up
  if (!PyDict_Check(owner)) return lookup_attribute(owner, name).where == AttributeLookup::Where::kMissing;
  const int present = PyDict_Contains(owner, name);
  if (present < 0) discard_error();
  return present == 0;
}

bool check_code(const Guard& guard, PyView value) noexcept {
  return is_python_function(value) && function_code(value) == guard.object.get();
}

bool check_range(const Guard& guard, const ShapeEnv& env, PyView value, std::span<int64_t> symbols) noexcept {
  const std::optional<int64_t> number = bound_value(guard, value);
  if (!number || guard.symbol < 0) return number.has_value();
  const auto id = static_cast<size_t>(guard.symbol);
  const SymbolInfo& symbol = env.symbols()[id];
  symbols[id] = *number;
  return *number >= symbol.min && *number <= symbol.max;
}

std::optional<int64_t> int_value(PyView value) noexcept {
  if (!PyLong_CheckExact(value)) return std::nullopt;
  int overflow = 0;
  const int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0 ? std::optional<int64_t>(number) : std::nullopt;
}

}  // namespace

std::optional<int64_t> bound_value(const Guard& guard, PyView value) noexcept {
  if (value == nullptr) return std::nullopt;
  if (guard.kind == GuardKind::kIntRange) return int_value(value);
  if (!array_has_axis(value, guard.index)) return std::nullopt;
  const PyArrayObject_fields* fields = array_fields(value);
  if (guard.kind == GuardKind::kSizeRange) return fields->dimensions[guard.index];
  const int64_t itemsize = PyDataType_ELSIZE(fields->descr);
  const int64_t bytes = fields->strides[guard.index];
  if (itemsize == 0 || bytes % itemsize != 0) return std::nullopt;
  return bytes / itemsize;
}

PyView expected_object(const Guard& guard) noexcept {
  return guard.weak ? weak_target(guard.object.get()) : guard.object.get();
}

bool is_expected_object(const Guard& guard, PyView value) noexcept {
  return value != nullptr && value == expected_object(guard);
}

int64_t builtin_length(PyView value) noexcept {
  if (PyTuple_Check(value)) return PyTuple_GET_SIZE(value);
  if (PyList_Check(value)) return PyList_GET_SIZE(value);
  if (PyDict_Check(value)) return PyDict_GET_SIZE(value);
  if (PyAnySet_Check(value)) return PySet_GET_SIZE(value);
  if (PyUnicode_Check(value)) return PyUnicode_GET_LENGTH(value);
  if (PyBytes_Check(value)) return PyBytes_GET_SIZE(value);
  if (!PyRange_Check(value)) return -1;
  const Py_ssize_t length = PyObject_Size(value);
  if (length < 0) discard_error();
  return length;
}

bool check_guard(const Guard& guard, const ShapeEnv& env, PyView value, PyView other,
                 std::span<int64_t> symbols) noexcept {
  if (guard.kind == GuardKind::kShape) return env.facts()[static_cast<size_t>(guard.fact)].holds(symbols);
  if (value == nullptr) return false;
  switch (guard.kind) {
    case GuardKind::kType: return reinterpret_cast<PyObject*>(Py_TYPE(value)) == guard.object.get();
    case GuardKind::kIdentity: return is_expected_object(guard, value);
    case GuardKind::kConstant: return same_constant(guard.object.get(), value);
    case GuardKind::kLength: return builtin_length(value) == guard.number;
    case GuardKind::kDictKeys: return check_dict_keys(guard.object.get(), value);
    case GuardKind::kAbsent: return check_absent(guard.object.get(), value);
    case GuardKind::kCode: return check_code(guard, value);
    case GuardKind::kTupleOperations: return PyType_Check(value) && has_tuple_operations(value);
    case GuardKind::kRegistrations: return abc_registrations() == guard.number;
    case GuardKind::kSizeRange:
    case GuardKind::kStrideRange:
    case GuardKind::kIntRange: return check_range(guard, env, value, symbols);
    case GuardKind::kNoOverlap:
      return other != nullptr && is_any_ndarray(value) && is_any_ndarray(other) &&
             !shares_memory_exact(value, other);
    case GuardKind::kNotPlain:
      return !is_exact_array(value) || !array_facts(value).plain || !array_facts(value).dtype;
    case GuardKind::kSameObject: return value == other;
    case GuardKind::kNotSameObject: return other != nullptr && value != other;
    default: return check_array(guard, value);
  }
}

}  // namespace suture
