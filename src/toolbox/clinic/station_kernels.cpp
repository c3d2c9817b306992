// Station 3: kernels - slower than NumPy, replays, what was not fused, a cache that cannot be used.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "toolbox/clinic/clinic.h"

namespace suture::toolbox {
namespace {

constexpr int64_t kManyReplays = 10;
constexpr double kSlower = 0.95;   // below this the difference is more than noise
constexpr double kNoticeable = 1;  // milliseconds over the whole run

Finding slower_finding(const FunctionRow& row) {
  Finding finding = finding_at(row, Station::kernels, "slower_than_numpy", Severity::kWarning);
  finding.what = fmt::format("Slower than plain NumPy ({:.2f}x)", row.speedup());
  finding.why =
      "The arrays are so small, or the breaks so many, that calling costs more than computing saves.";
  finding.cost_ms = (row.call_ms - row.numpy_call_ms) * static_cast<double>(row.calls);
  if (finding.cost_ms < kNoticeable) finding.severity = Severity::kNote;
  finding.evidence.push_back(fmt::format("{:.4f} ms per call compiled, {:.4f} ms per call under NumPy, {}",
                                         row.call_ms, row.numpy_call_ms, count_of(row.calls, "call")));
  finding.advice.push_back(row.breaks
                               ? "Remove the graph breaks first; each one is a call into the interpreter."
                               : "Compile a larger function around it, or leave this one undecorated.");
  return finding;
}

Finding replay_finding(const ReplayModel& replay) {
  Finding finding = finding_at(replay, Station::kernels, "replay",
                               replay.count >= kManyReplays ? Severity::kWarning : Severity::kNote);
  finding.what = fmt::format("Ran again under NumPy {}", count_of(replay.count, "time"));
  finding.why =
      fmt::format("The kernel saw: {}. NumPy runs the graph once more so that its warnings are exact.",
                  replay.conditions);
  finding.evidence.push_back(fmt::format("{}: {}", replay.graph, replay.conditions));
  finding.advice.push_back(
      "Avoid the condition, or say with np.errstate(...='ignore') around the call that it is meant.");
  return finding;
}

// One note per function: which loops stayed apart, and why.
std::vector<Finding> unfused_findings(const TraceModel& model) {
  std::map<std::string, Finding> by_function;
  for (const FusionModel& fusion : model.fusions) {
    if (fusion.fused) continue;
    Finding& finding = by_function
                           .try_emplace(fusion.file + ":" + fusion.function,
                                        finding_at(fusion, Station::kernels, "not_fused", Severity::kNote))
                           .first->second;
    std::string sentence =
        fmt::format("{} and {}: {} ({})", fusion.producer, fusion.consumer, fusion.sentence, fusion.reason);
    if (std::find(finding.evidence.begin(), finding.evidence.end(), sentence) == finding.evidence.end())
      finding.evidence.push_back(sentence);
  }
  std::vector<Finding> out;
  for (auto& [key, finding] : by_function) {
    // Pairs that only wait for another step say least: they come last.
    std::stable_partition(finding.evidence.begin(), finding.evidence.end(),
                          [](const std::string& line) { return !line.ends_with("(order)"); });
    finding.what = fmt::format("{} not fused",
                               count_of(static_cast<int64_t>(finding.evidence.size()), "pair") + " of loops");
    finding.why = "Each pair that stays apart writes its intermediate result to memory and reads it back.";
    out.push_back(std::move(finding));
  }
  return out;
}

Finding cache_finding(const NoteModel& note) {
  Finding finding{.station = Station::kernels, .id = "cache", .severity = Severity::kNote};
  finding.file = note.path;
  finding.what = "The cache directory cannot be used";
  finding.why = note.message;
  finding.advice.push_back("Set SUTURE_CACHE_DIR to a directory of your own.");
  return finding;
}

}  // namespace

std::vector<Finding> examine_kernels(const Explanation& run, const std::vector<FunctionRow>& functions) {
  std::vector<Finding> out;
  for (const FunctionRow& row : functions)
    if (row.speedup() >= 0 && row.speedup() < kSlower) out.push_back(slower_finding(row));
  for (const ReplayModel& replay : run.model().replays) out.push_back(replay_finding(replay));
  for (Finding& finding : unfused_findings(run.model())) out.push_back(std::move(finding));
  for (const NoteModel& note : run.model().cache_troubles) out.push_back(cache_finding(note));
  return out;
}

}  // namespace suture::toolbox
