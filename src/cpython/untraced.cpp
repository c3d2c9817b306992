#include "cpython/untraced.h"

#include "cpython/py_ref.h"

namespace suture {

Untraced::Untraced() noexcept {
#if PY_VERSION_HEX >= 0x030B0000
  PyThreadState_EnterTracing(PyThreadState_Get());
#endif
}

Untraced::~Untraced() {
  stop_if_interpreter_is_gone();
#if PY_VERSION_HEX >= 0x030B0000
  PyThreadState_LeaveTracing(PyThreadState_Get());
#endif
}

}  // namespace suture
