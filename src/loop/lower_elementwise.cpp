// Elementwise nodes: one nest over the result's shape; operands are read with broadcasting strides.
#include "loop/lowering.h"

namespace suture {

Status Lowering::lower_elementwise(const Node& node) {
  const OpInfo& op = info(node.op);
  if (op.level != OpLevel::Prim)
    return Error::internal("loop", "composite op " + std::string(op.name) + " reached lowering");
  Nest nest;
  nest.extents = node.type.shape;
  nest.nodes.push_back(node.id);

  Expr expr;
  for (NodeId operand : node.operands) expr.operands.push_back(read(nest, operand, node));
  expr.op = node.op;
  expr.dtype = node.type.dtype;
  expr.checked = is_checked_scalar(node);
  ExprId value = -1;
  if (node.op == OpId::kCopy) {
    value = cast_to(nest, expr.operands[0], node.type.dtype, node);
  } else {
    expr.kind = node.op == OpId::kCast ? Expr::Kind::kCast : Expr::Kind::kOp;
    value = add_expr(nest, node, std::move(expr));
  }
  store_result(nest, node, value, false);
  program_.statements.emplace_back(std::move(nest));
  return ok_status();
}

}  // namespace suture
