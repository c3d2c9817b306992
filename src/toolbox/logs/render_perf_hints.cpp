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
  if (cost > 0) out += fmt::format("\nCost: {:.3f} ms per call", cost);
  if (!evidence.empty()) out += "\nEvidence: " + evidence;
  if (!advice.empty()) out += "\nHint: " + advice;
  return out;
}

}  // namespace suture::toolbox
