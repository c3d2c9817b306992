// Artifact output_code: where the C++ lies, what its kernels take, and the text itself.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {

std::string render_output_code(const EventRecord& event, RenderContext& context) {
  std::string path = event.str("path");
  std::string out = fmt::format("Output code written to: {}", path.empty() ? "(not written)" : path);
  out += fmt::format("\nGraph {} of {}", event.str("graph"), context.frame_of(event).str());
  const auto& kernels = event.list("kernels");
  const auto& signatures = event.list("signatures");
  for (size_t i = 0; i < kernels.size(); ++i)
    out += fmt::format("\n{} = {}", kernels[i], i < signatures.size() ? signatures[i] : "");
  return out + "\n" + event.str("code");
}

}  // namespace suture::toolbox
