// Artifact graph_breaks.
//
//   Graph break in user code at prog.py:21
//   Graph Break Reason: Data-dependent branching (SB101)
//   Explanation: ...
//   Hint: ...
//   Effect: ... (SB403)
//       21 |     if y.sum() > 0:
//          |        ^^^^^^^^^^^
//       caused at helpers.py:3 in inner:  print(x)
//       called from helpers.py:6 in middle:  return inner(x)
//
// A break that was shown is not shown again: repeats are one line, at the 2nd, 4th, 8th ... time.
#include <fmt/format.h>

#include "toolbox/logs/render.h"
#include "toolbox/model/call_chain.h"
#include "trace/break_identity.h"

namespace suture::toolbox {
namespace {

std::string break_key(const EventRecord& event) {
  const BreakIdentity identity = break_identity(event);
  std::string key = fmt::format("{}:{}:{}:{}:{}", event.name, identity.file, identity.line, identity.column,
                                identity.reason_id);
  // Closures of one function are skipped for reasons of their own.
  return event.is(EventId::kFrameSkipped) ? key + ":" + event.str("explanation") : key;
}

bool power_of_two(int n) { return (n & (n - 1)) == 0; }

std::string details(const EventRecord& event, const RenderContext& context) {
  std::string out = fmt::format("Graph Break Reason: {} ({})\nExplanation: {}", event.str("reason"),
                                event.str("reason_id"), event.str("explanation"));
  for (const std::string& hint : event.list("hints")) out += fmt::format("\nHint: {}", hint);
  if (const std::string effect = event.str("effect_id"); !effect.empty())
    out += fmt::format("\nEffect: {} ({})", event.str("effect"), effect);
  for (const std::string& hint : event.list("effect_hints")) out += fmt::format("\nHint: {}", hint);
  if (const std::string quote = quote_event(event, context); !quote.empty()) out += "\n" + quote;
  std::vector<CallerModel> cause = read_cause(event);
  if (!cause.empty()) {
    out += fmt::format("\n    caused at {}{}", cause[0].place,
                       cause[0].source.empty() ? "" : ":  " + cause[0].source);
    cause.erase(cause.begin());
  }
  for (const std::string& caller : call_chain(cause)) out += "\n    " + caller;
  for (const std::string& caller : call_chain(read_callers(event))) out += "\n    " + caller;
  return out;
}

}  // namespace

Texts render_graph_breaks(const EventRecord& event, RenderContext& context) {
  if (event.is(EventId::kCallsDuringCompile)) return calls_during_compile_text(event);
  bool skipped = event.is(EventId::kFrameSkipped);
  std::string where = place(event.str("file"), event.integer("line"));
  int times = ++context.seen[break_key(event)];
  if (times > 1) {
    if (!power_of_two(times)) return "";
    return fmt::format("Same {} again at {} ({} times so far): {}", skipped ? "skip" : "graph break", where,
                       times, event.str("reason"));
  }
  if (!skipped) return fmt::format("Graph break in user code at {}\n{}", where, details(event, context));
  return fmt::format("Function {} at {} runs in the interpreter\n{}", event.str("function"), where,
                     details(event, context));
}

}  // namespace suture::toolbox
