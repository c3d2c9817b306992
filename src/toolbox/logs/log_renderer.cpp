// Which records an event makes. Artifacts are independent of levels: a named artifact speaks at level info,
// warnings of a component (a skipped function, a reached limit, a defect of ours) are visible without any
// setting.
#include "toolbox/logs/log_renderer.h"

#include <fmt/format.h>

#include <bit>

#include "base/escaped_text.h"

namespace suture::toolbox {
namespace {

using ArtifactRender = Texts (*)(const EventRecord&, RenderContext&);

ArtifactRender renderer_of(Artifact artifact) {
  switch (artifact) {
#define SUTURE_ARTIFACT(name, ...) \
  case Artifact::name##_: return render_##name;
#include "toolbox/logs/artifacts.def"
  }
  return nullptr;
}

void learn_frame(const EventRecord& event, std::map<int, FrameName>& frames) {
  if (!event.is(EventId::kFrameStart)) return;
  frames[event.compile.frame] = {event.str("function"), event.str("file"), event.integer("line")};
}

// The machine code of a kernel says nothing of its origin; its source does.
void learn_kernels(const EventRecord& event, RenderContext& context) {
  if (!event.is(EventId::kKernelSource)) return;
  const auto& kernels = event.list("kernels");
  for (size_t i = 0; i < kernels.size(); ++i)
    context.kernel_notes[{compile_key(event), kernels[i]}] =
        fmt::format("# fuses {}\n# lines {}\n", item_of(event.list("kernel_ops"), i),
                    item_of(event.list("kernel_lines"), i));
}

}  // namespace

LogRenderer::LogRenderer(LogSettings settings, SourceLine source_line)
    : settings_(std::move(settings)),
      source_line_(std::move(source_line)),
      context_{source_line_, {}, {}, {}, {}, {}} {}

LogLine LogRenderer::make_line(const EventRecord& event, std::string logger, Level level,
                               std::string text) const {
  const FrameName frame = frame_of(frames_, event);
  LogLine line;
  line.logger = std::move(logger);
  line.level = level;
  line.compile_id = event.id;
  line.file = frame.file;
  line.line = event.integer("line", frame.line);
  line.function = frame.function;
  line.text = escaped_text(text);
  return line;
}

bool LogRenderer::passes(const EventRecord& event) const {
  if (!settings_.filters()) return true;
  std::vector<std::string> functions{event.str("function")}, files{event.str("file")};
  if (auto frame = frames_.find(event.compile.frame); frame != frames_.end()) {
    functions.push_back(frame->second.function);
    files.push_back(frame->second.file);
  }
  return settings_.passes(functions, files, event.id);
}

// Whether one of them speaks of the event.
bool LogRenderer::add_artifacts(const Shown& shown, std::vector<LogLine>& out) {
  bool any = false;
  for (const ArtifactInfo& artifact : all_artifacts()) {
    if (!settings_.on(artifact.artifact) || !artifact.fed_by(shown.event)) continue;
    Texts texts = renderer_of(artifact.artifact)(shown.for_text, context_);
    any = any || !texts.empty();
    for (std::string& text : texts) {
      if (text.empty()) continue;
      out.push_back(make_line(shown.event, fmt::format("suture.{}.{}", artifact.component, artifact.name),
                              Level::kInfo, std::move(text)));
      out.back().artifact = std::string(artifact.name);
    }
  }
  return any;
}

void LogRenderer::add_messages(const Shown& shown, bool filtered, std::vector<LogLine>& out) {
  for (const ComponentMessage& message : component_messages()) {
    if (!shown.event.is(message.event) || message.lowest < settings_.level(message.component)) continue;
    if (filtered && message.lowest < Level::kWarning) continue;
    if (auto text = message.render(shown.for_text, context_))
      out.push_back(
          make_line(shown.event, fmt::format("suture.{}", message.component), message.lowest, *text));
  }
}

std::vector<LogLine> LogRenderer::render(std::string_view json_line) {
  std::vector<LogLine> out;
  auto parsed = parse_event(json_line);
  if (!parsed.ok()) return out;
  const EventRecord for_text = for_lines(*parsed);
  const Shown shown{*parsed, for_text};
  learn_frame(shown.event, frames_);
  learn_frame(for_text, context_.frames);
  learn_kernels(for_text, context_);
  const bool filtered = !passes(shown.event);
  // The same news twice helps nobody: an artifact has said it in full.
  const bool said = !filtered && add_artifacts(shown, out);
  if (!said) add_messages(shown, filtered, out);
  return out;
}

std::vector<LogLine> LogRenderer::finish() {
  std::vector<LogLine> out;
  int repeats = 0, places = 0;
  for (const auto& [key, times] : context_.seen) {
    // Shown at the last power of two; what came after it was not.
    int unreported = times - static_cast<int>(std::bit_floor(static_cast<unsigned>(times)));
    if (unreported == 0) continue;
    repeats += unreported;
    ++places;
  }
  context_.seen.clear();
  if (!repeats || !settings_.on(Artifact::graph_breaks_)) return out;
  LogLine line;
  line.logger = "suture.capture.graph_breaks";
  line.artifact = "graph_breaks";
  line.text =
      fmt::format("{} of {} not shown.", count_of(repeats, "repeat"), count_of(places, "graph break"));
  out.push_back(std::move(line));
  return out;
}

}  // namespace suture::toolbox
