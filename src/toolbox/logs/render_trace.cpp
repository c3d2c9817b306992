// What capture meets: trace_source (lines), trace_call (calls), trace_bytecode (instructions with the symbolic stack).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "toolbox/logs/render.h"

namespace suture::toolbox {
namespace {

std::string inlined(const EventRecord& event) {
  const int64_t depth = event.integer("depth");
  return depth > 0 ? fmt::format(" (inlined, depth {})", depth) : "";
}

std::string stripped(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first);
}

}  // namespace

Texts render_trace_source(const EventRecord& event, RenderContext&) {
  return fmt::format("{} in {}{}\n    {}", place(event.str("file"), event.integer("line")),
                     event.str("function"), inlined(event), stripped(event.str("source")));
}

Texts render_trace_call(const EventRecord& event, RenderContext& context) {
  const std::string detail = event.str("detail"), quote = quote_event(event, context);
  return fmt::format("{} {} at {} in {}{}{}{}", event.str("outcome"), event.str("callee"),
                     place(event.str("file"), event.integer("line")), event.str("function"), inlined(event),
                     detail.empty() ? "" : ": " + detail, quote.empty() ? "" : "\n" + quote);
}

Texts render_trace_bytecode(const EventRecord& event, RenderContext&) {
  const int64_t offset = event.integer("offset", -1);
  return fmt::format("{:>5} {:<34} [{}]{}", offset < 0 ? "" : std::to_string(offset),
                     event.str("instruction"), fmt::join(event.list("stack"), ", "), inlined(event));
}

}  // namespace suture::toolbox
