// Decompose: see decompose.h.
#include "passes/decompose.h"

#include "passes/decompositions.h"
#include "passes/rewriter.h"

namespace suture {

namespace {

using Decomposition = Result<NodeId> (*)(Rewriter&, const Node&);

Decomposition decomposition_of(const Graph& graph, const Node& node) {
  if (has_python_semantics(graph, node)) return decompose_python_operator;
  switch (node.op) {
    case OpId::kMean: return decompose_mean;
    case OpId::kVar: return decompose_var;
    case OpId::kStd: return decompose_std;
    case OpId::kClip: return decompose_clip;
    case OpId::kRound: return decompose_round;
    case OpId::kLinspace: return decompose_linspace;
    case OpId::kFloatPower: return decompose_float_power;
    case OpId::kPower: return decompose_power;
    default: return nullptr;
  }
}

}  // namespace

Result<bool> decompose(Graph& graph) {
  bool changed = false;
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes) {
    const Decomposition rewrite = decomposition_of(graph, node);
    NodeId result = kNoNode;
    if (rewrite) {
      const size_t size = rewriter.graph().nodes.size();
      rewriter.begin(node);
      SUTURE_TRY(fresh, rewrite(rewriter, node));
      result = fresh;
      changed |= rewriter.graph().nodes.size() != size;
    }
    if (result == kNoNode) {
      rewriter.copy(node);
    } else {
      SUTURE_TRY_VOID(rewriter.replace(node, result));
      changed = true;
    }
  }
  if (changed) graph = rewriter.finish();
  return changed;
}

}  // namespace suture
