// Artifacts recompiles and recompiles_verbose.
//
//   Recompiling function f in prog.py:19
//       triggered by the following guard failure(s):
//       - 0/0: array 'x' size mismatch at index 0. expected 32, actual 48
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

std::string limit_text(const EventRecord& event) {
  std::string out = fmt::format(
      "Recompile limit ({}) reached for function {} in {}; it runs in the interpreter from now on",
      event.integer("limit"), event.str("function"), place(event.str("file"), event.integer("line")));
  out += "\n    reasons:" + bullets(grouped_sentences(read_causes(event, "reasons")));
  for (const std::string& hint : event.list("hints")) out += "\nHint: " + hint;
  return out;
}

std::string recompile_text(const EventRecord& event, const std::vector<std::string>& failures) {
  if (event.is(EventId::kRecompileLimit)) return limit_text(event);
  return fmt::format("Recompiling function {} in {}\n    triggered by the following guard failure(s):{}",
                     event.str("function"), place(event.str("file"), event.integer("line")),
                     bullets(failures));
}

}  // namespace

Texts render_recompiles(const EventRecord& event, RenderContext&) {
  return recompile_text(event, event.list("failures"));
}

Texts render_recompiles_verbose(const EventRecord& event, RenderContext&) {
  const auto& all = event.list("failures_verbose");
  return recompile_text(event, all.empty() ? event.list("failures") : all);
}

}  // namespace suture::toolbox
