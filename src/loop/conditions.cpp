#include "loop/conditions.h"

#include "ops/signals.h"

namespace suture {

bool can_signal(const Nest& nest, const Expr& expr) {
  if (expr.kind == Expr::Kind::kCast)
    return expr.checked ||
           cast_can_signal(nest.exprs[static_cast<size_t>(expr.operands[0])].dtype, expr.dtype);
  const auto overflow = expr.checked ? IntegerOverflow::kReported : IntegerOverflow::kWraps;
  return expr.kind == Expr::Kind::kOp && can_signal(expr.op, expr.dtype, overflow);
}

bool signals_by_flags(const Nest& nest, const Expr& expr) {
  if (expr.kind == Expr::Kind::kCast) {
    const Expr& from = nest.exprs[static_cast<size_t>(expr.operands[0])];
    const double* known = from.kind == Expr::Kind::kConstant ? std::get_if<double>(&from.scalar) : nullptr;
    return known ? cast_of_value_can_signal(*known, expr.dtype)
                 : cast_signals_by_flags(from.dtype, expr.dtype);
  }
  return expr.kind == Expr::Kind::kOp && signals_by_flags(expr.op, expr.dtype);
}

bool signals_by_flags(const Reduction& reduction) { return signals_by_flags(reduction.op, reduction.dtype); }

}  // namespace suture
