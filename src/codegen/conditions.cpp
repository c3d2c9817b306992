#include "codegen/conditions.h"

#include <algorithm>
#include <span>

#include "loop/conditions.h"

namespace suture {
namespace {

bool is_constant(const Nest& nest, ExprId id) {
  const Expr& expr = nest.exprs[id];
  return expr.kind == Expr::Kind::kConstant ||
         (expr.kind == Expr::Kind::kCast && is_constant(nest, expr.operands[0]));
}

// The last store into its buffer: what it writes is what the kernel leaves behind.
bool stays(const Nest& nest, size_t store) {
  for (size_t later = store + 1; later < nest.stores.size(); ++later)
    if (nest.stores[later].access.buffer == nest.stores[store].access.buffer) return false;
  return true;
}

OperandUse use_of(const Expr& expr) {
  if (!is_float(expr.dtype)) return OperandUse::Choice;
  return expr.kind == Expr::Kind::kOp ? info(expr.op).reads : OperandUse::Whole;
}

// The operands of `expr` that must be computed for it.
std::span<const ExprId> read_operands(const Expr& expr) {
  const std::span<const ExprId> all(expr.operands);
  const OperandUse use = use_of(expr);
  return use == OperandUse::Whole ? all : all.first(use == OperandUse::First ? 1 : 0);
}

// Values without which the kernel's results cannot be computed. A user in an inner loop does not count: the loop may be
// empty.
std::vector<bool> surely_needed(const Nest& nest, const NestLevels& levels) {
  std::vector<bool> needed(nest.exprs.size(), false);
  for (size_t i = 0; i < nest.stores.size(); ++i) {
    const ExprId value = nest.stores[i].value;
    const bool same_place =
        levels.late[value] || (levels.store[i] == levels.expr[value] && !nest.stores[i].after_reduction);
    if (stays(nest, i) && same_place) needed[value] = true;
  }
  for (const Reduction& reduction : nest.reductions)
    if (signals_by_flags(reduction) && levels.expr[reduction.value] == nest.extents.size())
      needed[reduction.value] = true;
  for (size_t id = nest.exprs.size(); id-- > 0;) {
    if (!needed[id]) continue;
    for (ExprId operand : read_operands(nest.exprs[id]))
      if (levels.late[operand] == levels.late[id] &&
          (levels.late[id] || levels.expr[operand] == levels.expr[id]))
        needed[operand] = true;
  }
  return needed;
}

// Hides operands and says which values the compiler then knows nothing about. Integers never count: 0 * x is 0, and
// what comes from an integer is known to be no NaN.
void hide_operands(const Nest& nest, std::vector<int>& hidden) {
  std::vector<bool> unknown(nest.exprs.size(), false);
  for (size_t id = 0; id < nest.exprs.size(); ++id) {
    const Expr& expr = nest.exprs[id];
    if (expr.kind == Expr::Kind::kLoad) unknown[id] = is_float(expr.dtype);
    if (expr.operands.empty()) continue;
    bool known = std::none_of(expr.operands.begin(), expr.operands.end(),
                              [&](ExprId operand) { return unknown[operand]; });
    if (known && signals_by_flags(nest, expr)) {
      const auto varying = std::find_if(expr.operands.begin(), expr.operands.end(),
                                        [&](ExprId operand) { return !is_constant(nest, operand); });
      hidden[id] = varying == expr.operands.end() ? 0 : static_cast<int>(varying - expr.operands.begin());
      known = false;
    }
    unknown[id] = !known && use_of(expr) == OperandUse::Whole;
  }
}

}  // namespace

Conditions find_conditions(const Nest& nest, const NestLevels& levels) {
  Conditions conditions;
  conditions.hidden.assign(nest.exprs.size(), -1);
  hide_operands(nest, conditions.hidden);
  const std::vector<bool> needed = surely_needed(nest, levels);
  for (size_t id = 0; id < nest.exprs.size(); ++id)
    conditions.kept.push_back(signals_by_flags(nest, nest.exprs[id]) && !needed[id]);
  for (size_t r = 0; r < nest.reductions.size(); ++r) {
    bool used = !signals_by_flags(nest.reductions[r]);
    for (size_t id = 0; id < nest.exprs.size(); ++id)
      used = used || (needed[id] && nest.exprs[id].kind == Expr::Kind::kReduced &&
                      nest.exprs[id].reduction == static_cast<int>(r));
    conditions.kept_reduction.push_back(!used);
  }
  return conditions;
}

}  // namespace suture
