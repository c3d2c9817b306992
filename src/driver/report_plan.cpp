#include "driver/report_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "runtime/launch_layout.h"
#include "runtime/saved_inputs.h"

namespace suture {
namespace {

using Strings = std::vector<std::string>;

std::string extents_text(const std::vector<SymInt>& extents) {
  Strings parts;
  for (const SymInt& extent : extents) parts.push_back(extent.str());
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

// "[32, 48]; loop 0 walks axes 0 and 1"
std::string axes_text(const KernelGroup& group) {
  std::string text = extents_text(group.axes);
  for (size_t loop = 0; loop < group.loops.size(); ++loop)
    text += fmt::format("; loop {} walks {} {}", loop, group.loops[loop].size() == 1 ? "axis" : "axes",
                        fmt::join(group.loops[loop], " and "));
  return text;
}

std::string order_reason(const Nest& nest) {
  if (nest.reductions.empty()) return "elementwise: the largest stride of the result is outermost";
  const bool ordered = std::ranges::any_of(nest.reductions, &Reduction::ordered);
  return ordered ? "reduction: NumPy's own order of the operations is kept"
                 : "reduction: any order gives the same bits";
}

std::string joined(const std::set<std::string>& names) { return fmt::format("{}", fmt::join(names, ",")); }

struct Touched {
  std::set<std::string> reads, writes;
};

Touched touched(const Schedule& schedule, const Nest& nest) {
  Touched out;
  for (const Expr& expr : nest.exprs)
    if (expr.kind == Expr::Kind::kLoad)
      out.reads.insert(schedule.buffers[static_cast<size_t>(expr.access.buffer)].name);
  for (const Store& store : nest.stores)
    out.writes.insert(schedule.buffers[static_cast<size_t>(store.access.buffer)].name);
  return out;
}

Touched touched(const Schedule& schedule, const NumpyCall& call) {
  Touched out;
  for (BufferId id : call.operands) out.reads.insert(schedule.buffers[static_cast<size_t>(id)].name);
  if (call.result >= 0) out.writes.insert(schedule.buffers[static_cast<size_t>(call.result)].name);
  return out;
}

std::string_view kind_name(BufferSpec::Kind kind) {
  switch (kind) {
    case BufferSpec::Kind::kInput: return "input";
    case BufferSpec::Kind::kTemp: return "temp";
    case BufferSpec::Kind::kOutput: return "output";
    case BufferSpec::Kind::kView: return "view";
  }
  return "";
}

// First and last step that touches each buffer, through its views too.
std::vector<std::pair<int, int>> lives(const LaunchPlan& plan) {
  std::vector<std::pair<int, int>> out(plan.buffers.size(), {-1, -1});
  const auto touch = [&](int buffer, int step) {
    for (int id : {buffer, root_of(plan, buffer)}) {
      auto& [first, last] = out[static_cast<size_t>(id)];
      if (first < 0) first = step;
      last = step;
    }
  };
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    for (int buffer : plan.steps[i].buffers) touch(buffer, static_cast<int>(i));
    if (plan.steps[i].result >= 0) touch(plan.steps[i].result, static_cast<int>(i));
  }
  return out;
}

}  // namespace

void report_steps(const CompileContext& ctx, const std::string& graph, const Schedule& schedule) {
  if (!ctx.trace.wants(EventId::kSchedulePlanned)) return;
  Strings steps, loops, axes, reasons, reads, writes;
  for (const auto& step : schedule.steps) {
    const auto* group = std::get_if<KernelGroup>(&step);
    const auto* call = std::get_if<NumpyCall>(&step);
    const Touched names = group ? touched(schedule, group->nest) : touched(schedule, *call);
    steps.push_back(
        group ? group->name
              : fmt::format("NumPy {}{}", info(call->op).name, call->why.empty() ? "" : ": " + call->why));
    loops.push_back(group ? extents_text(group->nest.extents) : "");
    axes.push_back(group ? axes_text(*group) : "");
    reasons.push_back(group ? order_reason(group->nest) : "");
    reads.push_back(joined(names.reads));
    writes.push_back(joined(names.writes));
  }
  ctx.trace.emit(Event(EventId::kSchedulePlanned, ctx.id)
                     .set("graph", graph)
                     .set("steps", std::move(steps))
                     .set("loops", std::move(loops))
                     .set("axes", std::move(axes))
                     .set("order_reasons", std::move(reasons))
                     .set("reads", std::move(reads))
                     .set("writes", std::move(writes)));
}

void report_memory_plan(const CompileContext& ctx, const std::string& graph, const LaunchPlan& plan,
                        const ShapeEnv& env) {
  if (!ctx.trace.wants(EventId::kMemoryPlan)) return;
  LaunchLayout layout;
  evaluate_layout(plan, env.hints(), layout);
  if (!layout.valid) return;
  const auto live = lives(plan);
  int64_t saved = 0;
  for (const SavedInput& input : saved_inputs(plan, env.hints())) saved += input.bytes;
  Strings kinds, dtypes, shapes, bytes, offsets, bases, first, last;
  int64_t temporaries = 0, outputs = 0;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const BufferSpec& spec = plan.buffers[i];
    const BufferLayout& at = layout.buffers[i];
    const bool is_temp = spec.kind == BufferSpec::Kind::kTemp, is_view = spec.kind == BufferSpec::Kind::kView;
    if (is_temp) temporaries += at.bytes;
    if (spec.kind == BufferSpec::Kind::kOutput) outputs += at.bytes;
    kinds.emplace_back(kind_name(spec.kind));
    dtypes.emplace_back(info(spec.dtype).numpy_name);
    shapes.push_back(fmt::format("{}", fmt::join(layout.shape(static_cast<int>(i)), ", ")));
    bytes.push_back(std::to_string(at.bytes));
    offsets.push_back(is_temp   ? std::to_string(at.arena_offset)
                      : is_view ? std::to_string(at.byte_offset)
                                : "");
    bases.push_back(std::to_string(is_view ? spec.base : -1));
    first.push_back(std::to_string(live[i].first));
    last.push_back(std::to_string(live[i].second));
  }
  ctx.trace.emit(Event(EventId::kMemoryPlan, ctx.id)
                     .set("graph", graph)
                     .set("kinds", std::move(kinds))
                     .set("dtypes", std::move(dtypes))
                     .set("shapes", std::move(shapes))
                     .set("bytes", std::move(bytes))
                     .set("offsets", std::move(offsets))
                     .set("bases", std::move(bases))
                     .set("first_steps", std::move(first))
                     .set("last_steps", std::move(last))
                     .set("temporary_bytes", temporaries)
                     .set("arena_bytes", layout.arena_bytes)
                     .set("output_bytes", outputs)
                     .set("saved_bytes", saved));
}

}  // namespace suture
