// Artifact bytecode: listings of a broken function before and after.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {

Texts render_bytecode(const EventRecord& event, RenderContext& context) {
  return fmt::format("ORIGINAL BYTECODE of {}\n{}\nMODIFIED BYTECODE {}\n{}", context.frame_of(event).str(),
                     event.str("before"), event.str("name"), event.str("after"));
}

}  // namespace suture::toolbox
