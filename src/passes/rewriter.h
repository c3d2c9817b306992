// Rewriter: builds a new graph from an old one, node by node. The only way passes change a graph.
//
// Overview
//   A pass walks the old nodes in order and, for each, either copies it, maps it to a node that already
//   exists, or replaces it by fresh nodes made with `add`. `finish` maps placeholders and outputs and gives
//   every node a unique name: copied nodes keep theirs, a node that stands for an old one takes over the old
//   name, helpers are named after their op.
// Invariants
//   - Ids of the new graph are dense and in program order, so node order (the order of effects) is kept.
//   - The ShapeEnv travels along: what inference of fresh nodes relies on about sizes is recorded in it, and
//     guards are made from there after the last pass. A pass that may decide either way proves instead of
//     asking.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "graph/graph_builder.h"

namespace suture {

class Rewriter {
 public:
  explicit Rewriter(const Graph& old);
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  const Graph& old() const { return old_; }
  Graph& graph() { return graph_; }
  const Node& node(NodeId fresh) const { return graph_.node(fresh); }
  const TensorType& type(NodeId fresh) const { return graph_.node(fresh).type; }

  // The new node that stands for an old one.
  NodeId mapped(NodeId old) const { return map_[static_cast<size_t>(old)]; }
  std::vector<NodeId> mapped_operands(const Node& old) const;

  // Copies `old` with its operands mapped. The overload takes other operands (same meaning, e.g. converted
  // ones).
  NodeId copy(const Node& old);
  NodeId copy(const Node& old, std::vector<NodeId> operands);
  // `fresh` stands for `old` from now on.
  void map(NodeId old, NodeId fresh) { map_[static_cast<size_t>(old)] = fresh; }

  // Fresh nodes, blamed on the user's place and callable of the old node given to begin().
  void begin(const Node& old);
  // From now on fresh nodes count as calls of NumPy functions, whatever operator the old node was written
  // with.
  void as_numpy_calls() { target_ = "np"; }
  Result<NodeId> add(OpId op, std::vector<NodeId> operands, Attrs attrs = {});
  Result<NodeId> cast(NodeId value, DType dtype);  // `value` itself when it already has the dtype
  NodeId constant(Scalar value, ValueClass value_class, DType dtype);
  NodeId symbol(SymInt value);
  // Ends the replacement begun last: `result`, a fresh buffer, takes the name and the exact type (also the
  // strides) of the old node. Error kInternal when dtype, shape or value class differ, for then the
  // replacement does not mean the same.
  Status replace(const Node& old, NodeId result);

  Graph finish();

 private:
  void unique_names();
  const Graph& old_;
  Graph graph_;
  GraphBuilder builder_;
  std::vector<NodeId> map_;
  std::vector<bool> copied_;  // by new id: name comes from the old graph
  std::string target_;
};

// True when `a` and `b` are alike for every reader: dtype, value class and shape (strides may differ).
bool same_value_type(const TensorType& a, const TensorType& b);

}  // namespace suture
