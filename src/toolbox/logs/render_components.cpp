// Messages of components. Those at level warning are visible without any setting: nothing is skipped
// silently.
#include <fmt/format.h>

#include "toolbox/logs/render.h"
#include "trace/severity.h"

namespace suture::toolbox {
namespace {

using Text = std::optional<std::string>;

// A function without array work is not worth a warning: there is nothing to gain and nothing to fix.
bool nothing_to_do(const EventRecord& event) { return event.str("severity") == name_of(Severity::kNote); }

std::string skip_sentence(const EventRecord& event) {
  return fmt::format("{} ({}:{}) runs in the interpreter: {} ({}). {}", event.str("function"),
                     event.str("file"), event.integer("line"), event.str("reason"), event.str("reason_id"),
                     event.str("explanation"));
}

Text skipped(const EventRecord& event, RenderContext& context) {
  if (nothing_to_do(event) || context.seen["warned:" + skip_sentence(event)]++) return {};
  return skip_sentence(event);
}

Text skipped_quietly(const EventRecord& event, RenderContext&) {
  if (!nothing_to_do(event)) return {};
  return skip_sentence(event);
}

Text limit_reached(const EventRecord& event, RenderContext& context) {
  return render_recompiles(event, context).front();
}

Text internal_error(const EventRecord& event, RenderContext&) {
  std::string artifact = event.str("artifact");
  return fmt::format("internal error in {} while compiling {}: {}. The function runs in the interpreter.{}",
                     event.str("step"), event.str("function"), event.str("message"),
                     artifact.empty() ? "" : fmt::format(" Saved: {}", artifact));
}

// The message names the directory. Every compile meets the same trouble: it is told once.
Text cache_trouble(const EventRecord& event, RenderContext& context) {
  const std::string message = event.str("message");
  if (context.seen["cache: " + message]++) return std::nullopt;
  return message;
}

Text fault_injected(const EventRecord& event, RenderContext&) {
  return fmt::format(
      "inject_fault is on: {} ({}) on {} of graph {}, {}:{}. Results of this program are wrong on "
      "purpose.",
      event.str("kind"), event.str("stage"), event.str("at"), event.str("graph"), event.str("file"),
      event.integer("line"));
}

Text profile_trouble(const EventRecord& event, RenderContext&) {
  return fmt::format("Profilers are not told the names of kernels: {}", event.str("message"));
}

Text frame_start(const EventRecord& event, RenderContext& context) {
  int64_t attempt = event.integer("attempt");
  return fmt::format("capturing {} {}{}", event.str("kind"), context.frame_of(event).str(),
                     attempt ? fmt::format(", attempt {}", attempt) : "");
}

Text frame_done(const EventRecord& event, RenderContext& context) {
  std::string graph = event.str("graph");
  return fmt::format("compiled {}: entry {}, {}, {:.1f} ms", context.frame_of(event).str(),
                     event.integer("entry"), graph.empty() ? "no graph" : graph, event.number("ms"));
}

Text recompiling(const EventRecord& event, RenderContext&) {
  return fmt::format("recompiling {} ({}:{})", event.str("function"), event.str("file"),
                     event.integer("line"));
}

Text kernel_compiled(const EventRecord& event, RenderContext&) {
  return fmt::format("{} of {}: {}, {:.1f} ms{}",
                     count_of(static_cast<int64_t>(event.list("kernels").size()), "kernel"),
                     event.str("graph"), event.str("tool"), event.number("ms"),
                     event.flag("cache_hit") ? ", cache hit" : "");
}

Text kernel_source(const EventRecord& event, RenderContext&) {
  return fmt::format("{}: {}", event.str("graph"), event.str("path"));
}

Text steps_planned(const EventRecord& event, RenderContext&) {
  return fmt::format("{}: {}", event.str("graph"),
                     count_of(static_cast<int64_t>(event.list("steps").size()), "step"));
}

Text lowered(const EventRecord& event, RenderContext& context) {
  const std::string before = event.str("before");
  int64_t nests = before.starts_with("for ");
  for (size_t at = before.find("\nfor "); at != std::string::npos; at = before.find("\nfor ", at + 1))
    ++nests;
  return fmt::format("{}: {} before fusion", context.frame_of(event).str(), count_of(nests, "loop nest"));
}

Text calls_during_compile(const EventRecord& event, RenderContext&) {
  return calls_during_compile_text(event);
}

Text cache_lookup(const EventRecord& event, RenderContext& context) {
  return render_cache(event, context).front();
}

Text pass_done(const EventRecord& event, RenderContext& context) {
  return render_graph_passes(event, context).front();
}
Text fusion(const EventRecord& event, RenderContext& context) {
  return render_fusion(event, context).front();
}
Text replay(const EventRecord& event, RenderContext& context) {
  return render_replays(event, context).front();
}

}  // namespace

const std::vector<ComponentMessage>& component_messages() {
  static const std::vector<ComponentMessage> table = {
      {EventId::kFrameSkipped, "capture", Level::kWarning, skipped},
      {EventId::kFrameSkipped, "capture", Level::kInfo, skipped_quietly},
      {EventId::kRecompileLimit, "runtime", Level::kWarning, limit_reached},
      {EventId::kInternalError, "capture", Level::kError, internal_error},
      {EventId::kCacheTrouble, "cache", Level::kWarning, cache_trouble},
      {EventId::kFaultInjected, "passes", Level::kWarning, fault_injected},
      {EventId::kProfileTrouble, "toolchain", Level::kWarning, profile_trouble},
      {EventId::kFrameStart, "capture", Level::kInfo, frame_start},
      {EventId::kFrameDone, "capture", Level::kInfo, frame_done},
      {EventId::kRecompile, "runtime", Level::kInfo, recompiling},
      {EventId::kReplay, "runtime", Level::kInfo, replay},
      {EventId::kCallsDuringCompile, "runtime", Level::kInfo, calls_during_compile},
      {EventId::kKernelCompiled, "toolchain", Level::kInfo, kernel_compiled},
      {EventId::kKernelSource, "codegen", Level::kInfo, kernel_source},
      {EventId::kPassDone, "passes", Level::kDebug, pass_done},
      {EventId::kFusionDecision, "schedule", Level::kDebug, fusion},
      {EventId::kSchedulePlanned, "schedule", Level::kInfo, steps_planned},
      {EventId::kLowered, "loop", Level::kInfo, lowered},
      {EventId::kKernelCompiled, "cache", Level::kInfo, cache_lookup},
  };
  return table;
}

}  // namespace suture::toolbox
