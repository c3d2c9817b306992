// What several artifacts share: frame names.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {

std::string FrameName::str() const {
  return file.empty() ? function : fmt::format("{} ({}:{})", function, file, line);
}

FrameName RenderContext::frame_of(const EventRecord& event) const {
  auto found = frames.find(event.compile.frame);
  FrameName frame = found == frames.end() ? FrameName{} : found->second;
  // An event that says it itself is right even when the frame_start was missed.
  if (auto function = event.str("function"); !function.empty()) frame.function = function;
  if (auto file = event.str("file"); !file.empty()) {
    frame.file = file;
    frame.line = event.integer("line", frame.line);
  }
  return frame;
}

}  // namespace suture::toolbox
