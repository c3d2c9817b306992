// Artifact perf_hints: what costs, the evidence for it, and what to do.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {

Texts render_perf_hints(const EventRecord& event, RenderContext& context) {
  const std::string file = event.str("file"), evidence = event.str("evidence"), advice = event.str("advice");
  const double cost = event.number("cost_ms");
  std::string out =
      fmt::format("{} at {}: {}", event.str("id"),
                  file.empty() ? context.frame_of(event).str() : place(file, event.integer("line")),
                  event.str("sentence"));
  if (const std::string why = event.str("why"); !why.empty()) out += "\nWhy: " + why;
  if (!evidence.empty()) out += "\nEvidence: " + evidence;
  if (cost > 0) out += fmt::format("\nCost: up to {:.6f} ms per call, measured", cost);
  if (!advice.empty()) out += "\nHint: " + advice;
  out += "\nMore: suture explain " + event.str("id");
  return out;
}

}  // namespace suture::toolbox
