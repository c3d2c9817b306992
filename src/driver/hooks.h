// Calls of hooks that are written in Python. What fails in them is reported as unraisable and costs the record, not the
// user's call.
#pragma once

#include <memory>
#include <span>

#include "cpython/py_ref.h"
#include "runtime/call_watch.h"

namespace suture {

void drop_hook_failure(PyView where);
PyRef tuple_of(std::span<PyObject* const> items);  // empty with an exception set

// hook(function, arguments) -> an object, or None: this call is not wanted
//   .done(result, error)      error: "", or the name of the exception's type; the result is None then
std::shared_ptr<CallWatch> make_call_watch(PyRef hook);

}  // namespace suture
