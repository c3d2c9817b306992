// CallWatch: sees the outermost calls of compiled functions while profiling is on, for `suture check --compare`. Called with
// no Python exception set; must leave none behind.
#pragma once

#include <span>
#include <string>

#include "cpython/py_ref.h"

namespace suture {

class CallWatch {
 public:
  virtual ~CallWatch() = default;
  // Before the call. What `end` is told again; null: this call is not wanted.
  virtual PyRef begin(PyView function, std::span<PyObject* const> bound) = 0;
  // After it. `result` is null when the call raised `error`, a type.
  virtual void end(PyView session, PyView result, PyView error) = 0;
};

}  // namespace suture
