// plan_schedule: fuse, remove temporaries nobody reads any more, order loops, name kernels.
#include <algorithm>
#include <set>

#include "loop/verify.h"
#include "schedule/fuse_nests.h"
#include "schedule/fusion.h"
#include "schedule/loop_order.h"
#include "schedule/merge_exprs.h"

namespace suture {
namespace {

constexpr size_t kMaxNamedOps = 10;

std::set<BufferId> read_buffers(const std::vector<Statement>& statements, const LoopProgram& program) {
  std::set<BufferId> read;
  for (const Statement& statement : statements)
    for (BufferId id : touched_storage(statement, program.buffers).reads) read.insert(id);
  return read;
}

// A temporary that nobody reads from memory is not stored: its readers get the value handed over, or it never had any
// (then what may signal is still computed, see codegen/conditions.h). Row sums accumulate in their buffer, so they keep
// it.
void drop_dead_stores(std::vector<Statement>& statements, const LoopProgram& program) {
  const std::set<BufferId> read_now = read_buffers(statements, program);
  std::set<BufferId> returned;
  for (BufferId output : program.outputs) returned.insert(root_buffer(program.buffers, output));
  for (Statement& statement : statements) {
    Nest* nest = std::get_if<Nest>(&statement);
    if (!nest) continue;
    const bool in_memory = !reduces_innermost(*nest);
    std::erase_if(nest->stores, [&](const Store& store) {
      const BufferId id = store.access.buffer;
      if (program.buffers[id].kind != Buffer::Kind::kTemp || returned.count(id)) return false;
      if (in_memory && store.after_reduction) return false;
      return read_now.count(id) == 0;
    });
    prune_exprs(*nest);
  }
}

// Op names as they appear in the kernel's name. Conversions and plain copies name a kernel only when it does
// nothing else.
std::vector<std::string> op_names(const Nest& nest, const Graph& graph) {
  std::set<std::string> computing, moving;
  for (NodeId id : nest.nodes) {
    const Node& node = graph.node(id);
    const OpKind kind = info(node.op).kind;
    const bool moves = node.op == OpId::kCast || node.op == OpId::kCopy || kind == OpKind::Effect ||
                       kind == OpKind::View || kind == OpKind::Input;
    (moves ? moving : computing).insert(std::string(info(node.op).name));
  }
  const std::set<std::string>& names = computing.empty() ? moving : computing;
  return {names.begin(), names.end()};
}

std::string kernel_name(const std::vector<std::string>& ops, size_t number) {
  std::string name = "cpp_fused";
  for (size_t i = 0; i < ops.size() && i < kMaxNamedOps; ++i) name += "_" + ops[i];
  return name + "_" + std::to_string(number);
}

}  // namespace

Result<Schedule> plan_schedule(const LoopProgram& program, const Graph& graph,
                               const ScheduleOptions& options) {
  Schedule schedule;
  schedule.buffers = program.buffers;
  schedule.outputs = program.outputs;
  schedule.env = program.env;
  FusedStatements fused = fuse_statements(program, graph, options);
  schedule.verdicts = std::move(fused.verdicts);
  drop_dead_stores(fused.statements, program);
  size_t kernels = 0;
  for (Statement& statement : fused.statements) {
    if (NumpyCall* call = std::get_if<NumpyCall>(&statement)) {
      schedule.steps.emplace_back(std::move(*call));
      continue;
    }
    KernelGroup group;
    group.nest = std::move(std::get<Nest>(statement));
    if (group.nest.stores.empty() && group.nest.exprs.empty()) continue;
    std::sort(group.nest.nodes.begin(), group.nest.nodes.end());
    group.axes = group.nest.extents;
    group.loops = options.order_loops ? order_loops(group.nest, program.env) : keep_loops(group.nest);
    SUTURE_TRY_VOID(verify(group.nest, graph));
    group.ops = op_names(group.nest, graph);
    group.name = kernel_name(group.ops, kernels++);
    schedule.steps.emplace_back(std::move(group));
  }
  return schedule;
}

}  // namespace suture
