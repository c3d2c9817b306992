// Folding: real operations on real objects while a frame is captured.
//
// The user must not hear of them: what is folded happens once, what it stands for at every call. So a result
// that comes with a warning, or with a floating-point condition (whatever the error state says now), is no
// result, and the operation is left to run time.
#pragma once

#include <concepts>

#include "capture/capture_state.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "cpython/warning_filter.h"

namespace suture {

// The break or error for the exception that is pending after a real operation; empty when it was a warning.
std::optional<Failed> exception_of_folding(CaptureState& state);

// The result of `operation`, which returns a PyRef; empty when it must be left to run time. Exceptions become
// breaks, so that Python raises them again.
template <std::invocable Operation>
Captured<PyRef> fold(CaptureState& state, Operation operation) {
  PyRef result;
  {
    RaisingErrorState conditions(RaisingErrorState::Conditions::kAll);
    const WarningFilter warnings(WarningAction::kRaise);
    result = operation();
  }
  if (result) return result;
  if (auto failed = exception_of_folding(state)) return std::move(*failed);
  return PyRef();
}

}  // namespace suture
