#include "graph/user_calls.h"

#include <algorithm>

namespace suture {

namespace {

bool is_input(const Node& node) { return info(node.op).kind == OpKind::Input; }

// flatten() stores into fresh memory, which is spelled as every assignment. x[i] = y stays two: the view and the write.
bool fills(const Node& first, const Node& node) {
  return node.op == OpId::kStore && node.target == "=" && first.target != "[]";
}

// Whether `node` belongs to the call that consists of the nodes in `call` so far.
bool continues(const Graph& graph, const std::vector<NodeId>& call, const Node& node) {
  if (call.empty()) return false;
  const Node& first = graph.node(call.front());
  if (!(node.where == first.where) || !(node.target == first.target || fills(first, node))) return false;
  bool reads_it = false;
  for (NodeId id : call) {
    if (graph.node(id).op == node.op) return false;
    reads_it |= std::find(node.operands.begin(), node.operands.end(), id) != node.operands.end();
  }
  return reads_it;
}

}  // namespace

std::vector<NodeId> user_calls(const Graph& graph) {
  std::vector<NodeId> calls, call;
  for (const Node& node : graph.nodes) {
    if (is_input(node)) continue;
    if (!continues(graph, call, node)) {
      call.clear();
      calls.push_back(node.id);
    }
    call.push_back(node.id);
  }
  return calls;
}

}  // namespace suture
