// Station 1: graph breaks and functions that were skipped.
#include <fmt/format.h>

#include <algorithm>

#include "base/lists.h"
#include "toolbox/clinic/clinic.h"

namespace suture::toolbox {
namespace {

// Compile time of the resume functions a break made necessary.
double resume_compile_ms(const Explanation& run, const BreakModel& record, int64_t& graphs) {
  double ms = 0;
  for (int64_t number : record.resume_frames) {
    const FrameModel* frame = run.model().find_frame(static_cast<int>(number));
    if (!frame) continue;  // never reached
    for (const CompileModel& compile : frame->compiles) {
      ms += compile.ms;
      graphs += compile.has_graph();
    }
  }
  return ms;
}

Finding break_finding(const Explanation& run, const BreakModel& record) {
  Finding finding = finding_at(record, Station::breaks, record.reason_id, record.severity);
  finding.source = record.source;
  finding.column = record.column;
  finding.end_column = record.end_column;
  finding.what = fmt::format("Graph break: {}", record.reason);
  finding.why = record.explanation;
  finding.advice = record.hints;
  for (const BreakEffect& effect : record.effects) {
    finding.evidence.push_back(fmt::format("{} ({})", effect.explanation, effect.reason_id));
    for (const std::string& hint : effect.hints) add_once(finding.advice, hint);
  }
  int64_t graphs = 0;
  finding.cost_ms = resume_compile_ms(run, record, graphs);
  finding.evidence.push_back(fmt::format("met in {}; {} compiled after it, {:.1f} ms",
                                         count_of(record.hits, "compile"), count_of(graphs, "graph"),
                                         finding.cost_ms));
  if (int64_t crossings = run.crossings(record); crossings >= 0)
    finding.evidence.push_back(fmt::format("crossed {} at run time", count_of(crossings, "time")));
  return finding;
}

Station station_named(const std::string& name) {
  const auto stations = all_stations();
  for (size_t i = 0; i < stations.size(); ++i)
    if (stations[i].name == name) return static_cast<Station>(i);
  return Station::breaks;
}

Finding skip_finding(const Explanation& run, const SkipModel& skip) {
  Finding finding = finding_at(skip, station_named(skip.station), skip.reason_id, skip.severity);
  finding.source = skip.source;
  finding.what = fmt::format("Runs in the interpreter: {}", skip.reason);
  finding.why = skip.explanation;
  finding.advice = skip.hints;
  int64_t calls = 0;
  double time_ms = 0;
  for (int64_t number : skip.frames) {
    const FrameStatus* frame = run.status_of(number);
    if (!frame) continue;
    calls += frame->calls;
    time_ms += frame->time_ms;
  }
  if (calls == 0) return finding;
  if (time_ms > 0) {
    if (finding.severity > Severity::kNote) finding.cost_ms = time_ms;
    finding.evidence.push_back(
        fmt::format("{}, {:.1f} ms in the interpreter", count_of(calls, "call"), time_ms));
  } else {
    finding.evidence.push_back(count_of(calls, "call"));
  }
  return finding;
}

}  // namespace

std::vector<Finding> examine_breaks(const Explanation& run) {
  std::vector<Finding> out;
  const auto& breaks = run.model().breaks;
  for (const BreakModel& record : breaks) {
    out.push_back(break_finding(run, record));
    // The break inside the called function or the loop is a finding of its own; repairing that one repairs this one.
    auto is_cause = [&](const BreakModel& other) {
      return other.reason_id == record.cause_id && other.file == record.cause_file &&
             other.line == record.cause_line;
    };
    if (std::any_of(breaks.begin(), breaks.end(), is_cause)) out.back().severity = Severity::kNote;
  }
  for (const SkipModel& skip : run.model().skips) {
    // What led to the skip has a record that says more.
    auto tells = [&](const InternalErrorModel& error) { return error.reason_id == skip.reason_id; };
    const auto& errors = run.model().internal_errors;
    if (std::none_of(errors.begin(), errors.end(), tells)) out.push_back(skip_finding(run, skip));
  }
  return out;
}

}  // namespace suture::toolbox
