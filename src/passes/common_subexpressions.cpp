// Common subexpressions: see common_subexpressions.h.
#include "passes/common_subexpressions.h"

#include <bit>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "passes/rewriter.h"
#include "passes/storage_facts.h"

namespace suture {

namespace {

std::string text_of(const std::vector<SymInt>& dims) {
  std::string text;
  for (const SymInt& dim : dims) text += dim.str() + ",";
  return text;
}

std::string text_of(const Scalar& scalar) {
  // Bits, not digits: -0.0 and 0.0 are different constants.
  const auto bits = [](auto v) -> uint64_t {
    if constexpr (std::is_same_v<decltype(v), double>) return std::bit_cast<uint64_t>(v);
    return static_cast<uint64_t>(v);
  };
  return fmt::format("{}:{}", scalar.index(), std::visit(bits, scalar));
}

std::string text_of(const std::vector<IndexItem>& index) {
  std::string text;
  for (const IndexItem& item : index) {
    text += fmt::format("{}:{}:{}:{},", static_cast<int>(item.kind), item.start.str(), item.step.str(),
                        item.length.str());
  }
  return text;
}

std::string text_of(const Attrs& attrs) {
  return fmt::format(
      "{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", fmt::join(attrs.axes, ","), attrs.all_axes, attrs.keepdims,
      text_of(attrs.dims), text_of(attrs.index), attrs.dtype ? static_cast<int>(*attrs.dtype) : -1,
      attrs.scalar ? text_of(*attrs.scalar) : "", attrs.sym.str(), static_cast<int>(attrs.order),
      attrs.decimals, attrs.ddof, attrs.endpoint, 2 * attrs.has_min + attrs.has_max);
}

std::string text_of(const TensorType& type) {
  return fmt::format("{}|{}|{}|{}|{}", static_cast<int>(type.dtype), static_cast<int>(type.value_class),
                     text_of(type.shape), text_of(type.strides), type.writeable);
}

class Merger {
 public:
  explicit Merger(const Graph& graph)
      : graph_(graph), facts_(graph), rewriter_(graph), version_(graph.nodes.size(), 0) {
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
    return info(node.op).kind == OpKind::View || !facts_.written(node.id);
  }

  // Maps `node` to an equal earlier node, if there is one that it may share.
  bool merge(const Node& node) {
    auto [found, fresh] = first_.emplace(key(node), node.id);
    if (fresh) return false;
    const NodeId earlier = found->second;
    if (both_seen_by_user(earlier, node.id)) return false;
    mark_seen(earlier, node.id);
    rewriter_.map(node.id, rewriter_.mapped(earlier));
    changed_ = true;
    return true;
  }

  // Two objects the user gets must stay two. A view object is its own object; memory counts for everything
  // else.
  bool both_seen_by_user(NodeId a, NodeId b) const { return seen(a) && seen(b); }
  bool seen(NodeId id) const {
    const bool view = info(graph_.node(id).op).kind == OpKind::View;
    return view ? facts_.is_output(id) || merged_output_.count(id) : escapes_[static_cast<size_t>(id)];
  }
  void mark_seen(NodeId earlier, NodeId later) {
    if (facts_.is_output(later)) merged_output_[earlier] = true;
    if (escapes_[static_cast<size_t>(later)]) escapes_[static_cast<size_t>(earlier)] = true;
  }

  std::string key(const Node& node) const {
    std::string text = fmt::format("{}({})", static_cast<int>(node.op), text_of(node.attrs));
    for (NodeId id : node.operands) {
      text += fmt::format(" {}v{}", rewriter_.mapped(id), version_[static_cast<size_t>(facts_.root(id))]);
    }
    return text + " " + text_of(node.type);
  }

  void start_version(NodeId root) {
    ++version_[static_cast<size_t>(root)];
    if (graph_.node(root).op != OpId::kPlaceholder) return;
    for (NodeId id : graph_.placeholders) {
      if (id != root) ++version_[static_cast<size_t>(id)];
    }
  }

  const Graph& graph_;
  const StorageFacts facts_;
  Rewriter rewriter_;
  std::vector<int> version_;   // by root: stores into it so far
  std::vector<bool> escapes_;  // by node, kept up to date while nodes merge
  std::map<NodeId, bool> merged_output_;
  std::map<std::string, NodeId> first_;
  bool changed_ = false;
};

}  // namespace

Result<bool> common_subexpressions(Graph& graph) {
  Merger merger(graph);
  if (!merger.run()) return false;
  graph = merger.finish();
  return true;
}

}  // namespace suture
