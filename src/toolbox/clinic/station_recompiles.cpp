// Station 2: recompiles. One finding per function, with the guards that failed.
//
// A size or an int that changed once becomes a symbol and costs one recompile: that is warm-up, a note. From
// the third recompile on some guard cannot keep up with the inputs: a warning.
#include <fmt/format.h>

#include <algorithm>

#include "base/lists.h"
#include "toolbox/clinic/clinic.h"

namespace suture::toolbox {
namespace {

constexpr size_t kWarmUp = 2;

// The sentence of each cause, with the line that made the guard.
std::vector<std::string> sentences(const std::vector<CauseModel>& causes) {
  std::vector<std::string> out;
  for (const CauseModel& cause : causes)
    out.push_back(cause.place.empty() ? cause.sentence
                                      : fmt::format("{} (guard of {})", cause.sentence, cause.place));
  return out;
}

Finding recompile_finding(const FrameModel& frame) {
  Finding finding = finding_at(frame, OwnFinding::recompile, Severity::kNote);
  size_t count = 0;
  for (const CompileModel& compile : frame.compiles) {
    if (compile.recompiles.empty()) continue;
    ++count;
    finding.cost_ms += compile.ms;
    for (const RecompileModel& recompile : compile.recompiles) {
      add_once(finding.evidence, sentences(recompile.causes));
      add_once(finding.advice, distinct_actions(recompile.causes));
    }
  }
  if (count > kWarmUp) finding.severity = Severity::kWarning;
  finding.what =
      fmt::format("{} compiled again {}", frame.kind == FrameKind::kResume ? "Resume function" : "Function",
                  count_of(static_cast<int64_t>(count), "time"));
  finding.why = count > kWarmUp ? "A guard cannot keep up with the inputs: every new value costs a compile."
                                : "Warm-up: what changed becomes a symbol and does not cost again.";
  return finding;
}

Finding limit_finding(const LimitModel& limit) {
  Finding finding = finding_at(limit, Station::recompiles, limit.reason_id, limit.severity);
  finding.what = fmt::format("Recompile limit ({}) reached", limit.limit);
  finding.why = "The function runs in the interpreter from now on.";
  finding.evidence = grouped_sentences(limit.causes);
  finding.advice = distinct_actions(limit.causes);
  add_once(finding.advice, limit.hints);
  return finding;
}

}  // namespace

std::vector<Finding> examine_recompiles(const Explanation& run) {
  std::vector<Finding> out;
  for (const FrameModel& frame : run.model().frames)
    if (std::any_of(frame.compiles.begin(), frame.compiles.end(),
                    [](const CompileModel& compile) { return !compile.recompiles.empty(); }))
      out.push_back(recompile_finding(frame));
  for (const LimitModel& limit : run.model().limits) out.push_back(limit_finding(limit));
  return out;
}

}  // namespace suture::toolbox
