// What several artifacts share: frame names, quotes.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {

std::string FrameName::str() const {
  return file.empty() ? function : fmt::format("{} ({}:{})", function, file, line);
}

std::string item_of(const std::vector<std::string>& list, size_t i) {
  return i < list.size() ? list[i] : std::string();
}

std::string compile_key(const EventRecord& event) {
  return fmt::format("{}/{}", event.compile.frame, event.compile.compile);
}

std::string calls_during_compile_text(const EventRecord& event) {
  return fmt::format("{} of {} in {} ran in the interpreter: {}", count_of(event.integer("calls"), "call"),
                     event.str("function"), place(event.str("file"), event.integer("line")),
                     event.str("reason"));
}

std::string quote_event(const EventRecord& event, const RenderContext& context) {
  const std::string source = event.str("source");
  const SourceLine own = [&](const std::string&, int) { return source; };
  return quote_source(source.empty() ? context.source_line : own, event.str("file"), event.integer("line"),
                      event.integer("column", -1), event.integer("end_column", -1));
}

FrameName frame_of(const std::map<int, FrameName>& frames, const EventRecord& event) {
  auto found = frames.find(event.compile.frame);
  FrameName frame = found == frames.end() ? FrameName{} : found->second;
  if (auto function = event.str("function"); !function.empty()) frame.function = function;
  if (auto file = event.str("file"); !file.empty()) {
    frame.file = file;
    frame.line = event.integer("line", frame.line);
  }
  return frame;
}

FrameName RenderContext::frame_of(const EventRecord& event) const { return toolbox::frame_of(frames, event); }

}  // namespace suture::toolbox
