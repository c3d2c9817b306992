// StorageFacts: see storage_facts.h.
#include "passes/storage_facts.h"

namespace suture {

StorageFacts::StorageFacts(const Graph& graph) {
  const size_t n = graph.nodes.size();
  output_.assign(n, false);
  escapes_.assign(n, false);
  written_.assign(n, false);
  elementwise_users_.assign(n, true);
  bool inputs_written = false;
  for (const Node& node : graph.nodes) {
    root_.push_back(graph.storage_of(node.id));
    if (node.op == OpId::kPlaceholder) escapes_[static_cast<size_t>(node.id)] = true;
    const bool elementwise = info(node.op).kind == OpKind::Elementwise;
    for (NodeId operand : node.operands) {
      if (!elementwise) elementwise_users_[static_cast<size_t>(operand)] = false;
    }
    if (node.op != OpId::kStore) continue;
    const NodeId target = root(node.operands[0]);
    written_[static_cast<size_t>(target)] = true;
    inputs_written |= graph.node(target).op == OpId::kPlaceholder;
  }
  for (NodeId id : graph.placeholders) {
    if (inputs_written) written_[static_cast<size_t>(id)] = true;
  }
  for (NodeId id : graph.outputs) {
    output_[static_cast<size_t>(id)] = true;
    escapes_[static_cast<size_t>(root(id))] = true;
  }
}

bool StorageFacts::may_share(const Graph& graph, NodeId copy, NodeId original) const {
  if (escapes(copy) || written(copy) || written(original)) return false;
  return graph.node(copy).type.strides == graph.node(original).type.strides || only_elementwise_users(copy);
}

}  // namespace suture
