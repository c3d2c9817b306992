// Artifacts graph_code (runnable NumPy source) and graph (text with types) of a captured graph.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {
namespace {

std::string graph_text(const EventRecord& event, const RenderContext& context, const std::string& body) {
  return fmt::format("Graph {} of {}, {}\n{}", event.str("graph"), context.frame_of(event).str(),
                     count_of(event.integer("op_count"), "op"), body);
}

}  // namespace

std::string render_graph_code(const EventRecord& event, RenderContext& context) {
  return graph_text(event, context, event.str("code"));
}

std::string render_graph(const EventRecord& event, RenderContext& context) {
  return graph_text(event, context, event.str("text"));
}

}  // namespace suture::toolbox
