// Station 3: kernels - slower than NumPy, replays, performance hints, a cache that cannot be used.
#include <fmt/format.h>

#include <algorithm>

#include "toolbox/clinic/clinic.h"
#include "toolbox/model/text.h"

namespace suture::toolbox {
namespace {

constexpr int64_t kManyReplays = 10;
constexpr double kSlower = 0.95;      // below this the difference is more than noise
constexpr double kEnteringMs = 0.01;  // a compiled region is entered in less, however small the arrays
constexpr double kNoticeable = 1;     // milliseconds over the whole run
constexpr double kTrifle = 0.1;  // the same: measured hints that cost less are left to the log and to explain

// Only what the counters show: many calls computed twice; a difference that entering compiled regions explains; or one that
// it does not.
void explain_slowness(Finding& finding, const FunctionRow& row) {
  const double extra_ms = row.call_ms - row.numpy_call_ms;
  const std::string regions =
      row.regions == 1 ? "one compiled region" : grouped(row.regions) + " compiled regions";
  if (row.replays * 2 > row.calls) {
    finding.why = fmt::format("{} of {} were computed twice, the second time under NumPy, for its warnings.",
                              grouped(static_cast<double>(row.replays)), count_of(row.calls, "call"));
    finding.advice.push_back("Avoid what the finding 'replay' of this function names.");
  } else if (extra_ms <= kEnteringMs * row.regions) {
    finding.why = fmt::format(
        "A call enters {} and takes {} longer; entering one (guards, arguments, results) costs that much "
        "whatever is computed inside.",
        regions, duration(extra_ms));
    finding.advice.push_back(row.breaks
                                 ? "Remove the graph breaks first; each one is a call into the interpreter."
                                 : "Compile a larger function around it, or leave this one undecorated.");
  } else {
    finding.why = fmt::format(
        "A call takes {} longer, more than entering {} costs: the time is in the work itself, which is the "
        "kernels "
        "and the arrays made for them.",
        duration(extra_ms), regions);
    finding.advice.push_back(
        "See the other findings about this function, and its kernels with SUTURE_LOGS=output_code.");
    finding.advice.push_back("Leave it undecorated as long as NumPy is faster.");
  }
}

Finding slower_finding(const FunctionRow& row) {
  Finding finding = finding_at(row, OwnFinding::slower_than_numpy, Severity::kWarning);
  finding.what = fmt::format("Slower than plain NumPy ({:.2f}x)", row.speedup());
  finding.cost_ms = (row.call_ms - row.numpy_call_ms) * static_cast<double>(row.calls);
  if (finding.cost_ms < kNoticeable) finding.severity = Severity::kNote;
  finding.evidence.push_back(fmt::format("{} per call compiled, {} per call under NumPy, {}",
                                         duration(row.call_ms), duration(row.numpy_call_ms),
                                         count_of(row.calls, "call")));
  finding.evidence.push_back(fmt::format(
      "{}, {}, {}; one run of each reads {} bytes and writes {}", count_of(row.kernels, "kernel"),
      count_of(row.breaks, "graph break"), count_of(row.replays, "replay"),
      grouped(static_cast<double>(row.bytes_read)), grouped(static_cast<double>(row.bytes_written))));
  explain_slowness(finding, row);
  return finding;
}

Finding replay_finding(const ReplayModel& replay) {
  Finding finding = finding_at(replay, OwnFinding::replay,
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

// The cost of a hint is that of one call; the finding has that of all calls of its function.
Finding hint_finding(const HintModel& hint, const Explanation& run) {
  Finding finding = finding_at(hint, Station::kernels, hint.id, Severity::kNote);
  finding.what = hint.title;
  finding.why = hint.why;
  finding.evidence.push_back(hint.sentence);
  if (!hint.evidence.empty()) finding.evidence.push_back(hint.evidence);
  if (!hint.advice.empty()) finding.advice.push_back(hint.advice);
  if (hint.cost_ms <= 0) return finding;
  const FrameStatus* status = run.status_of(hint.frame);
  const int64_t calls = std::max<int64_t>(status ? status->calls : 1, 1);
  finding.cost_ms = hint.cost_ms * static_cast<double>(calls);
  finding.evidence.push_back(
      fmt::format("up to {:.6f} ms per call, measured; {}", hint.cost_ms, count_of(calls, "call")));
  return finding;
}

Finding cache_finding(const NoteModel& note) {
  Finding finding = own_finding(OwnFinding::cache, Severity::kNote);
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
  for (const HintModel& hint : run.model().hints) {
    Finding finding = hint_finding(hint, run);
    if (finding.cost_ms <= 0 || finding.cost_ms >= kTrifle) out.push_back(std::move(finding));
  }
  for (const NoteModel& note : run.model().cache_troubles) out.push_back(cache_finding(note));
  return out;
}

}  // namespace suture::toolbox
