#include "codegen/launch_steps.h"

#include <algorithm>

#include "base/lists.h"
#include "loop/conditions.h"

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

// Loops take no step along an axis of extent 1, nor in an empty array, and keep 0 for it. Arrays that the caller may see
// have the strides of the node.
std::vector<SymInt> visible_strides(const Graph& graph, const Buffer& buffer) {
  const bool visible = buffer.kind == Buffer::Kind::kOutput || buffer.kind == Buffer::Kind::kView;
  if (!visible || buffer.node == kNoNode || graph.node(buffer.node).type.shape != buffer.shape)
    return buffer.strides;
  const TensorType& type = graph.node(buffer.node).type;
  if (std::ranges::find(buffer.shape, SymInt(0)) != buffer.shape.end()) return type.strides;
  std::vector<SymInt> strides = buffer.strides;
  for (size_t axis = 0; axis < strides.size(); ++axis)
    if (buffer.shape[axis] == SymInt(1)) strides[axis] = type.strides[axis];
  return strides;
}

// Whether a call may meet a condition that NumPy has to tell.
bool may_replay(const Nest& nest) {
  return !nest.reductions.empty() ||
         std::ranges::any_of(nest.exprs, [&](const Expr& expr) { return can_signal(nest, expr); });
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
  spec.strides = visible_strides(graph_, buffer);
  spec.offset = buffer.offset;
  spec.writeable = buffer.kind != Buffer::Kind::kView || may_be_written(graph_, buffer.node);
  plan_.buffers.push_back(std::move(spec));
  return number_[id] = static_cast<int>(plan_.buffers.size() - 1);
}

// Inputs whose memory a kernel changes, and the part that it changes.
void PlanBuilder::add_written(const Nest& nest, const Store& store) {
  const BufferId root = root_buffer(schedule_.buffers, store.access.buffer);
  if (schedule_.buffers[static_cast<size_t>(root)].kind != Buffer::Kind::kInput) return;
  add_once(plan_.written, use(root));
  BufferSpec part;
  part.kind = BufferSpec::Kind::kView;
  part.base = use(store.access.buffer);
  part.dtype = schedule_.buffers[static_cast<size_t>(root)].dtype;
  part.offset = store.access.offset;
  const std::vector<bool> reduced = reduced_axes(nest);
  for (size_t axis = 0; axis < nest.extents.size(); ++axis) {
    const SymInt& stride = store.access.strides[axis];
    if ((store.after_reduction && reduced[axis]) || stride == SymInt(0)) continue;
    part.shape.push_back(nest.extents[axis]);
    part.strides.push_back(stride);
  }
  add_once(plan_.overwritten, part);
}

void PlanBuilder::add_kernel(const KernelGroup& group, const std::vector<BufferId>& arguments,
                             const std::vector<SymbolId>& symbols) {
  LaunchStep step;
  step.kind = LaunchStep::Kind::kKernel;
  step.kernel = group.name;
  for (BufferId id : arguments) step.buffers.push_back(use(id));
  for (SymbolId symbol : symbols) step.sizes.push_back(SymInt::symbol(symbol));
  for (const Store& store : group.nest.stores) add_written(group.nest, store);
  plan_.can_replay |= may_replay(group.nest);
  if (!group.nest.nodes.empty()) step.where = graph_.node(group.nest.nodes.front()).where;
  step.spelled = group.name;
  plan_.steps.push_back(std::move(step));
}

void PlanBuilder::add_call(const NumpyCall& call) {
  const Node& node = graph_.node(call.node);
  plan_.can_replay = true;
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
