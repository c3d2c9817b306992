// Daemon threads at the end of the interpreter.
//
// How it works
//   CPython (before 3.14) ends a thread that asks for the lock of a finalizing interpreter by pthread_exit. The C++
//   runtime then unwinds the stack, and every destructor on it runs without the lock: to let go of a Python object there
//   would corrupt the interpreter. So from the moment exit handlers run, destructors of ours ask first
//   (stop_if_interpreter_is_gone in py_ref.h), and the thread stops for good at the first one that must not go on. The
//   process ends it. That is what later versions of CPython do themselves.
#pragma once

#include "base/result.h"

namespace suture {

// Registers the exit handler. Error kPython when that fails.
Status watch_for_interpreter_end();

}  // namespace suture
