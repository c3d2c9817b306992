// Backends: captured graph -> something the runtime can call.
//
//   native         passes -> loops -> schedule -> C++ -> machine code
//   eager          the captured graph under NumPy
//   lowered_eager  the lowered graph under the reference interpreter
//   others         backend(graph, example_inputs) -> callable(*inputs) -> tuple
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

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

// A graph with what backends want to know about its surroundings. Graphs that were captured and graphs that stand alone take
// one path from here on.
struct GraphSource {
  Graph& graph;  // facts about sizes that the passes relied on are added to its own
  std::span<const CallSites> call_sites;
  std::vector<NativeGraph::InputBinding> bindings;
  PyView globals = nullptr;     // of the function it came from
  std::string function, place;  // shown by profilers
  RunAgain again = RunAgain::kGraph;
  bool foreign_reruns = false;              // when another backend's callable raises, Python runs the frame
  std::function<Result<PyRef>()> examples;  // list of the objects the inputs hold in this call
  std::function<std::vector<PyRef>()> inputs_to_measure;  // the same; empty when one is not there
};

// A CompiledGraph object: callable(*inputs) -> tuple.
Result<PyRef> compile_graph(GraphSource& source, Compiler& compiler, CompileContext& ctx, Phases& phases);
Result<PyRef> compile_graph(Capture& capture, const FrameInput& input, Compiler& compiler,
                            CompileContext& ctx, Phases& phases);
// A graph that stands alone, or one that a backend was given. What a backend raises is raised here.
Result<PyRef> compile_graph(Graph& graph, std::vector<NativeGraph::InputBinding> bindings,
                            FrameOptions options, PyView inputs, Compiler& compiler);
// Without example inputs.
GraphSource standalone_source(Graph& graph, std::vector<NativeGraph::InputBinding> bindings);
// The bindings of a graph that stands alone. Its inputs are the placeholders', then one int for every symbol that no
// placeholder carries (symbol_carriers).
std::vector<NativeGraph::InputBinding> standalone_bindings(const Graph& graph);

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
// The same, and what the passes relied on about sizes becomes the graph's own: guards are built from there.
Result<Graph> lower_source(GraphSource& source, Compiler& compiler, CompileContext& ctx);

}  // namespace suture
