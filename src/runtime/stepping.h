// Stepping: what suture.debug() needs of the runtime.
//
// How it works
//   A hook gives for each function that is about to run one that a debugger can step: the same bytecode with the file name and
//   line table of a printed text. It is asked for the transformed function of an entry and, when the whole frame is one
//   graph, for the user's function itself, which then runs in the interpreter as it does for every debugger.
// Invariants
//   - The hook, and whatever is compiled, runs untraced: a debugger sees the program only.
//   - A hook that fails costs the stepping of that call, not the call.
#pragma once

#include "cpython/py_ref.h"

namespace suture {

// hook(function, compile id, transformed or None) -> a function to run in place of `transformed` (or of `function`), or
// None. Empty: no block of suture.debug() is open.
void set_stepping_hook(PyRef hook);
bool is_stepping() noexcept;
// The answer; empty when there is none, with no exception set.
PyRef stepping_function(PyView function, const char* compile_id, PyView transformed_or_null);

}  // namespace suture
