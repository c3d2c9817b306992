// Simplify views: see simplify_views.h.
#include "passes/simplify_views.h"

#include "passes/rewriter.h"
#include "passes/storage_facts.h"

namespace suture {

namespace {

bool starts_at_zero(const Node& node) {
  if (node.op != OpId::kSlice) return true;
  for (const IndexItem& item : node.attrs.index) {
    if (item.kind == IndexItem::Kind::kInt || !(item.start == SymInt(0))) return false;
  }
  return true;
}

// The same elements in the same places: equal extents and strides, from the first element on.
bool shows_all(const Node& view, const TensorType& base) {
  // A broadcast is kept: what views it may not be written.
  return view.op != OpId::kBroadcastTo && !view.attrs.copies && starts_at_zero(view) &&
         same_value_type(view.type, base) && view.type.strides == base.strides;
}

std::vector<int> compose(const std::vector<int>& inner, const std::vector<int>& outer) {
  std::vector<int> axes;
  for (int axis : outer) axes.push_back(inner[static_cast<size_t>(axis)]);
  return axes;
}

// Reshaping `base` to the shape of `view` gives exactly this view; decided without recording a shape fact.
bool reshapes_in_one_step(const TensorType& base, const Node& view, ShapeEnv env) {
  const size_t facts = env.facts().size();
  return !reshape_copies(base, view.attrs.dims, env) && env.facts().size() == facts;
}

bool merges(const Graph& graph, const Node& outer, const Node& inner) {
  if (outer.op != inner.op || outer.attrs.copies || inner.attrs.copies) return false;
  if (outer.op == OpId::kTranspose) return true;
  return outer.op == OpId::kReshape &&
         reshapes_in_one_step(graph.node(inner.operands[0]).type, outer, graph.env);
}

// `node` with its operand's view merged into it; false when there is nothing to merge.
bool merge_operand(const Graph& graph, Node& node, Applications& applications) {
  const Node& inner = graph.node(node.operands[0]);
  if (!merges(graph, node, inner) || !applications.take(node.name + " skips " + inner.name)) return false;
  if (node.op == OpId::kTranspose) node.attrs.axes = compose(inner.attrs.axes, node.attrs.axes);
  node.operands[0] = inner.operands[0];
  return true;
}

}  // namespace

Result<bool> simplify_views(Graph& graph, Applications& applications) {
  const StorageFacts facts(graph);
  Graph before = graph;  // `graph` is edited while its views are merged; facts speak of the old nodes
  Rewriter rewriter(before);
  bool changed = false;
  for (const Node& old : before.nodes) {
    if (info(old.op).kind != OpKind::View) {
      rewriter.copy(old);
      continue;
    }
    Node& node = graph.node(old.id);
    while (merge_operand(graph, node, applications)) changed = true;
    const Node& base = graph.node(node.operands[0]);
    if (!facts.is_output(old.id) && shows_all(node, base.type) &&
        applications.take(node.name + " is " + base.name)) {
      rewriter.map(old.id, rewriter.mapped(node.operands[0]));
      changed = true;
    } else {
      rewriter.copy(node);
    }
  }
  if (changed) graph = rewriter.finish();
  return changed;
}

}  // namespace suture
