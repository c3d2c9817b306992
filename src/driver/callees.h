// Callees: a Python function that is called at a break and could not be inlined is called through a compiled
// wrapper of its own, so that its body is compiled too.
#pragma once

#include "base/result.h"
#include "capture/capture.h"

namespace suture {

class Compiler;
struct FrameRecord;

// Replaces the callable of the call at which `capture` breaks by its compiled wrapper, guarded by identity.
// Does nothing when the break is no such call.
Status compile_callee(Capture& capture, const FrameInput& input, FrameRecord& frame, Compiler& compiler);

}  // namespace suture
