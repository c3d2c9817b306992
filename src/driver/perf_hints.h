// Performance hints: what would be faster otherwise, with the evidence and an edit to try.
//
// How it works
//   Most hints are read off the plan of a graph (plan_hints): they cost nothing until somebody wants them. When somebody
//   asked for measured costs (Compiler::profiling), the graph is run a few times beside its first call (measure.h), and
//   the figures are put to the hints that the plan gave.
// Invariants
//   - Costs are measured, never guessed; 0 means that nothing was measured.
//   - What moves less than kNoticeableBytes is no hint.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/user_span.h"
#include "driver/measure.h"
#include "driver/reports.h"
#include "runtime/call_sample.h"
#include "runtime/saved_inputs.h"
#include "trace/event.h"

namespace suture {

enum class PerfHintId : uint8_t {
#define SUTURE_PERF_HINT(id, ...) id,
#include "driver/perf_hints.def"
};
struct PerfHintInfo {
  PerfHintId id;
  std::string_view name, title, why, advice;
};
std::span<const PerfHintInfo> all_perf_hints();
const PerfHintInfo& info(PerfHintId id);

inline constexpr int64_t kNoticeableBytes = 16 * 1024;

struct PerfHint {
  PerfHintId id = PerfHintId::kMissedFusion;
  std::string sentence;  // what costs, with the names of this place
  std::string evidence;  // what was counted or measured
  std::string advice;    // "": that of the table
  int64_t bytes = 0;     // that need not be moved, per call; 0 when the hint is not about bytes
  double cost_ms = 0;    // per call; 0: not measured
  UserSpan where;
};
Event perf_hint_event(const CompileId& id, const PerfHint& hint);

// `times`: null when nothing was measured.
std::vector<PerfHint> plan_hints(const Lowered& lowered, std::span<const SavedInput> kept,
                                 const GraphTimes* times);
// Reports what the plan and, while profiling is on, a few measured runs say.
void report_perf_hints(const CompileContext& ctx, Compiler& compiler, std::shared_ptr<const Lowered> lowered,
                       std::vector<SavedInput> kept, std::shared_ptr<const GraphTimes> times);
// What a few calls of a function in a row cost the operating system; empty when nothing.
std::optional<PerfHint> page_fault_hint(const FrameRecord& frame, const CallSample& sample);

}  // namespace suture
