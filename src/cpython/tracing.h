// Whether somebody watches this thread run: sys.settrace, sys.setprofile, and what stands on them (debuggers, coverage,
// cProfile, threading.settrace).
//
// A watcher has to see every call and line of the user's function, so a compiled function runs in the interpreter
// while there is one, except inside suture.debug(). CPython keeps the answer in one byte that its own call path reads.
#pragma once

#include "cpython/py_ref.h"

namespace suture {

// While suture.debug() is in force compiled functions show a debugger what they run, so they do not run in the interpreter
// for it (runtime/stepping.h).
inline bool stepping = false;

inline bool is_watched() noexcept {
  const PyThreadState* thread = _PyThreadState_UncheckedGet();
#if PY_VERSION_HEX < 0x030C0000
  return thread->cframe->use_tracing != 0;
#else
  // sys.monitoring instruments code objects; only versions without an opcode table have it, and nothing is
  // compiled there.
  return thread->c_tracefunc != nullptr || thread->c_profilefunc != nullptr;
#endif
}

}  // namespace suture
