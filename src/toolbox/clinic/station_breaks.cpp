// Station 1: graph breaks and functions that were skipped.
#include <fmt/format.h>

#include <algorithm>

#include "toolbox/clinic/clinic.h"

namespace suture::toolbox {
namespace {

// Compile time of the resume functions a break made necessary.
double resume_compile_ms(const Explanation& run, const BreakModel& record, int64_t& graphs) {
  double ms = 0;
  std::vector<std::string> names = split_names(record.resume);
  for (const FrameModel& frame : run.model().frames) {
    if (frame.file != record.file) continue;
    auto same = [&](const std::string& name) {
      return frame.function == name || frame.function.ends_with("." + name);
    };
    if (std::none_of(names.begin(), names.end(), same)) continue;
    for (const CompileModel& compile : frame.compiles) {
      ms += compile.ms;
      graphs += compile.has_graph();
    }
  }
  return ms;
}

Finding break_finding(const Explanation& run, const BreakModel& record) {
  Finding finding;
  finding.station = "breaks";
  finding.id = record.reason_id;
  // The program asked for it.
  bool wanted = record.reason_id == "SB204" || record.reason_id == "SB205";
  finding.severity = wanted ? Severity::kNote : Severity::kWarning;
  finding.function = record.function;
  finding.file = record.file;
  finding.line = record.line;
  finding.column = record.column;
  finding.end_column = record.end_column;
  finding.what = fmt::format("Graph break: {}", record.reason);
  finding.why = record.explanation;
  finding.advice = record.hints;
  int64_t graphs = 0;
  finding.cost_ms = resume_compile_ms(run, record, graphs);
  finding.evidence.push_back(fmt::format("met in {}; {} compiled after it, {:.1f} ms",
                                         count_of(record.hits, "compile"), count_of(graphs, "graph"),
                                         finding.cost_ms));
  if (int64_t crossings = run.crossings(record); crossings >= 0)
    finding.evidence.push_back(fmt::format("crossed {} at run time", count_of(crossings, "time")));
  return finding;
}

const FrameStatus* status_of(const Explanation& run, const SkipModel& skip) {
  for (const CallableStatus& status : run.statuses())
    for (const FrameStatus& frame : status.frames)
      if (frame.function == skip.function && frame.file == skip.file) return &frame;
  return nullptr;
}

Severity skip_severity(const std::string& reason_id) {
  if (reason_id == "SB502") return Severity::kNote;                           // nothing to compile
  if (reason_id == "SB507" || reason_id == "SB509") return Severity::kError;  // ours, or no compiler
  return Severity::kWarning;
}

Finding skip_finding(const Explanation& run, const SkipModel& skip) {
  Finding finding;
  finding.station = skip.reason_id == "SB509" ? "kernels" : "breaks";
  finding.id = skip.reason_id;
  finding.severity = skip_severity(skip.reason_id);
  finding.function = skip.function;
  finding.file = skip.file;
  finding.line = skip.line;
  finding.what = fmt::format("Runs in the interpreter: {}", skip.reason);
  finding.why = skip.explanation;
  finding.advice = skip.hints;
  const FrameStatus* frame = status_of(run, skip);
  if (!frame) return finding;
  if (frame->time_ms > 0) {
    if (finding.severity > Severity::kNote) finding.cost_ms = frame->time_ms;
    finding.evidence.push_back(
        fmt::format("{}, {:.1f} ms in the interpreter", count_of(frame->calls, "call"), frame->time_ms));
  } else {
    finding.evidence.push_back(count_of(frame->calls, "call"));
  }
  return finding;
}

}  // namespace

std::vector<Finding> examine_breaks(const Explanation& run) {
  std::vector<Finding> out;
  auto is_root_cause = [](const BreakModel& record) { return record.reason_id != "SB206"; };
  const auto& breaks = run.model().breaks;
  bool causes_known = std::any_of(breaks.begin(), breaks.end(), is_root_cause);
  for (const BreakModel& record : breaks) {
    out.push_back(break_finding(run, record));
    // The break inside the called function is a finding of its own; repairing that one repairs this one.
    if (!is_root_cause(record) && causes_known) out.back().severity = Severity::kNote;
  }
  for (const SkipModel& skip : run.model().skips)
    // The recompile limit is told by its own station.
    if (skip.reason_id != "SB505") out.push_back(skip_finding(run, skip));
  return out;
}

}  // namespace suture::toolbox
