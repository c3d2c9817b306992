// See constants.h. Only exact builtin and NumPy types are compared by value: their code is known.
#include "guard/constants.h"

#include <cstring>

#include "cpython/discard_error.h"
#include "cpython/ndarray.h"
#include "cpython/numpy_api.h"

namespace suture {

namespace {

bool equal_by_richcompare(PyView a, PyView b) noexcept {
  const int answer = PyObject_RichCompareBool(a, b, Py_EQ);
  if (answer < 0) discard_error();
  return answer == 1;
}

bool same_float(double a, double b) noexcept { return std::memcmp(&a, &b, sizeof a) == 0; }

bool same_complex(PyView a, PyView b) noexcept {
  const Py_complex x = PyComplex_AsCComplex(a), y = PyComplex_AsCComplex(b);
  return same_float(x.real, y.real) && same_float(x.imag, y.imag);
}

bool same_tuple(PyView a, PyView b) noexcept {
  const Py_ssize_t size = PyTuple_GET_SIZE(a);
  if (size != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < size; ++i)
    if (!same_constant(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  return true;
}

bool same_slice(PyView a, PyView b) noexcept {
  const auto* x = reinterpret_cast<PySliceObject*>(a);
  const auto* y = reinterpret_cast<PySliceObject*>(b);
  return same_constant(x->start, y->start) && same_constant(x->stop, y->stop) &&
         same_constant(x->step, y->step);
}

bool set_has(PyView set, PyView wanted) noexcept {
  PyRef iterator = PyRef::steal(PyObject_GetIter(set));
  while (iterator) {
    PyRef item = PyRef::steal(PyIter_Next(iterator.get()));
    if (!item) break;
    if (same_constant(item.get(), wanted)) return true;
  }
  discard_error();
  return false;
}

bool same_frozenset(PyView a, PyView b) noexcept {
  if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) return false;
  PyRef iterator = PyRef::steal(PyObject_GetIter(a));
  while (iterator) {
    PyRef item = PyRef::steal(PyIter_Next(iterator.get()));
    if (!item) break;
    if (!set_has(b, item.get())) return false;
  }
  const bool complete = iterator && !PyErr_Occurred();
  discard_error();
  return complete;
}

// Not by ==, which calls every two empty ranges equal.
bool same_range(PyView a, PyView b) noexcept {
  for (const char* part : {"start", "stop", "step"}) {
    PyRef x = PyRef::steal(PyObject_GetAttrString(a, part));
    PyRef y = PyRef::steal(PyObject_GetAttrString(b, part));
    if (x && y && same_constant(x.get(), y.get())) continue;
    discard_error();
    return false;
  }
  return true;
}

bool same_numpy_object(PyView a, PyView b) noexcept {
  if (PyArray_DescrCheck(a))
    return PyArray_EquivTypes(reinterpret_cast<PyArray_Descr*>(a), reinterpret_cast<PyArray_Descr*>(b)) != 0;
  const std::optional<DType> dtype = numpy_scalar_dtype(a);
  if (!dtype) return false;
  char x[16] = {}, y[16] = {};
  return read_numpy_scalar(a, *dtype, x) && read_numpy_scalar(b, *dtype, y) &&
         std::memcmp(x, y, sizeof x) == 0;
}

}  // namespace

bool same_constant(PyView a, PyView b) noexcept {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyLong_CheckExact(a) || PyUnicode_CheckExact(a) || PyBytes_CheckExact(a))
    return equal_by_richcompare(a, b);
  if (PyFloat_CheckExact(a)) return same_float(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (PyComplex_CheckExact(a)) return same_complex(a, b);
  if (PyTuple_CheckExact(a)) return same_tuple(a, b);
  if (PySlice_Check(a)) return same_slice(a, b);
  if (PyRange_Check(a)) return same_range(a, b);
  if (PyFrozenSet_CheckExact(a)) return same_frozenset(a, b);
  return same_numpy_object(a, b);
}

}  // namespace suture
