// Artifact dynamic: symbols that were made, and facts about them.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {

Texts render_dynamic(const EventRecord& event, RenderContext& context) {
  std::string where = event.str("place");
  std::string at = where.empty() ? "" : fmt::format(" [{}]", where);
  if (event.str("why") == "fact") return fmt::format("fact {}{}", event.str("fact"), at);
  return fmt::format("symbol {} = {} for {} of {}: {}{}", event.str("symbol"), event.integer("hint"),
                     event.str("source"), context.frame_of(event).function, event.str("why"), at);
}

}  // namespace suture::toolbox
