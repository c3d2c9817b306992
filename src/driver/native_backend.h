// The native backend: captured graph -> passes -> loops -> schedule -> C++ -> machine code.
#pragma once

#include <span>

#include "base/result.h"
#include "driver/backend.h"
#include "driver/compile_context.h"
#include "driver/stopwatch.h"

namespace suture {

class Compiler;

// replay: runs the graph under NumPy, for calls whose results NumPy would warn about.
Result<PyRef> compile_native(GraphSource& source, PyRef replay, Compiler& compiler, CompileContext& ctx,
                             Phases& phases);

// Graphs that stand alone, soon to be compiled natively with these options: their kernels are compiled in one run of the C++
// compiler and wait in the disk cache. What cannot be compiled is left out, and says why when it is its turn.
struct GraphAhead {
  const Graph& graph;
  FrameOptions options;
};
Status compile_ahead(std::span<const GraphAhead> graphs, Compiler& compiler);

}  // namespace suture
