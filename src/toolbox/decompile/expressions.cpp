#include "toolbox/decompile/expressions.h"

#include <algorithm>

namespace suture::toolbox {

using namespace syntax;

std::optional<Operator> binary_operator(int number) {
  static constexpr Operator kOperators[] = {
      Operator::Add,  Operator::BitAnd, Operator::FloorDiv, Operator::LShift, Operator::MatMult,
      Operator::Mult, Operator::Mod,    Operator::BitOr,    Operator::Pow,    Operator::RShift,
      Operator::Sub,  Operator::Div,    Operator::BitXor,
  };
  if (number < 0 || number >= static_cast<int>(std::size(kOperators))) return std::nullopt;
  return kOperators[number];
}

std::optional<CompareOperator> compare_operator(int number) {
  static constexpr CompareOperator kOperators[] = {CompareOperator::Lt, CompareOperator::LtE,
                                                   CompareOperator::Eq, CompareOperator::NotEq,
                                                   CompareOperator::Gt, CompareOperator::GtE};
  if (number < 0 || number >= static_cast<int>(std::size(kOperators))) return std::nullopt;
  return kOperators[number];
}

namespace {

Expression* join(SyntaxTree& tree, BoolOperator op, Expression* a, Expression* b) {
  Expressions values;
  for (Expression* side : {a, b}) {
    const BoolOp* same = as<BoolOp>(side);
    if (same && same->op == op && !(same->whole && side == a))
      values.insert(values.end(), same->values.begin(), same->values.end());
    else
      values.push_back(side);
  }
  return tree.make<BoolOp>(op, std::move(values));
}

// a < b and b < c, where both b are one evaluation: a < b < c
Expression* join_comparisons(SyntaxTree& tree, Expression* a, Expression* b) {
  const Compare* first = as<Compare>(a);
  const Compare* second = as<Compare>(b);
  if (!first || !second || first->comparators.back() != second->left) return nullptr;
  std::vector<CompareOperator> ops = first->ops;
  ops.insert(ops.end(), second->ops.begin(), second->ops.end());
  Expressions comparators = first->comparators;
  comparators.insert(comparators.end(), second->comparators.begin(), second->comparators.end());
  return tree.make<Compare>(first->left, std::move(ops), std::move(comparators));
}

bool is_none(const Expression* expression) {
  const syntax::Constant* constant = as<syntax::Constant>(expression);
  return constant && constant->value.is(suture::Constant::Kind::kNone);
}

}  // namespace

Expression* make_and(SyntaxTree& tree, Expression* a, Expression* b) {
  if (Expression* chain = join_comparisons(tree, a, b)) return chain;
  // x and a < b, then b < c of the same b: the comparison at the end goes on
  if (const BoolOp* left = as<BoolOp>(a); left && left->op == BoolOperator::And) {
    if (Expression* chain = join_comparisons(tree, left->values.back(), b)) {
      Expressions values = left->values;
      values.back() = chain;
      return tree.make<BoolOp>(BoolOperator::And, std::move(values));
    }
  }
  if (const BoolOp* right = as<BoolOp>(b); right && right->op == BoolOperator::And) {
    if (Expression* chain = join_comparisons(tree, a, right->values.front())) {
      Expressions values = right->values;
      values.front() = chain;
      return tree.make<BoolOp>(BoolOperator::And, std::move(values));
    }
  }
  return join(tree, BoolOperator::And, a, b);
}

Expression* make_or(SyntaxTree& tree, Expression* a, Expression* b) {
  return join(tree, BoolOperator::Or, a, b);
}

bool add_in_front(BoolOperator op, Expression* a, Expression* b) {
  BoolOp* all = as<BoolOp>(b);
  if (!all || all->op != op || as<BoolOp>(a) || as<Compare>(a)) return false;
  all->values.insert(all->values.begin(), a);
  all->whole = false;
  return true;
}

bool add_comparison(Expression* a, Expression* b) {
  Compare* first = as<Compare>(a);
  const Compare* second = as<Compare>(b);
  if (!first || !second || first->comparators.back() != second->left) return false;
  first->ops.insert(first->ops.end(), second->ops.begin(), second->ops.end());
  first->comparators.insert(first->comparators.end(), second->comparators.begin(), second->comparators.end());
  return true;
}

Expression* make_not(SyntaxTree& tree, Expression* test) {
  if (const UnaryOp* unary = as<UnaryOp>(test); unary && unary->op == UnaryOperator::Not)
    return unary->operand;
  if (const Compare* compare = as<Compare>(test); compare && compare->ops.size() == 1) {
    const CompareOperator op = compare->ops.front();
    if (op == CompareOperator::In || op == CompareOperator::NotIn) return nullptr;
    if (op == CompareOperator::Is || op == CompareOperator::IsNot) {
      if (!is_none(compare->comparators.front())) return nullptr;
      return tree.make<Compare>(compare->left,
                                std::vector<CompareOperator>{
                                    op == CompareOperator::Is ? CompareOperator::IsNot : CompareOperator::Is},
                                compare->comparators);
    }
  }
  return tree.make<UnaryOp>(UnaryOperator::Not, test);
}

namespace {

constexpr int kDeepestTest = 100;

int count_nots(const Expression* test) {
  if (const UnaryOp* unary = as<UnaryOp>(test); unary && unary->op == UnaryOperator::Not)
    return 1 + count_nots(unary->operand);
  const BoolOp* both = as<BoolOp>(test);
  int nots = 0;
  for (const Expression* value : both ? both->values : Expressions{}) nots += count_nots(value);
  return nots;
}

// De Morgan's laws down to the comparisons; null where make_not is.
Expression* opposite(SyntaxTree& tree, Expression* test, int depth) {
  const BoolOp* both = as<BoolOp>(test);
  if (!both || both->whole || depth > kDeepestTest) return both ? nullptr : make_not(tree, test);
  Expressions values;
  for (Expression* value : both->values) {
    Expression* other = opposite(tree, value, depth + 1);
    if (!other) return nullptr;
    values.push_back(other);
  }
  return tree.make<BoolOp>(both->op == BoolOperator::And ? BoolOperator::Or : BoolOperator::And,
                           std::move(values));
}

}  // namespace

Expression* plainest_test(SyntaxTree& tree, Expression* test) {
  const UnaryOp* unary = as<UnaryOp>(test);
  if (!unary || unary->op != UnaryOperator::Not || !as<BoolOp>(unary->operand)) return test;
  Expression* other = opposite(tree, unary->operand, 0);
  return other && count_nots(other) <= count_nots(test) ? other : test;
}

}  // namespace suture::toolbox
