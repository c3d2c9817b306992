// GraphBuilder: the only way capture and passes add nodes. Infers dtype, shape, strides (NumPy's K order) and
// value class.
//
// Errors: kUnsupported with a sentence when the op cannot be captured for these operands, including every
// case in which NumPy itself would raise (broadcast mismatch, bool subtract, empty max): capture then breaks
// and NumPy raises its own error.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace suture {

class GraphBuilder {
 public:
  explicit GraphBuilder(Graph& graph);

  // Place blamed for nodes and shape facts from now on.
  void set_place(const UserSpan& where);

  NodeId placeholder(std::string name, TensorType type);
  NodeId constant(Scalar value, ValueClass value_class, DType dtype);
  NodeId symbol_value(SymInt value);  // class kPyInt
  // Adds op(operands). `target` is the callable as the user wrote it.
  // An in-place operator is two nodes: add(kAdd, {x, y}, {}, "+=") and add(kStore, {x, that}, {}, "+=");
  // x[...] = y is add(kStore, {view, y}, {}, "="). kSlice with integers only gives a NumPy scalar, as x[i, j]
  // does, unless attrs.ellipsis.
  Result<NodeId> add(OpId op, std::vector<NodeId> operands, Attrs attrs, std::string target);
  Graph& graph() { return graph_; }

 private:
  NodeId append(Node node, const std::string& stem);
  std::string unique_name(const std::string& stem);
  Graph& graph_;
  UserSpan where_;
  std::unordered_map<std::string, int> names_;  // every name taken -> last suffix tried for it
};

// The type add() would give a node with these facts; normalises attrs. Passes and the verifier use it without
// adding.
Result<TensorType> infer_type(Graph& graph, const Node& node, Attrs& attrs);

// NumPy's broadcasting of shapes; kUnsupported when they do not match. Records shape facts in env.
Result<std::vector<SymInt>> broadcast_shapes(std::span<const std::vector<SymInt>> shapes, ShapeEnv& env);
// Strides (in elements) of a fresh ufunc result: NumPy's K order over the operands.
std::vector<SymInt> ufunc_result_strides(const std::vector<SymInt>& shape,
                                         std::span<const TensorType> operands, ShapeEnv& env);
std::vector<SymInt> contiguous_strides(const std::vector<SymInt>& shape, Order order);
// Those of memory that NumPy allocates: contiguous, and all 0 when there is no element.
std::vector<SymInt> new_array_strides(const std::vector<SymInt>& shape, Order order);
// Strides of a fresh copy of `type` in `order` (C F K A): astype, copy, empty_like and friends.
std::vector<SymInt> like_strides(const TensorType& type, Order order, ShapeEnv& env);
// NumPy's C_CONTIGUOUS (kC) and F_CONTIGUOUS (kF) flags.
bool is_contiguous(const TensorType& type, Order order, ShapeEnv& env);

}  // namespace suture
