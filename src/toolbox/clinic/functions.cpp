// The functions table: counters of the runtime joined with what the trace says about the same frames.
//
// A callable that was reset has a status of each of its lives, and one row. What happened is added up over all of them; what
// it is made of now (graphs, ops, kernels, guards) is that of the last life in which something was compiled.
#include <algorithm>
#include <set>

#include "toolbox/clinic/clinic.h"

namespace suture::toolbox {
namespace {

using Lives = std::vector<const CallableStatus*>;  // of one callable, in order; never empty

// By callable, in order of their first status. Lives without a call are left out.
std::vector<Lives> lives_of_callables(const std::vector<CallableStatus>& statuses) {
  std::vector<Lives> out;
  for (const CallableStatus& status : statuses) {
    if (status.frames.empty() || status.frames.front().calls == 0) continue;
    const auto same = [&](const Lives& lives) {
      return status.callable >= 0 && lives.front()->callable == status.callable;
    };
    if (auto found = std::ranges::find_if(out, same); found != out.end())
      found->push_back(&status);
    else
      out.push_back({&status});
  }
  return out;
}

// Milliseconds per call, compiling calls left out; -1 when no steady call was timed.
double steady_call_ms(const Lives& lives) {
  int64_t steady = 0;
  double time_ms = 0;
  for (const CallableStatus* life : lives) {
    const FrameStatus& root = life->frames.front();
    steady += root.steady_calls >= 0 ? root.steady_calls : root.calls - root.compiles;
    time_ms += root.time_ms;
  }
  return steady > 0 && time_ms > 0 ? time_ms / static_cast<double>(steady) : -1;
}

double baseline_call_ms(const FunctionRow& row, const RunFacts& facts) {
  for (const Lives& lives : lives_of_callables(facts.baseline)) {
    const CallableStatus& status = *lives.front();
    if (status.function == row.function && status.file == row.file && status.line == row.line)
      return steady_call_ms(lives);
  }
  return -1;
}

const CompileModel* newest_with_graph(const TraceModel& model, const FrameStatus& frame) {
  const FrameModel* traced = model.find_frame(static_cast<int>(frame.frame));
  if (!traced) return nullptr;
  auto newest = std::find_if(traced->compiles.rbegin(), traced->compiles.rend(),
                             [](const CompileModel& compile) { return compile.has_graph(); });
  return newest == traced->compiles.rend() ? nullptr : &*newest;
}

void add_counters(FunctionRow& row, const FrameStatus& frame) {
  row.compiles += frame.compiles;
  row.recompiles += frame.recompiles;
  row.compile_ms += frame.compile_ms;
  row.replays += frame.replays;
}

void add_graph(FunctionRow& row, const CompileModel& newest) {
  ++row.graphs;
  row.ops += static_cast<int64_t>(newest.graph.ops.size());
  row.kernels += static_cast<int64_t>(newest.kernels.size());
  row.guards += static_cast<int64_t>(newest.guards.size());
  for (const KernelModel& kernel : newest.kernels) {
    row.bytes_read += std::max<int64_t>(kernel.bytes_read, 0);
    row.bytes_written += std::max<int64_t>(kernel.bytes_written, 0);
  }
}

void add_graphs(FunctionRow& row, const Lives& lives, const TraceModel& model) {
  for (auto life = lives.rbegin(); life != lives.rend() && row.graphs == 0; ++life)
    for (const FrameStatus& frame : (*life)->frames)
      if (const CompileModel* newest = newest_with_graph(model, frame)) add_graph(row, *newest);
}

int64_t breaks_in(const Lives& lives, const TraceModel& model) {
  std::set<std::string> frames;
  for (const CallableStatus* life : lives)
    for (const FrameStatus& frame : life->frames) frames.insert(std::to_string(frame.frame));
  auto ours = [&](const std::string& id) { return frames.contains(id.substr(0, id.find('/'))); };
  return std::count_if(model.breaks.begin(), model.breaks.end(), [&](const BreakModel& record) {
    return std::any_of(record.compile_ids.begin(), record.compile_ids.end(), ours);
  });
}

FunctionRow row_of(const Lives& lives, const TraceModel& model, const RunFacts& facts) {
  const CallableStatus& newest = *lives.back();
  FunctionRow row;
  row.function = newest.function;
  row.file = newest.file;
  row.line = newest.line;
  row.backend = newest.backend;
  row.skipped = newest.frames.front().skipped;
  row.reason = newest.frames.front().reason;
  row.call_ms = steady_call_ms(lives);
  row.numpy_call_ms = baseline_call_ms(row, facts);
  int64_t entered = 0;
  for (const CallableStatus* life : lives) {
    row.calls += life->frames.front().calls;
    for (const FrameStatus& frame : life->frames) {
      add_counters(row, frame);
      entered += frame.calls;
    }
  }
  row.regions = static_cast<double>(entered) / static_cast<double>(row.calls);
  add_graphs(row, lives, model);
  row.breaks = breaks_in(lives, model);
  return row;
}

}  // namespace

std::vector<FunctionRow> function_rows(const Explanation& run, const RunFacts& facts) {
  std::vector<FunctionRow> rows;
  for (const Lives& lives : lives_of_callables(run.statuses()))
    rows.push_back(row_of(lives, run.model(), facts));
  return rows;
}

}  // namespace suture::toolbox
