// Artifacts recompiles and recompiles_verbose.
//
//   Recompiling function f in prog.py:19
//       triggered by the following guard failure(s):
//       - 0/0: array 'x' size mismatch at index 0. expected 32, actual 48
//         made at prog.py:20  y = np.sin(x) + 1; 12 of 13 guards of this entry hold
//       To stop it: `suture.mark_dynamic(x, 0)` before the first call
//   Recompiled function f in prog.py:19: 12.3 ms
#include <fmt/format.h>

#include "toolbox/logs/render.h"
#include "toolbox/model/recompile_causes.h"

namespace suture::toolbox {
namespace {

std::string bullets(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += fmt::format("\n    - {}", item);
  return out;
}

std::string actions_text(const std::vector<CauseModel>& causes) {
  std::string out;
  for (const std::string& action : distinct_actions(causes)) out += "\n    To stop it: " + action;
  return out;
}

std::string limit_text(const EventRecord& event) {
  const std::vector<CauseModel> causes = read_causes(event, "reasons");
  std::string out = fmt::format(
      "Recompile limit ({}) reached for function {} in {}; it runs in the interpreter from now on",
      event.integer("limit"), event.str("function"), place(event.str("file"), event.integer("line")));
  out += "\n    reasons:" + bullets(grouped_sentences(causes)) + actions_text(causes);
  for (const std::string& hint : event.list("hints")) out += "\nHint: " + hint;
  return out;
}

// One line per entry, and what is known about its guard below.
std::vector<std::string> sentences_with_details(const std::vector<CauseModel>& causes) {
  std::vector<std::string> out;
  for (const CauseModel& cause : causes) {
    const std::string details = details_text(cause);
    out.push_back(cause.sentence + (details.empty() ? "" : "\n      " + details));
  }
  return out;
}

using Compiles = std::set<std::pair<int, int>>;

// What the compile took that a recompile event announced.
Texts cost_text(const EventRecord& event, Compiles& announced) {
  if (announced.erase({event.compile.frame, event.compile.compile}) == 0) return {};
  return fmt::format("Recompiled function {} in {}: {:.1f} ms", event.str("function"),
                     place(event.str("file"), event.integer("line")), event.number("ms"));
}

Texts recompile_text(const EventRecord& event, Compiles& announced,
                     const std::vector<std::string>& failures) {
  if (event.is(EventId::kFrameDone)) return cost_text(event, announced);
  if (event.is(EventId::kRecompileLimit)) return limit_text(event);
  announced.emplace(event.compile.frame, event.compile.compile);
  return fmt::format("Recompiling function {} in {}\n    triggered by the following guard failure(s):{}{}",
                     event.str("function"), place(event.str("file"), event.integer("line")),
                     bullets(failures), actions_text(read_causes(event, "failures")));
}

}  // namespace

Texts render_recompiles(const EventRecord& event, RenderContext& context) {
  return recompile_text(event, context.recompiling, sentences_with_details(read_causes(event, "failures")));
}

Texts render_recompiles_verbose(const EventRecord& event, RenderContext& context) {
  const auto& all = event.list("failures_verbose");
  return recompile_text(event, context.recompiling_verbose, all.empty() ? event.list("failures") : all);
}

}  // namespace suture::toolbox
