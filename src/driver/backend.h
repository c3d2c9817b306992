// Backends: captured graph -> something the runtime can call.
//
//   native         passes -> loops -> schedule -> C++ -> machine code
//   eager          the captured graph under NumPy
//   lowered_eager  the lowered graph under the reference interpreter
//   others         backend(graph, example_inputs) -> callable(*inputs) -> tuple
#pragma once

#include "base/result.h"
#include "capture/capture.h"
#include "driver/compile_context.h"
#include "driver/stopwatch.h"

namespace suture {

class Compiler;

// Appends an input for every symbol that no placeholder carries, so that a compiled graph can bind all
// symbols from its inputs.
void add_symbol_inputs(Capture& capture);

// A CompiledGraph object for the capture's graph. Facts about sizes that the passes relied on are added to the
// graph's.
Result<PyRef> compile_graph(Capture& capture, const FrameInput& input, Compiler& compiler,
                            CompileContext& ctx, Phases& phases);

// captured -> lowered, reporting each pass.
Result<Graph> lower_graph(const Graph& captured, Compiler& compiler, CompileContext& ctx);

}  // namespace suture
