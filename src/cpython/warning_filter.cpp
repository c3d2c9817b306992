#include "cpython/warning_filter.h"

#include "cpython/discard_error.h"
#include "cpython/objects.h"

namespace suture {
namespace {

// Puts a filter for every warning before the others; the filter, or empty when it could not be put.
PyRef put_filter(const char* action, PyRef& filters) noexcept {
  PyRef module = PyRef::steal(PyImport_ImportModule("warnings"));
  filters = module ? PyRef::steal(PyObject_GetAttrString(module.get(), "filters")) : PyRef();
  PyRef filter;
  if (filters && PyList_CheckExact(filters.get()))
    filter = PyRef::steal(Py_BuildValue("(sOOOi)", action, Py_None, PyExc_Warning, Py_None, 0));
  if (filter && PyList_Insert(filters.get(), 0, filter.get()) < 0) filter = {};
  discard_error();
  return filter;
}

// A pending exception stays.
void take_filter(PyView filters, PyView filter) noexcept {
  for (Py_ssize_t i = 0; filter && i < PyList_GET_SIZE(filters); ++i) {
    if (PyList_GET_ITEM(filters, i) != filter) continue;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (PyList_SetSlice(filters, i, i + 1, nullptr) < 0) discard_error();
    PyErr_Restore(type, value, traceback);
    break;
  }
}

}  // namespace

RaisingWarnings::RaisingWarnings() noexcept { filter_ = put_filter("error", filters_); }
RaisingWarnings::~RaisingWarnings() {
  stop_if_interpreter_is_gone();
  take_filter(filters_.get(), filter_.get());
}

IgnoredWarnings::IgnoredWarnings() noexcept { filter_ = put_filter("ignore", filters_); }
IgnoredWarnings::~IgnoredWarnings() {
  stop_if_interpreter_is_gone();
  take_filter(filters_.get(), filter_.get());
}

}  // namespace suture
