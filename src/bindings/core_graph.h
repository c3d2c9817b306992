// class suture.Graph, shared by the files that bind it.
#pragma once

#include <optional>
#include <vector>

#include "bindings/core_module.h"

namespace suture {

using InputBindings = std::vector<NativeGraph::InputBinding>;

struct GraphObject {
  Graph graph;
  nb::object forward;      // made at first use
  InputBindings bindings;  // of its symbols to the inputs
  // With the facts about sizes that compile_graph relied on. The frame that the graph came from makes guards of them.
  std::optional<ShapeEnv> relied_on;
};

// The value of a symbol that its carrier has in a call. TypeError when the input is no array of that many axes, or no int.
int64_t symbol_value(const NativeGraph::InputBinding& binding, const nb::args& inputs);

// Text forms, parts and compiling of graphs that stand alone.
void bind_graph_surgery(nb::module_& module, nb::class_<GraphObject>& graph);

}  // namespace suture
