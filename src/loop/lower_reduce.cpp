// Reductions: a nest over the operand's shape whose result is stored once per kept index. Floating-point sums
// and products carry NumPy's own element order (sum_order.h); where that order is not known the reduction
// stays a NumPy call.
#include "graph/sum_order.h"
#include "loop/lowering.h"

namespace suture {
namespace {

bool is_arg_reduction(OpId op) { return op == OpId::kArgmax || op == OpId::kArgmin; }
bool is_truth_reduction(OpId op) { return op == OpId::kAny || op == OpId::kAll; }

std::vector<bool> reduced_mask(const Node& node, size_t rank) {
  std::vector<bool> reduced(rank, node.attrs.all_axes);
  for (int axis : node.attrs.axes) reduced[axis] = true;
  return reduced;
}

// Result strides spread over the operand's axes: 0 on reduced axes.
std::vector<SymInt> kept_strides(const Node& node, const std::vector<bool>& reduced,
                                 const std::vector<SymInt>& strides) {
  std::vector<SymInt> spread(reduced.size(), SymInt(0));
  size_t result_axis = 0;
  for (size_t axis = 0; axis < reduced.size(); ++axis) {
    if (!reduced[axis]) spread[axis] = strides[result_axis];
    if (!reduced[axis] || node.attrs.keepdims) ++result_axis;
  }
  return spread;
}

// Every order gives the same bits: kept axes outside, the rest as the operand lies in memory (C order when
// unknown). argmax counts in C order, so there the run keeps it.
ReduceOrder free_order(const std::vector<bool>& reduced, const std::optional<std::vector<int>>& by_stride,
                       bool c_order) {
  std::vector<int> axes;
  for (size_t axis = 0; axis < reduced.size(); ++axis) axes.push_back(static_cast<int>(axis));
  if (by_stride && !c_order) axes = *by_stride;
  ReduceOrder order;
  if (!c_order && !axes.empty() && !reduced[axes.back()]) {
    order.outer = axes;  // the innermost axis is kept: add rows
    return order;
  }
  for (int axis : axes) (reduced[axis] ? order.run : order.outer).push_back(axis);
  return order;
}

}  // namespace

Status Lowering::lower_reduce(const Node& node) {
  const Node& operand = graph_.node(node.operands[0]);
  const std::vector<bool> reduced = reduced_mask(node, operand.type.shape.size());
  Nest nest;
  nest.extents = operand.type.shape;
  nest.nodes.push_back(node.id);

  Reduction reduction;
  reduction.op = node.op;
  reduction.node = node.id;
  reduction.dtype = node.type.dtype;
  for (size_t axis = 0; axis < reduced.size(); ++axis)
    if (reduced[axis]) reduction.axes.push_back(static_cast<int>(axis));

  // The lowered graph casts the operand explicitly; Attrs::dtype is left where NumPy converts it through its
  // buffer instead of reading a converted array. The order then follows the array as it was before the cast.
  const bool converted = node.attrs.dtype.has_value();
  const Node& layout_node =
      converted && operand.op == OpId::kCast ? graph_.node(operand.operands[0]) : operand;
  const std::vector<SymInt> layout = squeezed_strides(layout_node.type);
  const bool adds_floats = (node.op == OpId::kSum || node.op == OpId::kProd) && is_float(node.type.dtype);
  reduction.ordered = adds_floats || is_arg_reduction(node.op);
  if (adds_floats) {
    SumOrder sum =
        numpy_sum_order({operand.type.shape, layout, reduced, converted, options_.numpy_minor}, program_.env);
    if (!sum.order) return lower_extern(node, sum.why_not);
    reduction.order = std::move(*sum.order);
  } else {
    reduction.order = free_order(reduced, axes_by_stride(operand.type.shape, layout, program_.env),
                                 is_arg_reduction(node.op));
  }

  ExprId value = read(nest, operand.id, node);
  if (!is_arg_reduction(node.op) && !is_truth_reduction(node.op))
    value = cast_to(nest, value, node.type.dtype, node);
  reduction.value = value;
  reduction.value_dtype = nest.exprs[value].dtype;
  nest.reductions.push_back(std::move(reduction));

  Expr result;
  result.kind = Expr::Kind::kReduced;
  result.reduction = 0;
  result.dtype = node.type.dtype;
  const ExprId total = add_expr(nest, node, std::move(result));
  const BufferId buffer = result_buffer(node);
  Access access{buffer, 0, kept_strides(node, reduced, program_.buffers[buffer].strides)};
  nest.stores.push_back({std::move(access), total, true, node.id});
  program_.statements.emplace_back(std::move(nest));
  return ok_status();
}

}  // namespace suture
