#include "driver/hooks.h"

#include "cpython/discard_error.h"
#include "cpython/objects.h"

namespace suture {
namespace {

class HookCallWatch : public CallWatch {
 public:
  explicit HookCallWatch(PyRef hook) : hook_(std::move(hook)) {}

  PyRef begin(PyView function, std::span<PyObject* const> bound) override {
    PyRef session;
    if (PyRef arguments = tuple_of(bound))
      session = PyRef::steal(PyObject_CallFunctionObjArgs(hook_.get(), function, arguments.get(), nullptr));
    drop_hook_failure(hook_.get());
    return session.get() == Py_None ? PyRef() : std::move(session);
  }

  void end(PyView session, PyView result, PyView error) override {
    const std::string name = error ? type_name(error) : "";
    PyRef done =
        PyRef::steal(PyObject_CallMethod(session, "done", "Os", result ? result : Py_None, name.c_str()));
    drop_hook_failure(hook_.get());
  }

 private:
  PyRef hook_;
};

}  // namespace

void drop_hook_failure(PyView where) {
  if (!PyErr_Occurred()) return;
  if (pending_error_is_ordinary()) PyErr_WriteUnraisable(where);
  discard_error();  // Ctrl-C is raised later
}

PyRef tuple_of(std::span<PyObject* const> items) {
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; tuple && i < items.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyRef::borrow(items[i]).release());
  return tuple;
}

std::shared_ptr<CallWatch> make_call_watch(PyRef hook) {
  return std::make_shared<HookCallWatch>(std::move(hook));
}

}  // namespace suture
