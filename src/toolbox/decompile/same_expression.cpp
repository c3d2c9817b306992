// Structural equality of expressions: is the test at the end of a loop the copy of the one before it?
#include <algorithm>

#include "toolbox/decompile/expressions.h"

namespace suture::toolbox {

using namespace syntax;

namespace {

bool same_all(const Expressions& a, const Expressions& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expression* x, const Expression* y) { return same_expression(x, y); });
}

bool same_keywords(const std::vector<Keyword>& a, const std::vector<Keyword>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Keyword& x, const Keyword& y) {
    return x.arg == y.arg && same_expression(x.value, y.value);
  });
}

bool same_generators(const std::vector<Comprehension>& a, const std::vector<Comprehension>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Comprehension& x, const Comprehension& y) {
                      return x.is_async == y.is_async && same_expression(x.target, y.target) &&
                             same_expression(x.iter, y.iter) && same_all(x.ifs, y.ifs);
                    });
}

bool same_arguments(const Arguments& a, const Arguments& b) {
  const auto same = [](const std::vector<Arg>& x, const std::vector<Arg>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](const Arg& p, const Arg& q) { return p.arg == q.arg; });
  };
  return same(a.posonlyargs, b.posonlyargs) && same(a.args, b.args) && same(a.kwonlyargs, b.kwonlyargs) &&
         a.vararg.arg == b.vararg.arg && a.kwarg.arg == b.kwarg.arg && same_all(a.defaults, b.defaults) &&
         same_all(a.kw_defaults, b.kw_defaults);
}

template <class Kind>
bool same_comprehension(const Expression* a, const Expression* b) {
  return same_expression(as<Kind>(a)->elt, as<Kind>(b)->elt) &&
         same_generators(as<Kind>(a)->generators, as<Kind>(b)->generators);
}

template <class Kind>
bool same_value(const Expression* a, const Expression* b) {
  return same_expression(as<Kind>(a)->value, as<Kind>(b)->value);
}

template <class Kind>
bool same_elements(const Expression* a, const Expression* b) {
  return same_all(as<Kind>(a)->elts, as<Kind>(b)->elts);
}

bool same_operation(const Expression* a, const Expression* b) {
  switch (a->kind) {
    case ExpressionKind::BoolOp:
      return as<BoolOp>(a)->op == as<BoolOp>(b)->op && same_all(as<BoolOp>(a)->values, as<BoolOp>(b)->values);
    case ExpressionKind::BinOp:
      return as<BinOp>(a)->op == as<BinOp>(b)->op &&
             same_expression(as<BinOp>(a)->left, as<BinOp>(b)->left) &&
             same_expression(as<BinOp>(a)->right, as<BinOp>(b)->right);
    case ExpressionKind::UnaryOp:
      return as<UnaryOp>(a)->op == as<UnaryOp>(b)->op &&
             same_expression(as<UnaryOp>(a)->operand, as<UnaryOp>(b)->operand);
    case ExpressionKind::Compare:
      return as<Compare>(a)->ops == as<Compare>(b)->ops &&
             same_expression(as<Compare>(a)->left, as<Compare>(b)->left) &&
             same_all(as<Compare>(a)->comparators, as<Compare>(b)->comparators);
    case ExpressionKind::IfExp:
      return same_expression(as<IfExp>(a)->test, as<IfExp>(b)->test) &&
             same_expression(as<IfExp>(a)->body, as<IfExp>(b)->body) &&
             same_expression(as<IfExp>(a)->orelse, as<IfExp>(b)->orelse);
    default: return false;
  }
}

bool same_part(const Expression* a, const Expression* b) {
  switch (a->kind) {
    case ExpressionKind::Constant:
      return same_constant(as<syntax::Constant>(a)->value, as<syntax::Constant>(b)->value);
    case ExpressionKind::Name: return as<Name>(a)->id == as<Name>(b)->id;
    case ExpressionKind::Attribute:
      return as<Attribute>(a)->attr == as<Attribute>(b)->attr && same_value<Attribute>(a, b);
    case ExpressionKind::Subscript:
      return same_value<Subscript>(a, b) && same_expression(as<Subscript>(a)->slice, as<Subscript>(b)->slice);
    case ExpressionKind::Slice:
      return same_expression(as<Slice>(a)->lower, as<Slice>(b)->lower) &&
             same_expression(as<Slice>(a)->upper, as<Slice>(b)->upper) &&
             same_expression(as<Slice>(a)->step, as<Slice>(b)->step);
    case ExpressionKind::NamedExpr:
      return same_expression(as<NamedExpr>(a)->target, as<NamedExpr>(b)->target) &&
             same_value<NamedExpr>(a, b);
    case ExpressionKind::Call:
      return same_expression(as<Call>(a)->func, as<Call>(b)->func) &&
             same_all(as<Call>(a)->args, as<Call>(b)->args) &&
             same_keywords(as<Call>(a)->keywords, as<Call>(b)->keywords);
    case ExpressionKind::Lambda:
      return same_arguments(as<Lambda>(a)->args, as<Lambda>(b)->args) &&
             same_expression(as<Lambda>(a)->body, as<Lambda>(b)->body);
    case ExpressionKind::FormattedValue:
      return as<FormattedValue>(a)->conversion == as<FormattedValue>(b)->conversion &&
             same_value<FormattedValue>(a, b) &&
             same_expression(as<FormattedValue>(a)->format_spec, as<FormattedValue>(b)->format_spec);
    default: return same_operation(a, b);
  }
}

}  // namespace

bool same_expression(const Expression* a, const Expression* b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind) return false;
  switch (a->kind) {
    case ExpressionKind::Await: return same_value<Await>(a, b);
    case ExpressionKind::Yield: return same_value<Yield>(a, b);
    case ExpressionKind::YieldFrom: return same_value<YieldFrom>(a, b);
    case ExpressionKind::Starred: return same_value<Starred>(a, b);
    case ExpressionKind::JoinedStr: return same_all(as<JoinedStr>(a)->values, as<JoinedStr>(b)->values);
    case ExpressionKind::Tuple: return same_elements<Tuple>(a, b);
    case ExpressionKind::List: return same_elements<List>(a, b);
    case ExpressionKind::Set: return same_elements<Set>(a, b);
    case ExpressionKind::Dict:
      return same_all(as<Dict>(a)->keys, as<Dict>(b)->keys) &&
             same_all(as<Dict>(a)->values, as<Dict>(b)->values);
    case ExpressionKind::ListComp: return same_comprehension<ListComp>(a, b);
    case ExpressionKind::SetComp: return same_comprehension<SetComp>(a, b);
    case ExpressionKind::GeneratorExp: return same_comprehension<GeneratorExp>(a, b);
    case ExpressionKind::DictComp:
      return same_expression(as<DictComp>(a)->key, as<DictComp>(b)->key) && same_value<DictComp>(a, b) &&
             same_generators(as<DictComp>(a)->generators, as<DictComp>(b)->generators);
    default: return same_part(a, b);
  }
}

}  // namespace suture::toolbox
