#include "cpython/hidden_frames.h"

#include <frameobject.h>

namespace suture {

namespace {

// The traceback with which the last iteration function failed. Only compared: its caller catches nothing, so the
// exception goes on at once, and the traceback that the caller adds keeps this one alive.
thread_local PyView last_failure = nullptr;

PyView next_of(PyView traceback) noexcept {
  return reinterpret_cast<PyObject*>(reinterpret_cast<PyTracebackObject*>(traceback)->tb_next);
}

}  // namespace

void hide_caller() noexcept {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  last_failure = traceback;
  PyErr_Restore(type, value, traceback);
}

void drop_hidden_frame() noexcept {
  PyView inner = std::exchange(last_failure, nullptr);
  if (inner == nullptr) return;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyRef outer;
  if (traceback != nullptr && next_of(traceback) == inner) {
    outer = PyRef::steal(traceback);
    traceback = PyRef::borrow(inner).release();
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace suture
