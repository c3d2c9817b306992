#include "cpython/warning_filter.h"

#include "cpython/discard_error.h"

namespace suture {

WarningFilter::WarningFilter(WarningAction action) noexcept {
  PyRef module = PyRef::steal(PyImport_ImportModule("warnings"));
  filters_ = module ? PyRef::steal(PyObject_GetAttrString(module.get(), "filters")) : PyRef();
  if (filters_ && PyList_CheckExact(filters_.get()))
    filter_ = PyRef::steal(Py_BuildValue("(sOOOi)", action == WarningAction::kRaise ? "error" : "ignore",
                                         Py_None, PyExc_Warning, Py_None, 0));
  if (filter_ && PyList_Insert(filters_.get(), 0, filter_.get()) < 0) filter_ = {};
  discard_error();
}

// A pending exception stays.
WarningFilter::~WarningFilter() {
  stop_if_interpreter_is_gone();
  for (Py_ssize_t i = 0; filter_ && i < PyList_GET_SIZE(filters_.get()); ++i) {
    if (PyList_GET_ITEM(filters_.get(), i) != filter_.get()) continue;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (PyList_SetSlice(filters_.get(), i, i + 1, nullptr) < 0) discard_error();
    PyErr_Restore(type, value, traceback);
    break;
  }
}

}  // namespace suture
