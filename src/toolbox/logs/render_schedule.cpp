// Artifacts of the middle of the compiler: graph_passes, ir_pre_fusion, ir_post_fusion, schedule,
// loop_ordering, fusion.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {

Texts render_graph_passes(const EventRecord& event, RenderContext&) {
  std::string out = fmt::format("pass {:<24} {:>9.3f} ms  {}", event.str("name"), event.number("ms"),
                                event.flag("changed") ? "changed" : "no change");
  std::string text = event.str("text");
  return text.empty() ? out : out + "\n" + text;
}

Texts render_ir_pre_fusion(const EventRecord& event, RenderContext& context) {
  return fmt::format("BEFORE FUSION of {}\n{}", context.frame_of(event).str(), event.str("before"));
}

Texts render_ir_post_fusion(const EventRecord& event, RenderContext& context) {
  return fmt::format("AFTER FUSION of {}\n{}", context.frame_of(event).str(), event.str("after"));
}

Texts render_schedule(const EventRecord& event, RenderContext& context) {
  const auto& steps = event.list("steps");
  std::string out = fmt::format("Schedule of {} of {}: {}", event.str("graph"), context.frame_of(event).str(),
                                count_of(static_cast<int64_t>(steps.size()), "step"));
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string loops = item_of(event.list("loops"), i);
    out += fmt::format("\n  {} {}{}\n    reads {}\n    writes {}", i, steps[i],
                       loops.empty() ? "" : " loops " + loops, item_of(event.list("reads"), i),
                       item_of(event.list("writes"), i));
  }
  return out;
}

Texts render_loop_ordering(const EventRecord& event, RenderContext& context) {
  std::string out = fmt::format("Loop order of {} of {}", event.str("graph"), context.frame_of(event).str());
  const auto& steps = event.list("steps");
  for (size_t i = 0; i < steps.size(); ++i) {
    const std::string loops = item_of(event.list("loops"), i);
    if (loops.empty()) continue;
    out += fmt::format("\n  {}: axes {} => loops {}\n    {}", steps[i], item_of(event.list("axes"), i), loops,
                       item_of(event.list("order_reasons"), i));
  }
  return out;
}

Texts render_fusion(const EventRecord& event, RenderContext&) {
  if (event.flag("fused"))
    return fmt::format("fused {} into {}", event.str("producer"), event.str("consumer"));
  return fmt::format("cannot fuse {} with {}: {} ({})", event.str("producer"), event.str("consumer"),
                     event.str("sentence"), event.str("reason"));
}

}  // namespace suture::toolbox
