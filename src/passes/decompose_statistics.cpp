// mean, var and std, step by step as numpy/_core/_methods.py computes them.
//
// Two facts decide the bits. Integers and bools are summed as float64. The division by the count runs in
// float64 also for float32 data, because the count is an np.intp scalar and therefore strong; its result is
// then rounded to the sum's dtype.
#include "passes/decompositions.h"

namespace suture {

namespace {

SymInt reduced_count(const Rewriter& rewriter, const Node& node) {
  const auto& shape = rewriter.old().node(node.operands[0]).type.shape;
  SymInt count = 1;
  if (node.attrs.all_axes) return product(shape);
  for (int axis : node.attrs.axes) count = count * shape[static_cast<size_t>(axis)];
  return count;
}

// `count` as a float64 scalar node.
Result<NodeId> count_node(Rewriter& rewriter, const SymInt& count) {
  if (auto known = count.constant()) {
    return rewriter.constant(static_cast<double>(*known), ValueClass::kNumpyScalar, DType::kFloat64);
  }
  return rewriter.cast(rewriter.symbol(count), DType::kFloat64);
}

// The dtype in which _methods.py asks add.reduce to accumulate; empty: the dtype of the data.
std::optional<DType> accumulator(DType data, std::optional<DType> asked) {
  if (asked) return asked;
  if (is_float(data)) return std::nullopt;
  return DType::kFloat64;
}

Result<NodeId> add_sum(Rewriter& rewriter, const Node& node, NodeId value, std::optional<DType> dtype,
                       bool keepdims) {
  Attrs attrs;
  attrs.axes = node.attrs.axes;
  attrs.all_axes = node.attrs.all_axes;
  attrs.keepdims = keepdims;
  attrs.dtype = dtype;
  return rewriter.add(OpId::kSum, {value}, std::move(attrs));
}

Result<NodeId> divide_as_sum(Rewriter& rewriter, NodeId sum, NodeId divisor) {
  SUTURE_TRY(quotient, rewriter.add(OpId::kDivide, {sum, divisor}));
  return rewriter.cast(quotient, rewriter.type(sum).dtype);
}

Result<NodeId> add_mean(Rewriter& rewriter, const Node& node, NodeId value, std::optional<DType> dtype,
                        bool keepdims) {
  SUTURE_TRY(sum, add_sum(rewriter, node, value, dtype, keepdims));
  SUTURE_TRY(count, count_node(rewriter, reduced_count(rewriter, node)));
  return divide_as_sum(rewriter, sum, count);
}

// max(count - ddof, 0) as a float64 scalar node.
Result<NodeId> degrees_of_freedom(Rewriter& rewriter, const Node& node) {
  const SymInt count = reduced_count(rewriter, node);
  const double ddof = node.attrs.ddof;
  if (auto known = count.constant()) {
    const double left = static_cast<double>(*known) - ddof;
    return rewriter.constant(left > 0 ? left : 0.0, ValueClass::kNumpyScalar, DType::kFloat64);
  }
  const auto whole = static_cast<int64_t>(ddof);
  if (static_cast<double>(whole) == ddof)
    return count_node(rewriter, sym_max(count - SymInt(whole), SymInt(0)));
  SUTURE_TRY(size, count_node(rewriter, count));
  const NodeId taken = rewriter.constant(ddof, ValueClass::kNumpyScalar, DType::kFloat64);
  SUTURE_TRY(left, rewriter.add(OpId::kSubtract, {size, taken}));
  const NodeId zero = rewriter.constant(0.0, ValueClass::kNumpyScalar, DType::kFloat64);
  return rewriter.add(OpId::kMaximum, {left, zero});
}

}  // namespace

Result<NodeId> decompose_mean(Rewriter& rewriter, const Node& node) {
  const NodeId value = rewriter.mapped(node.operands[0]);
  const auto dtype = accumulator(rewriter.type(value).dtype, node.attrs.dtype);
  return add_mean(rewriter, node, value, dtype, node.attrs.keepdims);
}

Result<NodeId> decompose_var(Rewriter& rewriter, const Node& node) {
  const NodeId value = rewriter.mapped(node.operands[0]);
  const auto dtype = accumulator(rewriter.type(value).dtype, node.attrs.dtype);
  SUTURE_TRY(mean, add_mean(rewriter, node, value, dtype, true));
  SUTURE_TRY(deviation, rewriter.add(OpId::kSubtract, {value, mean}));
  SUTURE_TRY(squared, rewriter.add(OpId::kSquare, {deviation}));
  SUTURE_TRY(sum, add_sum(rewriter, node, squared, dtype, node.attrs.keepdims));
  SUTURE_TRY(freedom, degrees_of_freedom(rewriter, node));
  return divide_as_sum(rewriter, sum, freedom);
}

Result<NodeId> decompose_std(Rewriter& rewriter, const Node& node) {
  SUTURE_TRY(variance, decompose_var(rewriter, node));
  return rewriter.add(OpId::kSqrt, {variance});
}

}  // namespace suture
