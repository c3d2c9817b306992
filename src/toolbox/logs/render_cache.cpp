// Artifact cache: what the disk cache answered.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {

Texts render_cache(const EventRecord& event, RenderContext& context) {
  const std::string key = event.str("cache_key"), reason = event.str("cache_reason");
  const bool hit = event.flag("cache_hit");
  return fmt::format("{} for {} of {}{}{}", hit ? "hit" : "miss", event.str("graph"),
                     context.frame_of(event).str(), hit || reason.empty() ? "" : ": " + reason,
                     key.empty() ? "" : "\n  key " + key);
}

}  // namespace suture::toolbox
