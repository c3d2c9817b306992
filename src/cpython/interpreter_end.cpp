#include "cpython/interpreter_end.h"

#include <unistd.h>

#include "cpython/py_ref.h"

namespace suture {

namespace {

// The thread that runs the exit handlers is the one that takes the interpreter down: it needs no lock from then on.
thread_local bool ending_thread = false;

// PyGILState_Check() alone says yes in every thread once the interpreter is gone; no thread has a state then.
bool has_lock() noexcept { return PyGILState_GetThisThreadState() != nullptr && PyGILState_Check(); }

PyObject* note_end(PyObject*, PyObject*) {
  ending_thread = true;
  interpreter_ends.store(true, std::memory_order_release);
  return Py_NewRef(Py_None);
}

PyMethodDef exit_handler = {"__note_interpreter_end", note_end, METH_NOARGS, nullptr};

}  // namespace

void stop_thread_without_lock() noexcept {
  if (ending_thread) return;
  while (!has_lock()) pause();
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
