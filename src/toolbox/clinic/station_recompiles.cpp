// Station 2: recompiles. One finding per function, with the guards that failed.
//
// A size or an int that changed once becomes a symbol and costs one recompile: that is warm-up, a note. From
// the third recompile on some guard cannot keep up with the inputs: a warning.
#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "toolbox/clinic/clinic.h"

namespace suture::toolbox {
namespace {

constexpr size_t kWarmUp = 2;

// What would stop a recompile, by what the failure sentence says. {0} is the source in quotes, {1} the axis.
struct Remedy {
  const char* phrase;
  const char* advice;
};
constexpr Remedy kRemedies[] = {
    {"size mismatch",
     "Call suture.mark_dynamic({0}, {1}) on the array before the first call, so that the size is a symbol "
     "from the start."},
    {"rank mismatch", "Call the function with arrays of one rank, or write one function per rank."},
    {"dtype mismatch", "Convert {0} to one dtype before the call."},
    {"stride mismatch",
     "Pass arrays of one memory layout for {0} (np.ascontiguousarray), or compile with dynamic=True."},
    {"memory layout", "Pass arrays of one memory layout for {0} (np.ascontiguousarray)."},
    {"value of", "{0} is treated as a constant; pass it as an array or NumPy scalar when it varies."},
    {"is another object", "Create the object {0} once and keep it, instead of making a new one per call."},
    {"other code", "{0} is a new function every time; define it once, outside the loop."},
    {"type of", "Call the function with one type for {0}."},
    {"length of", "Keep the length of {0} constant, or use an array instead."},
    {"keys of", "Keep the keys of {0} constant."},
    {"error state", "Set np.seterr once, outside of the calls."},
};

std::vector<std::string> remedies(const std::vector<std::string>& failures) {
  static const std::regex quoted("'([^']*)'"), index("at index ([0-9]+)");
  std::vector<std::string> out;
  for (const std::string& failure : failures) {
    std::smatch source, axis;
    std::string name = std::regex_search(failure, source, quoted) ? source[1].str() : "it";
    std::string at = std::regex_search(failure, axis, index) ? axis[1].str() : "0";
    for (const Remedy& remedy : kRemedies) {
      if (failure.find(remedy.phrase) == std::string::npos) continue;
      std::string advice = fmt::format(fmt::runtime(remedy.advice), name, at);
      if (std::find(out.begin(), out.end(), advice) == out.end()) out.push_back(advice);
      break;
    }
  }
  return out;
}

void add_once(std::vector<std::string>& into, const std::vector<std::string>& items) {
  for (const std::string& item : items)
    if (std::find(into.begin(), into.end(), item) == into.end()) into.push_back(item);
}

Finding recompile_finding(const FrameModel& frame) {
  Finding finding = finding_at(frame, Station::recompiles, "recompile", Severity::kNote);
  size_t count = 0;
  std::vector<std::string> failures;
  for (const CompileModel& compile : frame.compiles) {
    if (compile.recompiles.empty()) continue;
    ++count;
    finding.cost_ms += compile.ms;
    for (const RecompileModel& recompile : compile.recompiles) add_once(failures, recompile.failures);
  }
  if (count > kWarmUp) finding.severity = Severity::kWarning;
  finding.what =
      fmt::format("{} compiled again {}", frame.kind == FrameKind::kResume ? "Resume function" : "Function",
                  count_of(static_cast<int64_t>(count), "time"));
  finding.why = count > kWarmUp ? "A guard cannot keep up with the inputs: every new value costs a compile."
                                : "Warm-up: what changed becomes a symbol and does not cost again.";
  finding.evidence = failures;
  finding.advice = remedies(failures);
  return finding;
}

Finding limit_finding(const LimitModel& limit) {
  Finding finding = finding_at(limit, Station::recompiles, limit.reason_id, Severity::kError);
  finding.what = fmt::format("Recompile limit ({}) reached", limit.limit);
  finding.why = "The function runs in the interpreter from now on.";
  finding.evidence = limit.reasons;
  finding.advice = remedies(limit.reasons);
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
