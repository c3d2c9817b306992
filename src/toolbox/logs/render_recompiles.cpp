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

std::string recompile_text(const EventRecord& event, const std::vector<std::string>& failures) {
  std::string where = place(event.str("file"), event.integer("line"));
  if (event.is(EventId::kRecompileLimit))
    return fmt::format(
        "Recompile limit ({}) reached for function {} in {}; it runs in the interpreter from now on\n    "
        "reasons:{}\n"
        "Hint: mark what varies with suture.mark_dynamic, pass numbers that vary as arrays, or raise "
        "recompile_limit.",
        event.integer("limit"), event.str("function"), where,
        bullets(grouped_sentences(read_causes(event, "reasons"))));
  return fmt::format("Recompiling function {} in {}\n    triggered by the following guard failure(s):{}",
                     event.str("function"), where, bullets(failures));
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
