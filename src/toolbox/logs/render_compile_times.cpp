// Artifacts compile_times and replays.
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {
namespace {

std::string kernel_times(const EventRecord& event) {
  std::string out = fmt::format("Kernels of {} by {}{}: {:.1f} ms", event.str("graph"), event.str("tool"),
                                event.flag("cache_hit") ? " (cache hit)" : "", event.number("ms"));
  static constexpr std::pair<const char*, const char*> kParts[] = {{"load_ms", "load compiler"},
                                                                   {"frontend_ms", "front end"},
                                                                   {"optimise_ms", "optimise"},
                                                                   {"codegen_ms", "code generation"},
                                                                   {"link_ms", "link"}};
  for (const auto& [field, name] : kParts)
    if (event.number(field) > 0) out += fmt::format("\n  {:<18}{:>9.2f} ms", name, event.number(field));
  return out;
}

}  // namespace

Texts render_compile_times(const EventRecord& event, RenderContext& context) {
  if (event.is(EventId::kKernelCompiled)) return kernel_times(event);
  std::string out = fmt::format("Compile Times of {}, entry {}: {:.1f} ms", context.frame_of(event).str(),
                                event.integer("entry"), event.number("ms"));
  for (const auto& [phase, ms] : event.dict("phases")) out += fmt::format("\n  {:<18}{:>9.2f} ms", phase, ms);
  return out;
}

Texts render_replays(const EventRecord& event, RenderContext& context) {
  return fmt::format("Graph {} of {} ran again under NumPy: {}", event.str("graph"),
                     context.frame_of(event).str(), event.str("conditions"));
}

}  // namespace suture::toolbox
