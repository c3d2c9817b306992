#include "capture/folding.h"

#include "cpython/discard_error.h"

namespace suture {

std::optional<Failed> exception_of_folding(CaptureState& state) {
  if (!PyErr_Occurred())
    return Failed{Error::internal("capture", "an operation failed without an exception")};
  if (!pending_error_is_ordinary() || PyErr_ExceptionMatches(PyExc_MemoryError))
    return Failed{Error::python("capture")};
  const bool warned =
      PyErr_ExceptionMatches(PyExc_Warning) || PyErr_ExceptionMatches(PyExc_FloatingPointError);
  const std::string text = pending_exception_text();
  discard_error();
  if (warned) return std::nullopt;
  return Failed{state.make_break(BreakReason::kWouldRaise, {text})};
}

}  // namespace suture
