// Fold casts: see fold_casts.h.
#include "passes/fold_casts.h"

#include "passes/rewriter.h"
#include "passes/storage_facts.h"

namespace suture {

namespace {

// Every value of `from` is a value of `to`, so converting there and on loses nothing and signals nothing.
bool keeps_every_value(DType from, DType to) {
  if (from == to || is_bool(from)) return true;
  if (is_bool(to)) return false;
  const int from_bits = 8 * itemsize(from), to_bits = 8 * itemsize(to);
  if (is_float(from)) return is_float(to) && to_bits >= from_bits;
  if (is_float(to)) return from_bits <= (to == DType::kFloat64 ? 32 : 16);
  if (is_unsigned(from)) return is_unsigned(to) ? to_bits >= from_bits : to_bits > from_bits;
  return is_signed(to) && to_bits >= from_bits;
}

// The first node of a chain of lossless casts that ends in `id`; only casts whose memory stays as it was
// count.
NodeId lossless_origin(const Graph& graph, const StorageFacts& facts, NodeId id) {
  while (graph.node(id).op == OpId::kCast) {
    const NodeId inner = graph.node(id).operands[0];
    if (!keeps_every_value(graph.node(inner).type.dtype, graph.node(id).type.dtype)) break;
    if (facts.written(id) || facts.written(inner)) break;
    id = inner;
  }
  return id;
}

// Casts that a reduction makes itself: the layout of what they read is the order of the sum, so they must
// read just that.
std::vector<bool> casts_of_reductions(const Graph& graph) {
  std::vector<bool> marked(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) {
    if (info(node.op).kind == OpKind::Reduce && node.attrs.dtype)
      marked[static_cast<size_t>(node.operands[0])] = true;
  }
  return marked;
}

}  // namespace

Result<bool> fold_casts(Graph& graph, Applications& applications) {
  const StorageFacts facts(graph);
  const std::vector<bool> by_reduction = casts_of_reductions(graph);
  Rewriter rewriter(graph);
  bool changed = false;
  for (const Node& node : graph.nodes) {
    if (node.op != OpId::kCast || by_reduction[static_cast<size_t>(node.id)]) {
      rewriter.copy(node);
      continue;
    }
    const NodeId origin = lossless_origin(graph, facts, node.operands[0]);
    // np.int64(n) is no Python int: what is computed with it has NumPy's types.
    const TensorType& type = graph.node(origin).type;
    const bool same = type.dtype == node.type.dtype && type.value_class == node.type.value_class;
    const std::string& origin_name = graph.node(origin).name;
    if (same && facts.may_share(graph, node.id, origin) &&
        applications.take(node.name + " is " + origin_name)) {
      rewriter.map(node.id, rewriter.mapped(origin));
      changed = true;
    } else if (origin != node.operands[0] && applications.take(node.name + " reads " + origin_name)) {
      rewriter.copy(node, {rewriter.mapped(origin)});
      changed = true;
    } else {
      rewriter.copy(node);
    }
  }
  if (changed) graph = rewriter.finish();
  return changed;
}

}  // namespace suture
