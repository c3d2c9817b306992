// Common subexpressions: see common_subexpressions.h.
#include "passes/common_subexpressions.h"

#include <map>

#include "passes/rewriter.h"
#include "passes/scalar_values.h"
#include "passes/storage_facts.h"

namespace suture {

namespace {

// Equal in everything but name, place and operands. -0.0 and 0.0 are different constants.
bool same_operation(const Node& a, const Node& b) {
  if (a.op != b.op || !(a.type == b.type) || a.attrs.scalar.has_value() != b.attrs.scalar.has_value())
    return false;
  if (a.attrs.scalar && !same_bits(*a.attrs.scalar, *b.attrs.scalar)) return false;
  Attrs left = a.attrs, right = b.attrs;
  left.scalar.reset();
  right.scalar.reset();
  return left == right;
}

class Merger {
 public:
  Merger(const Graph& graph, Applications& applications)
      : graph_(graph),
        applications_(applications),
        facts_(graph),
        rewriter_(graph),
        version_(graph.nodes.size(), 0) {
    for (const Node& node : graph.nodes) escapes_.push_back(facts_.escapes(node.id));
  }

  bool run() {
    for (const Node& node : graph_.nodes) {
      if (node.op == OpId::kStore) start_version(facts_.root(node.operands[0]));
      if (!mergeable(node) || !merge(node)) rewriter_.copy(node);
    }
    return changed_;
  }
  Graph finish() { return rewriter_.finish(); }

 private:
  bool mergeable(const Node& node) const {
    if (node.op == OpId::kPlaceholder || node.op == OpId::kStore || node.op == OpId::kEmpty) return false;
    return is_view(node.id) || !facts_.written(node.id);
  }

  // Maps `node` to an equal earlier node, if there is one that it may share.
  bool merge(const Node& node) {
    std::vector<NodeId>& candidates = by_operands_[key(node)];
    for (NodeId earlier : candidates) {
      if (!same_operation(graph_.node(earlier), node) || both_seen_by_user(earlier, node.id)) continue;
      if (!applications_.take(node.name + " is " + graph_.node(earlier).name)) return false;
      mark_seen(earlier, node.id);
      rewriter_.map(node.id, rewriter_.mapped(earlier));
      changed_ = true;
      return true;
    }
    candidates.push_back(node.id);
    return false;
  }

  // Two objects the user gets must stay two. A view object is its own object; memory counts for everything
  // else.
  bool both_seen_by_user(NodeId a, NodeId b) const { return seen(a) && seen(b); }
  bool is_view(NodeId id) const { return facts_.root(id) != id; }
  bool seen(NodeId id) const {
    return is_view(id) ? facts_.is_output(id) || merged_output_.count(id) : escapes_[static_cast<size_t>(id)];
  }
  void mark_seen(NodeId earlier, NodeId later) {
    if (facts_.is_output(later)) merged_output_[earlier] = true;
    if (escapes_[static_cast<size_t>(later)]) escapes_[static_cast<size_t>(earlier)] = true;
  }

  // The op, and its operands in the versions it reads.
  std::vector<int> key(const Node& node) const {
    std::vector<int> key{static_cast<int>(node.op)};
    for (NodeId id : node.operands) {
      key.push_back(rewriter_.mapped(id));
      key.push_back(version_[static_cast<size_t>(facts_.root(id))]);
    }
    return key;
  }

  void start_version(NodeId root) {
    ++version_[static_cast<size_t>(root)];
    if (graph_.node(root).op != OpId::kPlaceholder) return;
    for (NodeId id : graph_.placeholders) {
      if (id != root) ++version_[static_cast<size_t>(id)];
    }
  }

  const Graph& graph_;
  Applications& applications_;
  const StorageFacts facts_;
  Rewriter rewriter_;
  std::vector<int> version_;   // by root: stores into it so far
  std::vector<bool> escapes_;  // by node, kept up to date while nodes merge
  std::map<NodeId, bool> merged_output_;
  std::map<std::vector<int>, std::vector<NodeId>> by_operands_;
  bool changed_ = false;
};

}  // namespace

Result<bool> common_subexpressions(Graph& graph, Applications& applications) {
  Merger merger(graph, applications);
  if (!merger.run()) return false;
  graph = merger.finish();
  return true;
}

}  // namespace suture
