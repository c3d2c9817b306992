// The clinic: a whole run examined station by station.
//
// Overview
//   The stations of stations.def in their order, because the number of graphs multiplies the cost of everything
//   after it. Each station turns the trace and the statuses into findings; a finding
//   is what, where, why, what it costs and what to do.
//   Severities are those of trace/severity.h; breaks and skips bring theirs along (capture/breaks.def).
// Invariants
//   - cost_ms is measured, never guessed; 0 means that nothing was measured.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "toolbox/decompile/decompile.h"
#include "toolbox/explain/explanation.h"
#include "trace/severity.h"

namespace suture::toolbox {

enum class Station : uint8_t {
#define SUTURE_STATION(name, ...) name,
#include "toolbox/clinic/stations.def"
};
struct StationInfo {
  std::string_view name, title;
  bool always;  // printed even when nothing was found
};
std::span<const StationInfo> all_stations();
inline std::string_view name_of(Station station) { return all_stations()[static_cast<size_t>(station)].name; }

enum class OwnFinding : uint8_t {
#define SUTURE_FINDING(name, ...) name,
#include "toolbox/clinic/findings.def"
};
struct OwnFindingInfo {
  std::string_view name;
  Station station;
  std::string_view doc;
};
std::span<const OwnFindingInfo> all_own_findings();

struct Finding {
  Station station = Station::breaks;
  std::string id;  // SB id, a performance hint, or a name of the clinic's own: "recompile"
  Severity severity = Severity::kWarning;
  std::string function, file;
  int64_t line = 0, column = -1, end_column = -1;
  std::string source;  // text of the line; empty: whoever prints it looks it up
  std::string what, why;
  double cost_ms = 0;
  std::vector<std::string> advice;
  std::vector<std::string> evidence;  // counts and texts, one sentence each
};

struct FunctionRow {
  std::string function, file, backend, reason;
  int64_t line = 0, calls = 0, compiles = 0, recompiles = 0, graphs = 0, ops = 0, breaks = 0, guards = 0,
          kernels = 0, replays = 0;
  double regions = 0;                                       // compiled ones that a call enters
  int64_t bytes_read = 0, bytes_written = 0;                // by one run of each kernel, where that is known
  double compile_ms = 0, call_ms = -1, numpy_call_ms = -1;  // per steady call; -1 unknown
  bool skipped = false;
  // -1 unknown, and for a function of which nothing is compiled: that ran as NumPy both times.
  double speedup() const {
    const bool compiled = graphs > 0 || !skipped;
    return compiled && call_ms > 0 && numpy_call_ms >= 0 ? numpy_call_ms / call_ms : -1;
  }
};

// A finding about `subject`, which has function, file and line.
template <class Subject>
Finding finding_at(const Subject& subject, Station station, std::string id, Severity severity) {
  return {.station = station,
          .id = std::move(id),
          .severity = severity,
          .function = subject.function,
          .file = subject.file,
          .line = subject.line};
}

// Calls that were not compared with NumPy's.
struct LeftOut {
  std::string why;  // "more than 32 calls of one function"
  int64_t calls = 0;
};

// Results of a function's calls beside those of the same calls under NumPy.
struct AccuracyRow {
  std::string function, file;
  int64_t line = 0;
  int64_t compared = 0;      // calls
  int64_t other_inputs = 0;  // calls that the program gave other values under NumPy, compared or not
  int64_t repeated = 0;  // those of them that NumPy repeated with the values of the compiled run: compared
  std::vector<LeftOut> left_out;
  double ulp = 0,
         bound = 0;      // greatest difference of floats, in units in the last place; what counts as rounding
  std::string worst;     // where it is: "result[1] of call 3"
  std::string mismatch;  // what differs in more than rounding; "" when nothing does
};

template <class Subject>
Finding finding_at(const Subject& subject, OwnFinding finding, Severity severity) {
  const OwnFindingInfo& info = all_own_findings()[static_cast<size_t>(finding)];
  return finding_at(subject, info.station, std::string(info.name), severity);
}

// What the command measured; -1 = unknown.
struct RunFacts {
  std::string program, fail_on = "warning", error;
  double wall_ms = -1, baseline_ms = -1;
  int64_t program_exit_code = 0;
  bool interrupted = false;
  std::vector<CallableStatus> baseline;
  std::vector<AccuracyRow> accuracy;
  CompileSource compile_source;  // checks decompiled text; null: it stays unverified
};
Result<RunFacts> parse_facts(std::string_view json);

struct Report {
  RunFacts facts;
  std::vector<Finding> findings;  // errors first, as what does not work at all; then the most costly
  std::vector<FunctionRow> functions;
  std::vector<KernelModel> kernels;
  double compile_ms = 0;
  std::string verdict;  // healthy | findings | failed
  int exit_code = 0;
};

Finding own_finding(OwnFinding finding, Severity severity);  // of no function
std::vector<Finding> examine_breaks(const Explanation& run);
std::vector<Finding> examine_recompiles(const Explanation& run);
std::vector<Finding> examine_kernels(const Explanation& run, const std::vector<FunctionRow>& functions);
std::vector<Finding> examine_bytecode(const Explanation& run, const RunFacts& facts);
std::vector<Finding> examine_crashes(const Explanation& run);
std::vector<Finding> examine_accuracy(const RunFacts& facts);
std::vector<FunctionRow> function_rows(const Explanation& run, const RunFacts& facts);

Report examine(const Explanation& run, RunFacts facts);
// Schema suture.check/1.
std::string report_json(const Report& report, const SourceLine& source_line);

}  // namespace suture::toolbox
