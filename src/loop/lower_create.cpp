// Array creation: full writes one value everywhere, empty only reserves memory, arange counts as NumPy does:
// elements 0 and 1 are start and start + step (added in double), and later elements are start + i * (element
// 1 - element 0), all in the dtype of the result. Integers are simply start + i * step.
#include "loop/lowering.h"

namespace suture {

ExprId Lowering::add_op(Nest& nest, const Node& node, OpId op, std::vector<ExprId> operands, DType dtype) {
  Expr expr;
  expr.op = op;
  expr.operands = std::move(operands);
  expr.dtype = dtype;
  return add_expr(nest, node, std::move(expr));
}

ExprId Lowering::arange_value(Nest& nest, const Node& node) {
  const DType dtype = node.type.dtype;
  const ExprId start = read(nest, node.operands[0], node), step = read(nest, node.operands[1], node);
  Expr axis;
  axis.kind = Expr::Kind::kAxis;
  axis.axis = 0;
  axis.dtype = DType::kInt64;
  const ExprId index = add_expr(nest, node, std::move(axis));
  const ExprId position = cast_to(nest, index, dtype, node);
  const ExprId first = cast_to(nest, start, dtype, node);
  if (!is_float(dtype)) {
    const ExprId distance =
        add_op(nest, node, OpId::kMultiply, {position, cast_to(nest, step, dtype, node)}, dtype);
    return add_op(nest, node, OpId::kAdd, {first, distance}, dtype);
  }
  const ExprId wide =
      add_op(nest, node, OpId::kAdd,
             {cast_to(nest, start, DType::kFloat64, node), cast_to(nest, step, DType::kFloat64, node)},
             DType::kFloat64);
  const ExprId second = cast_to(nest, wide, dtype, node);
  const ExprId delta = add_op(nest, node, OpId::kSubtract, {second, first}, dtype);
  const ExprId distance = add_op(nest, node, OpId::kMultiply, {position, delta}, dtype);
  const ExprId later = add_op(nest, node, OpId::kAdd, {first, distance}, dtype);
  const auto is_index = [&](int64_t value) {
    Expr constant;
    constant.kind = Expr::Kind::kConstant;
    constant.scalar = value;
    constant.dtype = DType::kInt64;
    const ExprId number = add_expr(nest, node, std::move(constant));
    return add_op(nest, node, OpId::kEqual, {index, number}, DType::kBool);
  };
  const ExprId from_one = add_op(nest, node, OpId::kWhere, {is_index(1), second, later}, dtype);
  return add_op(nest, node, OpId::kWhere, {is_index(0), first, from_one}, dtype);
}

Status Lowering::lower_create(const Node& node) {
  if (node.op == OpId::kEmpty) {
    result_buffer(node);
    return ok_status();
  }
  if (node.op != OpId::kArange && node.op != OpId::kFull)
    return Error::internal("loop", "composite op " + std::string(info(node.op).name) + " reached lowering");
  Nest nest;
  nest.extents = node.type.shape;
  nest.nodes.push_back(node.id);
  const ExprId value =
      node.op == OpId::kArange ? arange_value(nest, node) : read(nest, node.operands[0], node);
  store_result(nest, node, cast_to(nest, value, node.type.dtype, node), false);
  program_.statements.emplace_back(std::move(nest));
  return ok_status();
}

}  // namespace suture
