#include "cpython/interpreter_end.h"

#include <unistd.h>

#include "cpython/py_ref.h"

namespace suture {

namespace {

PyObject* note_end(PyObject*, PyObject*) {
  interpreter_ends.store(true, std::memory_order_relaxed);
  return Py_NewRef(Py_None);
}

PyMethodDef exit_handler = {"__note_interpreter_end", note_end, METH_NOARGS, nullptr};

}  // namespace

void stop_thread_without_lock() noexcept {
  while (!PyGILState_Check()) pause();
}

Status watch_for_interpreter_end() {
  PyRef module = PyRef::steal(PyImport_ImportModule("atexit"));
  PyRef function = PyRef::steal(PyCFunction_New(&exit_handler, nullptr));
  if (!module || !function) return Error::python("interpreter end");
  PyRef done = PyRef::steal(PyObject_CallMethod(module.get(), "register", "O", function.get()));
  if (!done) return Error::python("interpreter end");
  return ok_status();
}

}  // namespace suture
