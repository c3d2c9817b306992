// The functions table: counters of the runtime joined with what the trace says about the same frames.
#include <algorithm>
#include <set>

#include "toolbox/clinic/clinic.h"

namespace suture::toolbox {
namespace {

// Milliseconds per call, compiling calls left out; -1 when no steady call was timed.
double steady_call_ms(const FrameStatus& frame) {
  int64_t steady = frame.steady_calls >= 0 ? frame.steady_calls : frame.calls - frame.compiles;
  return steady > 0 && frame.time_ms > 0 ? frame.time_ms / static_cast<double>(steady) : -1;
}

double baseline_call_ms(const FunctionRow& row, const RunFacts& facts) {
  for (const CallableStatus& status : facts.baseline) {
    if (status.frames.empty() || status.function != row.function || status.file != row.file ||
        status.line != row.line)
      continue;
    return steady_call_ms(status.frames.front());
  }
  return -1;
}

void add_frame(FunctionRow& row, const FrameStatus& frame, const TraceModel& model) {
  row.compiles += frame.compiles;
  row.recompiles += frame.recompiles;
  row.compile_ms += frame.compile_ms;
  row.replays += frame.replays;
  const FrameModel* traced = model.find_frame(static_cast<int>(frame.frame));
  if (!traced) return;
  auto newest = std::find_if(traced->compiles.rbegin(), traced->compiles.rend(),
                             [](const CompileModel& compile) { return compile.has_graph(); });
  if (newest == traced->compiles.rend()) return;
  ++row.graphs;
  row.ops += static_cast<int64_t>(newest->graph.ops.size());
  row.kernels += static_cast<int64_t>(newest->kernels.size());
  row.guards += static_cast<int64_t>(newest->guards.size());
  for (const KernelModel& kernel : newest->kernels) {
    row.bytes_read += std::max<int64_t>(kernel.bytes_read, 0);
    row.bytes_written += std::max<int64_t>(kernel.bytes_written, 0);
  }
}

int64_t breaks_in(const CallableStatus& status, const TraceModel& model) {
  std::set<std::string> frames;
  for (const FrameStatus& frame : status.frames) frames.insert(std::to_string(frame.frame));
  auto ours = [&](const std::string& id) { return frames.contains(id.substr(0, id.find('/'))); };
  return std::count_if(model.breaks.begin(), model.breaks.end(), [&](const BreakModel& record) {
    return std::any_of(record.compile_ids.begin(), record.compile_ids.end(), ours);
  });
}

}  // namespace

std::vector<FunctionRow> function_rows(const Explanation& run, const RunFacts& facts) {
  std::vector<FunctionRow> rows;
  for (const CallableStatus& status : run.statuses()) {
    if (status.frames.empty() || status.frames.front().calls == 0) continue;
    const FrameStatus& root = status.frames.front();
    FunctionRow row;
    row.function = status.function;
    row.file = status.file;
    row.line = status.line;
    row.backend = status.backend;
    row.calls = root.calls;
    row.skipped = root.skipped;
    row.reason = root.reason;
    row.call_ms = steady_call_ms(root);
    row.numpy_call_ms = baseline_call_ms(row, facts);
    for (const FrameStatus& frame : status.frames) {
      add_frame(row, frame, run.model());
      row.regions += static_cast<double>(frame.calls) / static_cast<double>(root.calls);
    }
    row.breaks = breaks_in(status, run.model());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace suture::toolbox
