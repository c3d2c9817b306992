// See numpy_step.h.
#include "runtime/numpy_step.h"

#include <cstring>

#include "cpython/numpy_api.h"

namespace suture {

namespace {

PyRef axis_object(const LaunchStep& step) {
  if (step.all_axes) return PyRef::borrow(Py_None);
  if (step.axes.size() == 1) return PyRef::steal(PyLong_FromLong(step.axes[0]));
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(step.axes.size())));
  for (size_t i = 0; tuple && i < step.axes.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyLong_FromLong(step.axes[i]));
  return tuple;
}

void add_keyword(NumpyStep& step, PyView names, const char* name, PyRef value) {
  PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
  if (text) PyList_Append(names, text.get());
  step.keyword_values.push_back(std::move(value));
}

Status add_keywords(NumpyStep& step, const LaunchStep& wanted) {
  if (info(wanted.op).kind != OpKind::Reduce) return ok_status();
  PyRef names = PyRef::steal(PyList_New(0));
  if (!names) return Error::python("runtime");
  add_keyword(step, names.get(), "axis", axis_object(wanted));
  if (wanted.keepdims) add_keyword(step, names.get(), "keepdims", PyRef::borrow(Py_True));
  const bool takes_dtype = wanted.op == OpId::kSum || wanted.op == OpId::kProd;
  if (wanted.dtype && takes_dtype) add_keyword(step, names.get(), "dtype", dtype_object(*wanted.dtype));
  step.keyword_names = PyRef::steal(PyList_AsTuple(names.get()));
  const bool complete = step.keyword_names && PyTuple_GET_SIZE(step.keyword_names.get()) ==
                                                  static_cast<Py_ssize_t>(step.keyword_values.size());
  return complete ? ok_status() : Status(Error::python("runtime"));
}

}  // namespace

Result<NumpyStep> NumpyStep::build(const LaunchStep& wanted) {
  const std::string_view path = info(wanted.op).numpy;
  if (!path.starts_with("np."))
    return Error::internal("runtime", "no NumPy callable for op " + std::string(info(wanted.op).name));
  NumpyStep step;
  step.callable = PyRef::borrow(PyDict_GetItemString(numpy_names(), std::string(path.substr(3)).c_str()));
  if (!step.callable) return Error::internal("runtime", "NumPy has no " + std::string(path));
  SUTURE_TRY_VOID(add_keywords(step, wanted));
  return step;
}

PyRef NumpyStep::call(std::span<PyObject* const> operands) const {
  std::vector<PyObject*> arguments(operands.begin(), operands.end());
  for (const PyRef& value : keyword_values) arguments.push_back(value.get());
  return PyRef::steal(
      PyObject_Vectorcall(callable.get(), arguments.data(), operands.size(), keyword_names.get()));
}

bool unpack_scalar(PyView object, ValueClass value_class, DType dtype, void* out) noexcept {
  switch (value_class) {
    case ValueClass::kPyFloat: {
      if (!PyFloat_Check(object)) return false;
      const double value = PyFloat_AS_DOUBLE(object);
      std::memcpy(out, &value, sizeof value);
      return true;
    }
    case ValueClass::kPyBool: {
      const bool value = object == Py_True;
      std::memcpy(out, &value, sizeof value);
      return PyBool_Check(object);
    }
    case ValueClass::kPyInt: {
      int overflow = 0;
      if (!PyLong_Check(object)) return false;
      const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
      std::memcpy(out, &value, sizeof value);
      return overflow == 0;
    }
    case ValueClass::kNumpyScalar: return read_numpy_scalar(object, dtype, out);
    case ValueClass::kArray: return false;
  }
  return false;
}

PyRef pack_scalar(ValueClass value_class, DType dtype, const void* value) {
  switch (value_class) {
    case ValueClass::kPyFloat: return PyRef::steal(PyFloat_FromDouble(*static_cast<const double*>(value)));
    case ValueClass::kPyBool: return PyRef::borrow(*static_cast<const bool*>(value) ? Py_True : Py_False);
    case ValueClass::kPyInt: return PyRef::steal(PyLong_FromLongLong(*static_cast<const int64_t*>(value)));
    case ValueClass::kNumpyScalar:
    case ValueClass::kArray: break;
  }
  return make_numpy_scalar(dtype, value);
}

}  // namespace suture
