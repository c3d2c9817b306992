// Eliminate dead nodes: see eliminate_dead_nodes.h.
#include "passes/eliminate_dead_nodes.h"

#include "ops/signals.h"
#include "passes/rewriter.h"

namespace suture {

namespace {

bool node_can_signal(const Graph& graph, const Node& node) {
  if (info(node.op).kind == OpKind::Effect) return true;
  if (node.op == OpId::kCast || node.op == OpId::kFull)
    return node.attrs.checked || cast_can_signal(graph.node(node.operands[0]).type.dtype, node.type.dtype);
  const bool integer_scalar = node.type.scalar() && is_integer(node.type.dtype);
  return can_signal(node.op, node.type.dtype,
                    integer_scalar ? IntegerOverflow::kReported : IntegerOverflow::kWraps);
}

// From the last node to the first, so that what a kept node reads is kept, too.
std::vector<bool> live_nodes(const Graph& graph, Applications& applications) {
  std::vector<bool> live(graph.nodes.size(), false);
  for (NodeId id : graph.outputs) live[static_cast<size_t>(id)] = true;
  for (NodeId id : graph.placeholders) live[static_cast<size_t>(id)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (node_can_signal(graph, node)) live[i] = true;
    if (!live[i] && applications.take("without " + node.name)) continue;
    live[i] = true;
    for (NodeId operand : node.operands) live[static_cast<size_t>(operand)] = true;
  }
  return live;
}

}  // namespace

Result<bool> eliminate_dead_nodes(Graph& graph, Applications& applications) {
  const std::vector<bool> live = live_nodes(graph, applications);
  Rewriter rewriter(graph);
  bool changed = false;
  for (const Node& node : graph.nodes) {
    if (live[static_cast<size_t>(node.id)]) {
      rewriter.copy(node);
    } else {
      changed = true;
    }
  }
  if (changed) graph = rewriter.finish();
  return changed;
}

}  // namespace suture
