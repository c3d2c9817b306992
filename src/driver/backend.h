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
#include "runtime/compiled_graph.h"

namespace suture {

class Compiler;

// Appends an input for every symbol that no placeholder carries, so that a compiled graph can bind all
// symbols from its inputs.
void add_symbol_inputs(Capture& capture);

// A CompiledGraph object for the capture's graph. Facts about sizes that the passes relied on are added to the
// graph's.
Result<PyRef> compile_graph(Capture& capture, const FrameInput& input, Compiler& compiler,
                            CompileContext& ctx, Phases& phases);

// What a backend is called with: suture.Graph, and the list of the objects its inputs hold in this call; None when one of them is
// computed first.
struct BackendArguments {
  PyRef graph, inputs;
};
Result<BackendArguments> backend_arguments(const Capture& capture, const FrameInput& input,
                                           Compiler& compiler);

// The objects the graph's inputs hold in this call; empty when one of them is computed first.
std::vector<PyRef> present_inputs(const Capture& capture, const FrameInput& input);
std::vector<NativeGraph::InputBinding> input_bindings(const Capture& capture);

// captured -> lowered, reporting each pass.
Result<Graph> lower_graph(const Graph& captured, Compiler& compiler, CompileContext& ctx);

}  // namespace suture
