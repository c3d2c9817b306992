// Tail calls: Python code of ours that ends by calling a continuation leaves its frame first.
//
// How it works
//   The code returns (marker, callable, arguments..); whoever called it makes the call. So a function that was
//   split into parts shows one frame, as the user wrote it: stack levels, tracebacks and recursion depth are
//   those of the function, and what the first part held is freed before the second runs.
//   The arguments belong to the call: nobody else keeps them. What is left of them when it ends dies in their order,
//   as the locals of a frame do.
#pragma once

#include "cpython/py_ref.h"

namespace suture {

// First item of a tail call's tuple. Compared by identity only; no user program can hold it. Borrowed; null with
// an exception set when it cannot be made.
PyView tail_call_marker();
// Steals the result of such code: makes its tail call, if it is one. Null with an exception set on failure.
PyObject* finish_tail_call(PyObject* result);
// True in a callable whose call is a tail call, asked once when it starts: it returns a tail call of its own unmade,
// so that its caller lets go of its arguments first. `function` is what the callable wraps.
bool starts_as_tail_call(PyView function) noexcept;
// A callable without arguments. Called by the code that runs as a tail call, it lets go of the call's arguments: from
// then on that code's own variables hold them, or nobody does. Empty with an exception set on failure.
PyRef tail_argument_releaser();

}  // namespace suture
