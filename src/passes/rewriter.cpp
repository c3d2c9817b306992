// Rewriter: see rewriter.h.
#include "passes/rewriter.h"

#include <fmt/format.h>

#include <set>

namespace suture {

namespace {

Graph empty_copy(const Graph& old) {
  Graph graph;
  graph.level = old.level;
  graph.name = old.name;
  graph.env = old.env;
  return graph;
}

}  // namespace

bool same_value_type(const TensorType& a, const TensorType& b) {
  return a.dtype == b.dtype && a.value_class == b.value_class && a.shape == b.shape;
}

Rewriter::Rewriter(const Graph& old)
    : old_(old), graph_(empty_copy(old)), builder_(graph_), map_(old.nodes.size(), kNoNode) {}

std::vector<NodeId> Rewriter::mapped_operands(const Node& old) const {
  std::vector<NodeId> operands;
  for (NodeId id : old.operands) operands.push_back(mapped(id));
  return operands;
}

NodeId Rewriter::copy(const Node& old) { return copy(old, mapped_operands(old)); }

NodeId Rewriter::copy(const Node& old, std::vector<NodeId> operands) {
  Node node = old;
  node.id = static_cast<NodeId>(graph_.nodes.size());
  node.operands = std::move(operands);
  graph_.nodes.push_back(std::move(node));
  copied_.resize(graph_.nodes.size(), false);
  copied_.back() = true;
  map(old.id, graph_.nodes.back().id);
  return graph_.nodes.back().id;
}

void Rewriter::begin(const Node& old) {
  target_ = old.target;
  builder_.set_place(old.where);
}

Result<NodeId> Rewriter::add(OpId op, std::vector<NodeId> operands, Attrs attrs) {
  return builder_.add(op, std::move(operands), std::move(attrs), target_);
}

Result<NodeId> Rewriter::cast(NodeId value, DType dtype) {
  if (type(value).dtype == dtype) return value;
  Attrs attrs;
  attrs.dtype = dtype;
  return add(OpId::kCast, {value}, std::move(attrs));
}

NodeId Rewriter::constant(Scalar value, ValueClass value_class, DType dtype) {
  return builder_.constant(value, value_class, dtype);
}

NodeId Rewriter::symbol(SymInt value) { return builder_.symbol_value(std::move(value)); }

Status Rewriter::replace(const Node& old, NodeId result) {
  Node& fresh = graph_.node(result);
  copied_.resize(graph_.nodes.size(), false);
  // np.where answers scalars with a 0-d array: a fresh node may take the class of the value it stands for.
  const bool takes_class = !copied_[static_cast<size_t>(result)] && fresh.type.rank() == 0;
  TensorType expected = old.type;
  if (takes_class) expected.value_class = fresh.type.value_class;
  // Of two sizes that are known to be equal, inference may name either.
  const auto settled = [this](TensorType type) {
    for (SymInt& size : type.shape) size = graph_.env.simplify(size);
    return type;
  };
  if (!same_value_type(settled(fresh.type), settled(expected))) {
    return Error::internal(
        "passes", fmt::format("rewriting {} of type {} gave {}", old.name, old.type.str(), fresh.type.str()));
  }
  if (!copied_[static_cast<size_t>(result)]) {
    fresh.name = old.name;
    fresh.target = old.target;
    fresh.type = old.type;
    copied_[static_cast<size_t>(result)] = true;
  }
  map(old.id, result);
  return ok_status();
}

void Rewriter::unique_names() {
  copied_.resize(graph_.nodes.size(), false);
  std::set<std::string> taken;
  for (const Node& node : graph_.nodes) {
    if (copied_[static_cast<size_t>(node.id)]) taken.insert(node.name);
  }
  for (Node& node : graph_.nodes) {
    if (copied_[static_cast<size_t>(node.id)]) continue;
    const std::string stem = node.name;
    for (int k = 1; !taken.insert(node.name).second; ++k) node.name = fmt::format("{}_{}", stem, k);
  }
}

Graph Rewriter::finish() {
  unique_names();
  for (NodeId id : old_.placeholders) graph_.placeholders.push_back(mapped(id));
  for (NodeId id : old_.outputs) graph_.outputs.push_back(mapped(id));
  return std::move(graph_);
}

}  // namespace suture
