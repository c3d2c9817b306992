// JitCallable: the object suture.compile returns.
//
// Overview
//   A heap type with vectorcall and the descriptor protocol. It stands in for the wrapped function: __name__,
//   __doc__,
//   __wrapped__, __module__, __qualname__, signature, pickling by reference. A call goes to the DispatchFn
//   that runtime/ installs; this room knows nothing of guards, caches or compilers.
// Invariants
//   - Argument binding allocates nothing for plain positional calls; any binding error is produced by calling
//   the original
//     function with the same arguments, so that the TypeError is CPython's own.
//   - Subject to cyclic GC together with its state.
//   - Attributes it does not have itself are the function's; __name__, __qualname__, __doc__ and __module__
//   are read from and
//     written to the function.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "cpython/py_ref.h"

namespace suture {

class FrameState {  // what runtime/ keeps per callable; owned by the JitCallable
 public:
  virtual ~FrameState() = default;
  // Arguments bound in localsplus order, borrowed. Returns a new reference, or null with an exception set.
  virtual PyObject* on_call(PyView function, std::span<PyObject* const> bound) = 0;
  virtual int traverse(visitproc visit, void* arg) = 0;
  virtual void clear() = 0;

  // Set by runtime/ when every call goes to the function itself: the callable then passes its arguments on
  // unbound.
  bool bypass = false;
  bool hides_caller = false;        // an iteration function: see cpython/hidden_frames.h
  const bool* profiling = nullptr;  // while *profiling, calls are not bypassed: on_call keeps their time
  bool bypassed() const { return bypass && !(profiling && *profiling); }
  int64_t calls = 0;  // all calls, counted by the callable
};

// Adds the type to `module` as CompiledFunction. make_jit_callable works without it.
Status register_jit_callable_type(PyView module);
PyRef make_jit_callable(PyView function, std::unique_ptr<FrameState> state);
bool is_jit_callable(PyView object) noexcept;
PyView jit_callable_function(PyView callable) noexcept;  // the wrapped function
FrameState* jit_callable_state(PyView callable) noexcept;

}  // namespace suture
