// Artifacts of graphs: graph_sizes, lowered_graph, graph_code (runnable NumPy source; its first line is a comment, so that the record runs as it is) and graph
// (text with types) of a captured graph.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {
namespace {

std::string graph_text(const EventRecord& event, const RenderContext& context, const std::string& body) {
  return fmt::format("Graph {} of {}, {}\n{}", event.str("graph"), context.frame_of(event).str(),
                     count_of(event.integer("op_count"), "op"), body);
}

}  // namespace

Texts render_graph_code(const EventRecord& event, RenderContext& context) {
  return "# " + graph_text(event, context, event.str("code"));
}

Texts render_graph(const EventRecord& event, RenderContext& context) {
  return graph_text(event, context, event.str("text"));
}

// One line per value: "x: f64[s0, 48]  here f64[32, 48]".
Texts render_graph_sizes(const EventRecord& event, RenderContext& context) {
  std::string out = fmt::format("Sizes of {} of {}", event.str("graph"), context.frame_of(event).str());
  const auto& values = event.list("values");
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string type = item_of(event.list("types"), i), here = item_of(event.list("sizes"), i);
    out += fmt::format("\n  {}: {}{}", values[i], type, type == here ? "" : fmt::format("  here {}", here));
  }
  return out;
}

Texts render_lowered_graph(const EventRecord& event, RenderContext& context) {
  return fmt::format("Lowered graph of {}\n{}", context.frame_of(event).str(), event.str("lowered"));
}

}  // namespace suture::toolbox
