// Lowering: the state shared by the lower_*.cpp files while a graph becomes a loop program. Private to this
// room.
//
// Every node gets a NodeValue. Values that are known without memory (constants, symbols) are inlined into
// expressions; all others live in a buffer and are read through an affine View, so graph views cost nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loop/loop_program.h"

namespace suture {

struct View {
  BufferId buffer = -1;  // never a kView buffer
  SymInt offset = 0;
  std::vector<SymInt> strides;  // per axis of the node's shape; 0 where the extent is 1
};

struct NodeValue {
  std::optional<View> memory;  // empty: inline (kConstant, kSymbolValue)
  BufferId whole = -1;         // buffer that is exactly this node's array, when one exists
};

class Lowering {
 public:
  Lowering(const Graph& graph, const LowerOptions& options) : graph_(graph), options_(options) {}
  Result<LoopProgram> run();

 private:
  Status lower_node(const Node& node);
  Status lower_input(const Node& node);  // lower.cpp
  Status lower_elementwise(const Node& node);
  Status lower_reduce(const Node& node);
  Status lower_view(const Node& node);
  Status lower_reshape(const Node& node);  // lower_view.cpp
  Status lower_create(const Node& node);
  Status lower_store(const Node& node);
  Status lower_extern(const Node& node, std::string why);

  // Memory.
  BufferId new_buffer(const Node& node, Buffer::Kind kind, const std::vector<SymInt>& strides);
  BufferId result_buffer(const Node& node);  // fresh memory (kTemp until run() finds it is returned) laid out
                                             // as node.type says; becomes node's value
  Result<BufferId> materialize(NodeId id);   // a buffer that is exactly this node's array (kView when needed)
  Result<Unit> materialize_inline(NodeId id);  // gives a constant or symbol memory
  std::vector<SymInt> squeezed_strides(const TensorType& type) const;

  // Expressions.
  ExprId add_expr(Nest& nest, const Node& node, Expr expr);
  // The value of `id`, broadcast to the nest's axes (aligned at the last axis).
  ExprId read(Nest& nest, NodeId id, const Node& reader);
  Access access_of(const View& view, const std::vector<SymInt>& shape, size_t rank) const;
  ExprId cast_to(Nest& nest, ExprId value, DType dtype, const Node& node);
  ExprId add_op(Nest& nest, const Node& node, OpId op, std::vector<ExprId> operands, DType dtype);
  ExprId arange_value(Nest& nest, const Node& node);  // lower_create.cpp
  void store_result(Nest& nest, const Node& node, ExprId value, bool after_reduction);
  std::string unique_name(std::string stem);

  const Graph& graph_;
  LowerOptions options_;
  LoopProgram program_;
  std::vector<NodeValue> values_;
  std::vector<std::string> names_;
};

// The type an operation of NumPy scalars or Python scalars checks for overflow in.
bool is_checked_scalar(const Node& node);

}  // namespace suture
