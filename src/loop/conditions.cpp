#include "loop/conditions.h"

#include "ops/signals.h"

namespace suture {

namespace {

IntegerOverflow overflow_of(const Expr& expr) {
  return expr.checked ? IntegerOverflow::kReported : IntegerOverflow::kWraps;
}

}  // namespace

bool can_signal(const Nest& nest, const Expr& expr) {
  if (expr.kind == Expr::Kind::kCast)
    return expr.checked ||
           cast_can_signal(nest.exprs[static_cast<size_t>(expr.operands[0])].dtype, expr.dtype);
  return expr.kind == Expr::Kind::kOp && can_signal(expr.op, expr.dtype, overflow_of(expr));
}

bool can_signal_for_zeros(const Nest& nest, const Expr& expr) {
  if (expr.kind != Expr::Kind::kOp) return can_signal(nest, expr);
  return can_signal_for_zeros(expr.op, expr.dtype, overflow_of(expr));
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
