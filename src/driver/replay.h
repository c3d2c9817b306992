// Replay: the captured graph as a Python callable under NumPy, placed at the user's file and lines.
//
// Overview
//   The runtime calls it when a kernel saw a floating-point or integer condition, so that NumPy itself issues
//   its warnings and raises its exceptions, blamed on the user's line and module. The `eager` backend is the
//   same callable. The source is compiled at the first call only.
#pragma once

#include <span>

#include "base/result.h"
#include "capture/capture.h"
#include "cpython/py_ref.h"
#include "graph/graph.h"
#include "runtime/compiled_graph.h"

namespace suture {

// `call_sites` (per node, or empty) give the frames of inlined functions. `bindings` say which input carries each symbol.
// `user_globals` is the dict of the function the graph came from; its __name__ and warning registry are used, nothing
// else. May be null.
Result<PyRef> make_replay(const Graph& graph, std::span<const CallSites> call_sites,
                          std::span<const NativeGraph::InputBinding> bindings, PyView user_globals);

}  // namespace suture
