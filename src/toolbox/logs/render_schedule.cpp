// Artifacts of the middle of the compiler: graph_passes, ir_pre_fusion, ir_post_fusion, fusion.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {

std::string render_graph_passes(const EventRecord& event, RenderContext&) {
  std::string out = fmt::format("pass {:<24} {:>9.3f} ms  {}", event.str("name"), event.number("ms"),
                                event.flag("changed") ? "changed" : "no change");
  std::string text = event.str("text");
  return text.empty() ? out : out + "\n" + text;
}

std::string render_ir_pre_fusion(const EventRecord& event, RenderContext& context) {
  return fmt::format("BEFORE FUSION of {}\n{}", context.frame_of(event).str(), event.str("before"));
}

std::string render_ir_post_fusion(const EventRecord& event, RenderContext& context) {
  return fmt::format("AFTER FUSION of {}\n{}", context.frame_of(event).str(), event.str("after"));
}

std::string render_fusion(const EventRecord& event, RenderContext&) {
  if (event.flag("fused"))
    return fmt::format("fused {} into {}", event.str("producer"), event.str("consumer"));
  return fmt::format("cannot fuse {} with {}: {} ({})", event.str("producer"), event.str("consumer"),
                     event.str("sentence"), event.str("reason"));
}

}  // namespace suture::toolbox
