// Tail calls: Python code of ours that ends by calling a continuation leaves its frame first.
//
// How it works
//   The code returns (marker, callable, arguments..); whoever called it makes the call. So a function that was
//   split into parts shows one frame, as the user wrote it: stack levels, tracebacks and recursion depth are
//   those of the function, and what the first part held is freed before the second runs.
#pragma once

#include "cpython/py_ref.h"

namespace suture {

// First item of a tail call's tuple. Compared by identity only; no user program can hold it. Borrowed; null with
// an exception set when it cannot be made.
PyView tail_call_marker();
// Steals the result of such code: makes its tail call, if it is one. Null with an exception set on failure.
PyObject* finish_tail_call(PyObject* result);

}  // namespace suture
