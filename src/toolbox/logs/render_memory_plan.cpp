// Artifact memory_plan: the buffers of a compiled graph, and which temporaries share memory.
//
//   Memory of f_graph_0 of f (prog.py:19): 3 buffers, temporaries 0 bytes in an arena of 0, outputs 8193 bytes
//     0 input   float64 [32, 32]       8192 bytes  steps 0-0
#include <fmt/format.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {
namespace {

std::string where_text(const EventRecord& event, size_t i) {
  const std::string kind = item_of(event.list("kinds"), i), offset = item_of(event.list("offsets"), i);
  if (kind == "temp") return fmt::format("  arena at {}", offset);
  if (kind == "view") return fmt::format("  of {} at {}", item_of(event.list("bases"), i), offset);
  return "";
}

}  // namespace

Texts render_memory_plan(const EventRecord& event, RenderContext& context) {
  const auto& kinds = event.list("kinds");
  const int64_t all = event.integer("temporary_bytes"), arena = event.integer("arena_bytes");
  std::string out =
      fmt::format("Memory of {} of {}: {}, temporaries {} in an arena of {}, outputs {}", event.str("graph"),
                  context.frame_of(event).str(), count_of(static_cast<int64_t>(kinds.size()), "buffer"),
                  count_of(all, "byte"), arena, count_of(event.integer("output_bytes"), "byte"));
  if (arena < all) out += fmt::format(" ({} reused)", count_of(all - arena, "byte"));
  if (const int64_t saved = event.integer("saved_bytes"); saved > 0)
    out += fmt::format(
        "\n  {} of inputs that are overwritten are copied before every run, for a run under NumPy",
        count_of(saved, "byte"));
  for (size_t i = 0; i < kinds.size(); ++i) {
    const std::string first = item_of(event.list("first_steps"), i);
    out += fmt::format(
        "\n  {} {:<7} {} [{}] {} bytes{}{}", i, kinds[i], item_of(event.list("dtypes"), i),
        item_of(event.list("shapes"), i), item_of(event.list("bytes"), i), where_text(event, i),
        first == "-1" ? "  no step touches it"
                      : fmt::format("  steps {}-{}", first, item_of(event.list("last_steps"), i)));
  }
  return out;
}

}  // namespace suture::toolbox
