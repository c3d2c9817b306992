// Decompose: see decompose.h.
#include "passes/decompose.h"

#include "passes/decompositions.h"
#include "passes/rewriter.h"

namespace suture {

namespace {

using Decomposition = Result<NodeId> (*)(Rewriter&, const Node&);

Decomposition decomposition_of(OpId op) {
  switch (op) {
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
    const Decomposition rewrite = decomposition_of(node.op);
    NodeId result = kNoNode;
    if (rewrite) {
      rewriter.begin(node);
      SUTURE_TRY(fresh, rewrite(rewriter, node));
      result = fresh;
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
