#include "codegen/launch_steps.h"

#include <algorithm>

namespace suture {
namespace {

BufferSpec::Kind spec_kind(Buffer::Kind kind) {
  switch (kind) {
    case Buffer::Kind::kInput: return BufferSpec::Kind::kInput;
    case Buffer::Kind::kTemp: return BufferSpec::Kind::kTemp;
    case Buffer::Kind::kOutput: return BufferSpec::Kind::kOutput;
    case Buffer::Kind::kView: return BufferSpec::Kind::kView;
  }
  return BufferSpec::Kind::kTemp;
}

// Only np.broadcast_to takes the permission to write away; other views have that of what they show.
bool may_be_written(const Graph& graph, NodeId view) {
  for (; info(graph.node(view).op).kind == OpKind::View; view = graph.node(view).operands[0])
    if (graph.node(view).op == OpId::kBroadcastTo) return false;
  return true;
}

}  // namespace

int PlanBuilder::use(BufferId id) {
  if (number_[id] >= 0) return number_[id];
  const Buffer& buffer = schedule_.buffers[id];
  BufferSpec spec;
  spec.kind = spec_kind(buffer.kind);
  spec.input = buffer.input;
  spec.base = buffer.base >= 0 ? use(buffer.base) : -1;
  spec.dtype = buffer.dtype;
  spec.value_class = buffer.value_class;
  spec.shape = buffer.shape;
  spec.strides = buffer.strides;
  spec.offset = buffer.offset;
  spec.writeable = buffer.kind != Buffer::Kind::kView || may_be_written(graph_, buffer.node);
  plan_.buffers.push_back(std::move(spec));
  return number_[id] = static_cast<int>(plan_.buffers.size() - 1);
}

// Inputs whose memory a kernel changes; the runtime saves what they held, for a replay.
void PlanBuilder::add_written(BufferId root) {
  if (schedule_.buffers[static_cast<size_t>(root)].kind != Buffer::Kind::kInput) return;
  const int buffer = use(root);
  if (std::find(plan_.written.begin(), plan_.written.end(), buffer) == plan_.written.end())
    plan_.written.push_back(buffer);
}

void PlanBuilder::add_kernel(const KernelGroup& group, const std::vector<BufferId>& arguments,
                             const std::vector<SymbolId>& symbols) {
  LaunchStep step;
  step.kind = LaunchStep::Kind::kKernel;
  step.kernel = group.name;
  for (BufferId id : arguments) step.buffers.push_back(use(id));
  for (SymbolId symbol : symbols) step.sizes.push_back(SymInt::symbol(symbol));
  for (const Store& store : group.nest.stores)
    add_written(root_buffer(schedule_.buffers, store.access.buffer));
  if (!group.nest.nodes.empty()) step.where = graph_.node(group.nest.nodes.front()).where;
  step.spelled = group.name;
  plan_.steps.push_back(std::move(step));
}

void PlanBuilder::add_call(const NumpyCall& call) {
  const Node& node = graph_.node(call.node);
  LaunchStep step;
  step.kind = LaunchStep::Kind::kNumpyCall;
  step.op = call.op;
  for (BufferId id : call.operands) step.buffers.push_back(use(id));
  step.result = use(call.result);
  step.axes = node.attrs.axes;
  step.all_axes = node.attrs.all_axes;
  step.keepdims = node.attrs.keepdims;
  step.dtype = node.type.dtype;
  step.why = call.why;
  step.spelled = std::string(info(call.op).numpy);
  step.where = node.where;
  plan_.steps.push_back(std::move(step));
}

LaunchPlan PlanBuilder::finish() {
  for (BufferId output : schedule_.outputs) plan_.outputs.push_back(use(output));
  return std::move(plan_);
}

}  // namespace suture
