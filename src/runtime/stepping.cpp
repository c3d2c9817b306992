#include "runtime/stepping.h"

#include "cpython/discard_error.h"
#include "cpython/objects.h"
#include "cpython/tracing.h"
#include "cpython/untraced.h"

namespace suture {
namespace {

PyObject* hook = nullptr;  // owned; never freed at the end of the process

}  // namespace

void set_stepping_hook(PyRef new_hook) {
  stepping = static_cast<bool>(new_hook);
  PyRef old = PyRef::steal(std::exchange(hook, new_hook.release()));
}

bool is_stepping() noexcept { return stepping; }

PyRef stepping_function(PyView function, const char* compile_id, PyView transformed) {
  const Untraced untraced;
  const PyRef asked = PyRef::borrow(hook);  // it may take itself away
  if (!asked) return {};
  PyRef id = PyRef::steal(PyUnicode_FromString(compile_id));
  PyView code = transformed ? transformed : Py_None;
  PyRef answer =
      id ? PyRef::steal(PyObject_CallFunctionObjArgs(asked.get(), function, id.get(), code, nullptr))
         : PyRef();
  if (!answer) {
    if (pending_error_is_ordinary()) PyErr_WriteUnraisable(asked.get());
    discard_error();
    return {};
  }
  return is_python_function(answer.get()) ? std::move(answer) : PyRef();
}

}  // namespace suture
