// Type inference, one function per op kind; graph_builder.h's infer_type dispatches. Internal to this room.
#pragma once

#include <fmt/format.h>

#include "graph/layout.h"
#include "ops/promotion.h"

namespace suture {

// One call whose type is wanted. Operand types are those of the operand nodes.
struct Call {
  Graph& graph;
  const Node& node;
  Attrs& attrs;  // normalised in place
  OpId op() const { return node.op; }
  ShapeEnv& env() { return graph.env; }
  const Node& operand(size_t i) const { return graph.node(node.operands[i]); }
  const TensorType& type(size_t i) const { return operand(i).type; }
  size_t arity() const { return node.operands.size(); }
};

Result<TensorType> infer_elementwise(Call& call);
Result<TensorType> infer_cast(Call& call);  // kCast and kCopy
Result<TensorType> infer_reduce(Call& call);
Result<TensorType> infer_view(Call& call);
Result<TensorType> infer_create(Call& call);
Result<TensorType> infer_contract(Call& call);
Result<TensorType> infer_store(Call& call);

// Refuses a Python number that NumPy would refuse (or warn about) when it meets `dtype`: 300 with uint8,
// 1e300 with float32.
Status check_weak_operand(Call& call, size_t operand, DType dtype);

inline Error refused(std::string message) { return Error::unsupported("types", std::move(message)); }

}  // namespace suture
