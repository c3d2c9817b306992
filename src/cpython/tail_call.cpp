#include "cpython/tail_call.h"

#include "cpython/jit_callable.h"

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

namespace {

// The tuple of the innermost tail call that is running.
thread_local PyRef running;
// What that call is about to start, until it has started.
thread_local PyView starting = nullptr;

void release(PyView call) noexcept {
  for (Py_ssize_t i = 2; i < PyTuple_GET_SIZE(call); ++i)
    Py_XSETREF(reinterpret_cast<PyTupleObject*>(call)->ob_item[i], PyRef::borrow(Py_None).release());
}

PyObject* release_running(PyObject*, PyObject*) {
  if (const PyRef call = running) release(call.get());
  return PyRef::borrow(Py_None).release();
}

PyMethodDef release_method = {"__release_arguments", release_running, METH_NOARGS, nullptr};

bool is_tail_call(PyView o) {
  return o != nullptr && PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o) >= 2 &&
         PyTuple_GET_ITEM(o, 0) == tail_call_marker();
}

}  // namespace

PyRef tail_argument_releaser() {
  static PyObject* function = PyCFunction_New(&release_method, nullptr);  // never freed, like the marker
  return PyRef::borrow(function);
}

bool starts_as_tail_call(PyView function) noexcept { return std::exchange(starting, nullptr) == function; }

PyObject* finish_tail_call(PyObject* result) {
  if (!is_tail_call(result)) return result;
  const PyRef outer = running;
  while (is_tail_call(result)) {
    running = PyRef::steal(result);
    const PyRef call = running;
    PyObject* const* items = reinterpret_cast<PyTupleObject*>(call.get())->ob_item;
    const auto arguments = static_cast<size_t>(PyTuple_GET_SIZE(call.get())) - 2;
    starting = is_jit_callable(items[1]) ? jit_callable_function(items[1]) : nullptr;
    result = PyObject_Vectorcall(items[1], items + 2, arguments, nullptr);
    running = outer;
    release(call.get());
  }
  return result;
}

}  // namespace suture
