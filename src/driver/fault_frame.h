// Faults on purpose in what a frame is made of besides its graph: guards, and what a resume function is handed.
// The option inject_fault names them as it does those of the native pipeline (driver/inject_fault.h).
//
// How it works
//   A fault edits what capture found out, before anything is made of it. Everything behind it sees what was edited and nothing
//   else. Every act is an event `fault_injected`.
// Invariants
//   - Guards stay that others rely on: of types, of plain arrays, and those that give a symbol its value.
//   - Variables are exchanged for others that have a value in the same frame; references are counted as ever.
#pragma once

#include "base/result.h"
#include "capture/capture.h"
#include "driver/compile_context.h"

namespace suture {

// Nothing while the option is empty or names a fault of graphs.
Status inject_frame_fault(Capture& capture, const CompileContext& ctx);

}  // namespace suture
