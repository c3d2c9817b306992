// Fold constants: see fold_constants.h.
#include "passes/fold_constants.h"

#include <cmath>
#include <optional>

#include "passes/rewriter.h"
#include "passes/scalar_values.h"

namespace suture {

namespace {

// Exact when the rounding error of the operation, computed by an error-free transformation, is zero.
std::optional<double> exact_float(OpId op, double a, double b) {
  double result = 0, error = 0;
  if (op == OpId::kMultiply) {
    result = a * b;
    error = std::fma(a, b, -result);
  } else {
    if (op == OpId::kSubtract) b = -b;
    result = a + b;
    const double part = result - a;
    error = (a - (result - part)) + (b - part);
  }
  if (!std::isfinite(result) || error != 0.0) return std::nullopt;
  if (result != 0.0 && std::fabs(result) < 1e-290)
    return std::nullopt;  // the error itself may have underflowed
  if (result == 0.0 && op == OpId::kMultiply && a != 0.0 && b != 0.0) return std::nullopt;
  return result;
}

std::optional<int64_t> exact_integer(OpId op, int64_t a, int64_t b) {
  int64_t result = 0;
  const bool overflow = op == OpId::kAdd        ? __builtin_add_overflow(a, b, &result)
                        : op == OpId::kSubtract ? __builtin_sub_overflow(a, b, &result)
                                                : __builtin_mul_overflow(a, b, &result);
  return overflow ? std::nullopt : std::optional<int64_t>(result);
}

std::optional<Scalar> evaluate_binary(OpId op, const Scalar& a, const Scalar& b, DType dtype) {
  if (is_float(dtype)) {
    const auto result = exact_float(op, std::get<double>(a), std::get<double>(b));
    if (!result || (dtype == DType::kFloat32 && static_cast<double>(static_cast<float>(*result)) != *result))
      return std::nullopt;
    return convert_scalar(*result, dtype);
  }
  if (!is_signed(dtype)) return std::nullopt;
  const auto result = exact_integer(op, std::get<int64_t>(a), std::get<int64_t>(b));
  return result ? convert_scalar(*result, dtype) : std::nullopt;
}

std::optional<Scalar> evaluate(const Graph& graph, const Node& node) {
  std::vector<Scalar> values;
  for (NodeId id : node.operands) {
    const auto value = constant_of(graph.node(id));
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  switch (node.op) {
    case OpId::kCast: return convert_scalar(values[0], node.type.dtype);
    case OpId::kNegative:
      if (!is_float(node.type.dtype)) return std::nullopt;
      return Scalar(-std::get<double>(values[0]));
    case OpId::kAdd:
    case OpId::kSubtract:
    case OpId::kMultiply: return evaluate_binary(node.op, values[0], values[1], node.type.dtype);
    default: return std::nullopt;
  }
}

Node constant_like(const Node& node, Scalar value) {
  Node constant = node;
  constant.op = OpId::kConstant;
  constant.operands.clear();
  constant.attrs = Attrs{};
  constant.attrs.scalar = value;
  return constant;
}

}  // namespace

Result<bool> fold_constants(Graph& graph, Applications& applications) {
  bool changed = false;
  for (Node& node : graph.nodes) {
    if (node.operands.empty() || !node.type.scalar()) continue;
    const auto value = evaluate(graph, node);
    if (value && applications.take(node.name + " is a constant")) {
      node = constant_like(node, *value);
      changed = true;
    }
  }
  return changed;
}

}  // namespace suture
