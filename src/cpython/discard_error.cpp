#include "cpython/discard_error.h"

#include <algorithm>
#include <csignal>
#include <vector>

#include "cpython/py_ref.h"

#if PY_VERSION_HEX >= 0x030D0000  // still exported, no longer declared in a public header
extern "C" PyAPI_FUNC(int) _PyOS_IsMainThread(void);
#endif

namespace suture {
namespace {

thread_local PyObject* kept = nullptr;  // exception instance, or null; owned

PyRef attribute(PyView object, const char* name) noexcept {
  PyRef found = PyRef::steal(object ? PyObject_GetAttrString(object, name) : nullptr);
  if (!found) PyErr_Clear();
  return found;
}

// Code of the Python function that handles a signal; empty for handlers in C and for none.
PyRef handler_code(PyView getsignal, int number) noexcept {
  PyRef handler = PyRef::steal(PyObject_CallFunction(getsignal, "i", number));
  if (!handler) PyErr_Clear();
  if (handler && PyMethod_Check(handler.get())) handler = PyRef::borrow(PyMethod_GET_FUNCTION(handler.get()));
  return handler && PyFunction_Check(handler.get()) ? PyRef::borrow(PyFunction_GetCode(handler.get()))
                                                    : PyRef();
}

std::vector<PyRef> handler_codes() {
  std::vector<PyRef> codes;
  PyRef name = PyRef::steal(PyUnicode_FromString("_signal"));
  PyRef module = PyRef::steal(name ? PyImport_GetModule(name.get()) : nullptr);
  PyRef getsignal = attribute(module.get(), "getsignal");
  for (int number = 1; getsignal && number < NSIG; ++number)
    if (PyRef code = handler_code(getsignal.get(), number)) codes.push_back(std::move(code));
  PyErr_Clear();
  return codes;
}

// The entry of a traceback at which a signal handler was running; empty when none was.
PyRef entry_of_signal_handler(PyView traceback) {
  const std::vector<PyRef> codes = traceback ? handler_codes() : std::vector<PyRef>();
  PyRef step = PyRef::borrow(traceback);
  while (!codes.empty() && step && step.get() != Py_None) {
    PyRef code = attribute(attribute(step.get(), "tb_frame").get(), "f_code");
    if (std::ranges::any_of(codes, [&](const PyRef& handler) { return handler.get() == code.get(); }))
      return step;
    step = attribute(step.get(), "tb_next");
  }
  return {};
}

int raise_from_loop(void*) { return raise_kept_error() ? -1 : 0; }

bool in_main_thread() noexcept {
  return PyInterpreterState_Get() == PyInterpreterState_Main() && _PyOS_IsMainThread();
}

// Makes the interpreter loop raise what is kept, should no compile do it first.
void arm() noexcept {
  if (in_main_thread() && Py_AddPendingCall(&raise_from_loop, nullptr) == 0) return;
  PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), reinterpret_cast<PyObject*>(Py_TYPE(kept)));
}

bool is_exception(PyView type) noexcept { return PyErr_GivenExceptionMatches(type, PyExc_Exception); }

}  // namespace

bool pending_error_is_ordinary() noexcept {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const bool result = type == nullptr || (is_exception(type) && !entry_of_signal_handler(traceback));
  PyErr_Restore(type, value, traceback);
  return result;
}

void discard_error() noexcept {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) return;
  PyRef handler = entry_of_signal_handler(traceback);
  if (handler || !is_exception(type)) {
    PyErr_NormalizeException(&type, &value, &traceback);
    // The same exception may be raised and kept at every event of a compile: without the frames in between its
    // traceback stays short. Those of the user are added while it leaves the compile.
    PyException_SetTraceback(value, handler ? handler.get() : Py_None);
    Py_XSETREF(kept, Py_NewRef(value));
    arm();
  }
  Py_DECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
}

bool raise_kept_error() noexcept {
  if (kept == nullptr) return false;
  if (!in_main_thread()) PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), nullptr);
  PyErr_Clear();
  PyObject* value = std::exchange(kept, nullptr);
  PyErr_Restore(Py_NewRef(Py_TYPE(value)), value, PyException_GetTraceback(value));
  return true;
}

}  // namespace suture
