// Questions about a whole graph: storage, mutation, counts, and the short text of types.
#include "graph/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/user_calls.h"

namespace suture {

std::string short_name(DType dtype) {
  if (is_bool(dtype)) return "bool";
  return fmt::format("{}{}", info(dtype).kind, 8 * itemsize(dtype));
}

std::string TensorType::str() const {
  if (is_weak(value_class)) return std::string(name(value_class));
  std::string out = short_name(dtype);
  if (value_class == ValueClass::kNumpyScalar) return out + " scalar";
  out += "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i > 0 ? ", " : "") + shape[i].str();
  return out + "]";
}

NodeId Graph::storage_of(NodeId id) const {
  for (;;) {
    const Node& n = node(id);
    bool shares =
        n.op == OpId::kStore || (info(n.op).kind == OpKind::View && !n.type.scalar() && !n.attrs.copies);
    if (!shares || n.operands.empty()) return id;
    id = n.operands[0];
  }
}

bool Graph::mutates_inputs() const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& n) {
    return n.op == OpId::kStore && node(storage_of(n.id)).op == OpId::kPlaceholder;
  });
}

size_t Graph::op_count() const { return user_calls(*this).size(); }

Spelling spelling_of(const Node& node) {
  const std::string& target = node.target;
  if (target.starts_with("ndarray.")) return Spelling::kMethod;
  if (target.empty() || target.find_first_of("+-*/%<>=!&|^~@") != 0) return Spelling::kFunction;
  constexpr std::string_view kComparisons[] = {"==", "!=", "<=", ">="};
  bool comparison =
      std::find(std::begin(kComparisons), std::end(kComparisons), target) != std::end(kComparisons);
  return target.ends_with("=") && !comparison ? Spelling::kInPlace : Spelling::kOperator;
}

bool has_python_semantics(const Graph& graph, const Node& node) {
  if (info(node.op).kind != OpKind::Elementwise || node.operands.empty()) return false;
  for (NodeId id : node.operands) {
    if (!is_weak(graph.node(id).type.value_class)) return false;
  }
  Spelling spelling = spelling_of(node);
  bool builtin = node.attrs.value_class && is_weak(*node.attrs.value_class);
  return spelling == Spelling::kOperator || spelling == Spelling::kInPlace || builtin;
}

}  // namespace suture
