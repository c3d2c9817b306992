#include "toolbox/clinic/clinic.h"

#include <fmt/format.h>

#include <algorithm>

#include "toolbox/model/json_reader.h"

namespace suture::toolbox {
namespace {

void append(std::vector<Finding>& into, std::vector<Finding> more) {
  std::move(more.begin(), more.end(), std::back_inserter(into));
}

std::vector<LeftOut> left_out(const JsonObject& row) {
  std::vector<LeftOut> out;
  json_objects(row, "left_out", [&](const JsonObject& calls) {
    out.push_back({json_str(calls, "why"), json_int(calls, "calls")});
  });
  return out;
}

int exit_code(const Report& report) {
  if (report.facts.interrupted) return 130;
  if (report.facts.program_exit_code != 0) return 3;
  if (report.facts.fail_on == "never") return 0;
  const Severity limit = severity_named(report.facts.fail_on).value_or(Severity::kWarning);
  bool reached = std::any_of(report.findings.begin(), report.findings.end(),
                             [&](const Finding& finding) { return finding.severity >= limit; });
  return reached ? 1 : 0;
}

std::string verdict(const Report& report) {
  if (report.facts.program_exit_code != 0 || report.facts.interrupted) return "failed";
  bool serious = std::any_of(report.findings.begin(), report.findings.end(),
                             [](const Finding& finding) { return finding.severity >= Severity::kWarning; });
  return serious ? "findings" : "healthy";
}

}  // namespace

std::span<const StationInfo> all_stations() {
  static constexpr bool Always = true, WhenFound = false;
  static constexpr StationInfo kStations[] = {
#define SUTURE_STATION(name, always, title) {#name, title, always},
#include "toolbox/clinic/stations.def"
  };
  return kStations;
}

std::span<const OwnFindingInfo> all_own_findings() {
  static constexpr OwnFindingInfo kFindings[] = {
#define SUTURE_FINDING(name, station, doc) {#name, Station::station, doc},
#include "toolbox/clinic/findings.def"
  };
  return kFindings;
}

Finding own_finding(OwnFinding finding, Severity severity) {
  const OwnFindingInfo& info = all_own_findings()[static_cast<size_t>(finding)];
  return {.station = info.station, .id = std::string(info.name), .severity = severity};
}

Result<RunFacts> parse_facts(std::string_view json) {
  RunFacts facts;
  if (json.empty()) return facts;
  simdjson::dom::parser parser;
  JsonObject object;
  if (auto error = parser.parse(simdjson::padded_string(json)).get(object))
    return Error::unsupported("toolbox", fmt::format("facts: {}", simdjson::error_message(error)));
  facts.program = json_str(object, "program");
  facts.error = json_str(object, "error");
  if (auto fail_on = json_str(object, "fail_on"); !fail_on.empty()) facts.fail_on = fail_on;
  facts.wall_ms = json_number(object, "wall_ms", -1);
  facts.baseline_ms = json_number(object, "baseline_ms", -1);
  facts.program_exit_code = json_int(object, "program_exit_code");
  facts.interrupted = json_flag(object, "interrupted");
  json_objects(object, "accuracy", [&](const JsonObject& row) {
    facts.accuracy.push_back({json_str(row, "function"), json_str(row, "file"), json_int(row, "line"),
                              json_int(row, "compared"), json_int(row, "other_inputs"),
                              json_int(row, "repeated"), left_out(row), json_number(row, "ulp"),
                              json_number(row, "bound"), json_str(row, "worst"), json_str(row, "mismatch")});
  });
  JsonElement baseline;
  if (object["baseline"].get(baseline) != simdjson::SUCCESS) return facts;
  SUTURE_TRY(statuses, parse_statuses(simdjson::minify(baseline)));
  facts.baseline = std::move(statuses);
  return facts;
}

namespace {

// A program that ended well and has nothing for the stations to look at.
std::vector<Finding> nothing_compiled(const Explanation& run, const Report& report) {
  if (!report.functions.empty() || report.facts.program_exit_code != 0 || report.facts.interrupted) return {};
  const bool decorated = !run.statuses().empty();
  Finding finding = own_finding(OwnFinding::nothing_compiled, Severity::kNote);
  finding.file = report.facts.program;
  finding.what = decorated ? "No compiled function was called" : "No function is compiled";
  finding.why = decorated ? "The program decorates functions with suture.compile and calls none of them."
                          : "The program decorates no function with suture.compile.";
  finding.advice.push_back(decorated ? "Run the program with arguments that make it call one."
                                     : "Put @suture.compile above the function that does the array work.");
  return {std::move(finding)};
}

}  // namespace

Report examine(const Explanation& run, RunFacts facts) {
  Report report;
  report.functions = function_rows(run, facts);
  report.facts = std::move(facts);
  append(report.findings, nothing_compiled(run, report));
  append(report.findings, examine_breaks(run));
  append(report.findings, examine_recompiles(run));
  append(report.findings, examine_kernels(run, report.functions));
  append(report.findings, examine_bytecode(run, report.facts));
  append(report.findings, examine_crashes(run));
  append(report.findings, examine_accuracy(report.facts));
  std::stable_sort(report.findings.begin(), report.findings.end(), [](const Finding& a, const Finding& b) {
    const bool a_error = a.severity == Severity::kError, b_error = b.severity == Severity::kError;
    if (a_error != b_error) return a_error;
    return a.cost_ms != b.cost_ms ? a.cost_ms > b.cost_ms : a.severity > b.severity;
  });
  for (const FrameModel& frame : run.model().frames)
    for (const CompileModel& compile : frame.compiles) {
      report.compile_ms += compile.ms;
      report.kernels.insert(report.kernels.end(), compile.kernels.begin(), compile.kernels.end());
    }
  report.verdict = verdict(report);
  report.exit_code = exit_code(report);
  return report;
}

}  // namespace suture::toolbox
