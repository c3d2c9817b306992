// A recorded run as a Chrome trace (chrome://tracing, Perfetto): nested slices per process and thread, instants for breaks
// and recompiles.
//
// How it works
//   frame_done says how long the whole compile took, when each phase began and how long it was; its own time is the end.
//   Inside `passes` lie the passes, inside `compile` the steps of the C++ compiler, one after the other as they ran.
//   A child is cut where its parent ends, so that slices always nest.
#pragma once

#include <string>

#include "toolbox/logs/trace_diff.h"

namespace suture::toolbox {

// {"displayTimeUnit": "ms", "traceEvents": [...]}
std::string chrome_trace(const RunLines& run);

}  // namespace suture::toolbox
