#include "cpython/tail_call.h"

namespace suture {

PyView tail_call_marker() {
  static PyObject* marker = nullptr;  // one per process and never freed, like the code that refers to it
  if (marker == nullptr) {
    PyType_Slot slots[] = {{0, nullptr}};
    PyType_Spec spec = {"suture.TailCall", sizeof(PyObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    PyRef type = PyRef::steal(PyType_FromSpec(&spec));
    if (type) marker = PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type.get()), 0);
  }
  return marker;
}

PyObject* finish_tail_call(PyObject* result) {
  const auto is_tail_call = [](PyObject* o) {
    return o != nullptr && PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o) >= 2 &&
           PyTuple_GET_ITEM(o, 0) == tail_call_marker();
  };
  while (is_tail_call(result)) {
    PyObject* const* items = reinterpret_cast<PyTupleObject*>(result)->ob_item;
    const auto arguments = static_cast<size_t>(PyTuple_GET_SIZE(result)) - 2;
    PyObject* next = PyObject_Vectorcall(items[1], items + 2, arguments, nullptr);
    Py_DECREF(result);
    result = next;
  }
  return result;
}

}  // namespace suture
