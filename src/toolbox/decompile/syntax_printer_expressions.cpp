// Expressions of the printer.
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "toolbox/decompile/syntax_writer.h"

namespace suture::toolbox {

using namespace syntax;  // NOLINT: the printer speaks of nothing else

namespace {

using Kind = suture::Constant::Kind;

struct BinaryOperator {
  std::string_view text;
  Precedence precedence;
};

BinaryOperator binary_operator(Operator op) {
  constexpr BinaryOperator kOperators[] = {
      {" + ", Precedence::kArith},  {" - ", Precedence::kArith},  {" * ", Precedence::kTerm},
      {" @ ", Precedence::kTerm},   {" / ", Precedence::kTerm},   {" % ", Precedence::kTerm},
      {" ** ", Precedence::kPower}, {" << ", Precedence::kShift}, {" >> ", Precedence::kShift},
      {" | ", Precedence::kBitOr},  {" ^ ", Precedence::kBitXor}, {" & ", Precedence::kBitAnd},
      {" // ", Precedence::kTerm},
  };
  return kOperators[static_cast<size_t>(op)];
}

std::string_view compare_operator(CompareOperator op) {
  constexpr std::string_view kTexts[] = {" == ", " != ", " < ",      " <= ", " > ",
                                         " >= ", " is ", " is not ", " in ", " not in "};
  return kTexts[static_cast<size_t>(op)];
}

std::string_view unary_operator(UnaryOperator op) {
  constexpr std::string_view kTexts[] = {"~", "not ", "+", "-"};
  return kTexts[static_cast<size_t>(op)];
}

// How strongly a node binds; what is enclosed in brackets is an atom.
Precedence precedence_of(const Expression& expression) {
  switch (expression.kind) {
    case ExpressionKind::NamedExpr: return Precedence::kNamed;
    case ExpressionKind::Yield:
    case ExpressionKind::YieldFrom: return Precedence::kYield;
    case ExpressionKind::IfExp:
    case ExpressionKind::Lambda: return Precedence::kTest;
    case ExpressionKind::BoolOp:
      return static_cast<const BoolOp&>(expression).op == BoolOperator::Or ? Precedence::kOr
                                                                           : Precedence::kAnd;
    case ExpressionKind::UnaryOp:
      return static_cast<const UnaryOp&>(expression).op == UnaryOperator::Not ? Precedence::kNot
                                                                              : Precedence::kFactor;
    case ExpressionKind::Compare: return Precedence::kCompare;
    case ExpressionKind::BinOp: return binary_operator(static_cast<const BinOp&>(expression).op).precedence;
    case ExpressionKind::Await: return Precedence::kAwait;
    default: return Precedence::kAtom;  // tuples and constants look after themselves
  }
}

// Python's repr of a float that is neither infinite nor nan, or the shortest expression that gives it.
std::string float_text(double value) {
  if (std::isnan(value)) {
    // The sign is the one that the subtraction of infinities gives, whose bits are a negative nan on x86.
    return std::signbit(value) ? "1e309 - 1e309" : "-(1e309 - 1e309)";
  }
  if (std::isinf(value)) return value > 0 ? "1e309" : "-1e309";
  return repr(suture::Constant::floating(value));
}

struct NumberText {
  std::string text;
  Precedence precedence;
};

Precedence float_precedence(double value) {
  if (std::isnan(value)) return std::signbit(value) ? Precedence::kArith : Precedence::kFactor;
  return std::signbit(value) ? Precedence::kFactor : Precedence::kAtom;
}

// The parts are added as the compiler's folding adds them: every sum below has been chosen so that no sign of a zero is lost.
NumberText complex_text(double real, double imaginary) {
  const auto magnitude = [](double value) {
    return std::isinf(value) ? "1e309j" : repr(suture::Constant::complex(0, value));
  };
  if (std::isnan(imaginary))
    return {fmt::format("{} + (1e309j - 1e309j)", float_text(real)), Precedence::kArith};
  const bool minus = std::signbit(imaginary);
  const std::string imaginary_text = magnitude(std::abs(imaginary));
  const bool zero = real == 0, minus_zero = zero && std::signbit(real);
  if (zero && !minus_zero && !minus) return {imaginary_text, Precedence::kAtom};
  if (minus_zero && minus) return {"-" + imaginary_text, Precedence::kFactor};
  if (minus_zero)
    return {imaginary == 0 ? "-0.0 - 0j" : "-(0 - " + imaginary_text + ")",
            imaginary == 0 ? Precedence::kArith : Precedence::kFactor};
  if (minus && imaginary == 0) return {"-(" + complex_text(-real, 0).text + ")", Precedence::kFactor};
  const std::string real_text = std::isnan(real) ? "(" + float_text(real) + ")"
                                : zero           ? "0"
                                                 : float_text(real);
  return {fmt::format("{} {} {}", real_text, minus ? '-' : '+', imaginary_text), Precedence::kArith};
}

}  // namespace

// ---- constants

void Writer::constant_items(const suture::Constant& value) {
  const auto& items = *value.items;
  count_items(value);
  if (!failure_.empty()) return;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text(", ");
    constant(items[i], Precedence::kTest);
  }
}

// The nesting of constants is bounded by who read them, so this recursion is.
void Writer::constant(const suture::Constant& value, Precedence at_least) {
  const auto number = [&](NumberText printed) {
    const bool parentheses = printed.precedence < at_least;
    owned(parentheses ? "(" + printed.text + ")" : printed.text);
  };
  switch (value.kind) {
    case Kind::kInt:
    case Kind::kBigInt: {
      std::string digits = repr(value, std::numeric_limits<size_t>::max());
      const bool negative = digits.starts_with('-');
      return number({std::move(digits), negative ? Precedence::kFactor : Precedence::kAtom});
    }
    case Kind::kFloat: return number({float_text(value.real), float_precedence(value.real)});
    case Kind::kComplex: return number(complex_text(value.real, value.imaginary));
    case Kind::kStr: return owned(plain_string(value.text));
    case Kind::kBytes: return owned(plain_bytes(value.text));
    case Kind::kTuple: {
      const bool parentheses = value.items->empty() || at_least > Precedence::kTuple;
      if (parentheses) text("(");
      constant_items(value);
      if (value.items->size() == 1) text(",");
      if (parentheses) text(")");
      return;
    }
    case Kind::kFrozenset:
      text(value.items->empty() ? "{*()" : "{");
      constant_items(value);
      return text("}");
    case Kind::kEllipsis: return text("...");
    case Kind::kCode: return fail("a code object stands where a value should");
    default: return owned(repr(value));
  }
}

// ---- expressions

void Writer::print_expression(const Expression& node, Precedence at_least) {
  switch (node.kind) {
    case ExpressionKind::Constant:
      return constant(static_cast<const syntax::Constant&>(node).value, at_least);
    case ExpressionKind::Tuple: {
      const auto& elts = static_cast<const Tuple&>(node).elts;
      const bool parentheses = elts.empty() || at_least > Precedence::kTuple;
      if (parentheses) text("(");
      tuple(elts);
      if (parentheses) text(")");
      return;
    }
    default: break;
  }
  const bool parentheses = precedence_of(node) < at_least;
  if (parentheses) text("(");
  operation(node);
  if (parentheses) text(")");
}

void Writer::operation(const Expression& expression_node) {
  switch (expression_node.kind) {
    case ExpressionKind::NamedExpr: {
      const auto& node = static_cast<const NamedExpr&>(expression_node);
      expression(node.target, Precedence::kAtom);
      text(" := ");
      return expression(node.value, Precedence::kTest);
    }
    case ExpressionKind::BoolOp: {
      const auto& node = static_cast<const BoolOp&>(expression_node);
      const bool is_or = node.op == BoolOperator::Or;
      for (size_t i = 0; i < node.values.size(); ++i) {
        if (i > 0) text(is_or ? " or " : " and ");
        expression(node.values[i], is_or ? Precedence::kAnd : Precedence::kNot);
      }
      return;
    }
    case ExpressionKind::BinOp: {
      const auto& node = static_cast<const BinOp&>(expression_node);
      const auto [op, precedence] = binary_operator(node.op);
      const bool power = node.op == Operator::Pow;
      expression(node.left, power ? Precedence::kAwait : precedence);
      text(op);
      return expression(node.right, power ? Precedence::kFactor : tighter(precedence));
    }
    case ExpressionKind::UnaryOp: {
      const auto& node = static_cast<const UnaryOp&>(expression_node);
      text(unary_operator(node.op));
      return expression(node.operand, node.op == UnaryOperator::Not ? Precedence::kNot : Precedence::kFactor);
    }
    case ExpressionKind::Compare: {
      const auto& node = static_cast<const Compare&>(expression_node);
      if (node.ops.size() != node.comparators.size())
        return fail("a comparison has operators without operands");
      expression(node.left, Precedence::kBitOr);
      for (size_t i = 0; i < node.ops.size(); ++i) {
        text(compare_operator(node.ops[i]));
        expression(node.comparators[i], Precedence::kBitOr);
      }
      return;
    }
    case ExpressionKind::IfExp: {
      const auto& node = static_cast<const IfExp&>(expression_node);
      expression(node.body, Precedence::kOr);
      text(" if ");
      expression(node.test, Precedence::kOr);
      text(" else ");
      return expression(node.orelse, Precedence::kTest);
    }
    case ExpressionKind::Lambda: return lambda(static_cast<const Lambda&>(expression_node));
    case ExpressionKind::Await:
      text("await ");
      return expression(static_cast<const Await&>(expression_node).value, Precedence::kAtom);
    case ExpressionKind::Yield: {
      const auto& node = static_cast<const Yield&>(expression_node);
      text("yield");
      if (!node.value) return;
      text(" ");
      const bool yields =
          node.value->kind == ExpressionKind::Yield || node.value->kind == ExpressionKind::YieldFrom;
      return expression(node.value, yields ? Precedence::kTest : Precedence::kTuple);
    }
    case ExpressionKind::YieldFrom:
      text("yield from ");
      return expression(static_cast<const YieldFrom&>(expression_node).value, Precedence::kTest);
    default: return primary(expression_node);
  }
}

void Writer::primary(const Expression& expression_node) {
  switch (expression_node.kind) {
    case ExpressionKind::Name: return name(static_cast<const Name&>(expression_node).id);
    case ExpressionKind::Attribute: {
      const auto& node = static_cast<const Attribute&>(expression_node);
      const auto* number = as<syntax::Constant>(node.value);
      expression(node.value, Precedence::kAtom);
      // "1.real" would be a float and a name.
      const bool digits = number && number->value.is(Kind::kInt) && number->value.integer >= 0;
      text(digits || (number && number->value.is(Kind::kBigInt)) ? " ." : ".");
      return name(node.attr);
    }
    case ExpressionKind::Subscript: return subscript(static_cast<const Subscript&>(expression_node));
    case ExpressionKind::Call: return call(static_cast<const Call&>(expression_node));
    case ExpressionKind::Starred:
      text("*");
      return expression(static_cast<const Starred&>(expression_node).value, Precedence::kBitOr);
    case ExpressionKind::Slice: {
      const auto& node = static_cast<const Slice&>(expression_node);
      if (node.lower) expression(node.lower, Precedence::kTest);
      text(":");
      if (node.upper) expression(node.upper, Precedence::kTest);
      if (!node.step) return;
      text(":");
      return expression(node.step, Precedence::kTest);
    }
    case ExpressionKind::JoinedStr: return owned(f_string(static_cast<const JoinedStr&>(expression_node)));
    case ExpressionKind::FormattedValue: {
      // `ast` allows one outside an f-string and means an f-string of it alone.
      JoinedStr alone{{ExpressionKind::JoinedStr}, {const_cast<Expression*>(&expression_node)}};
      return owned(f_string(alone));
    }
    default: return display(expression_node);
  }
}

void Writer::display(const Expression& expression_node) {
  switch (expression_node.kind) {
    case ExpressionKind::List:
      text("[");
      items(static_cast<const List&>(expression_node).elts, Precedence::kTest);
      return text("]");
    case ExpressionKind::Set: {
      const auto& node = static_cast<const syntax::Set&>(expression_node);
      text(node.elts.empty() ? "{*()" : "{");
      items(node.elts, Precedence::kTest);
      return text("}");
    }
    case ExpressionKind::Dict: return dict(static_cast<const Dict&>(expression_node));
    case ExpressionKind::ListComp: {
      const auto& node = static_cast<const ListComp&>(expression_node);
      return comprehension("[", nullptr, node.elt, node.generators, "]");
    }
    case ExpressionKind::SetComp: {
      const auto& node = static_cast<const SetComp&>(expression_node);
      return comprehension("{", nullptr, node.elt, node.generators, "}");
    }
    case ExpressionKind::GeneratorExp: {
      const auto& node = static_cast<const GeneratorExp&>(expression_node);
      return comprehension("(", nullptr, node.elt, node.generators, ")");
    }
    case ExpressionKind::DictComp: {
      const auto& node = static_cast<const DictComp&>(expression_node);
      return comprehension("{", node.key, node.value, node.generators, "}");
    }
    default: return fail("an expression of unknown kind is in the tree");
  }
}

void Writer::items(const Expressions& elts, Precedence at_least) {
  for (size_t i = 0; i < elts.size(); ++i) {
    if (i > 0) text(", ");
    expression(elts[i], at_least);
  }
}

void Writer::tuple(const Expressions& elts) {
  items(elts, Precedence::kTest);
  if (elts.size() == 1) text(",");
}

void Writer::dict(const Dict& node) {
  if (node.keys.size() != node.values.size()) return fail("a dict display has keys without values");
  text("{");
  for (size_t i = 0; i < node.keys.size(); ++i) {
    if (i > 0) text(", ");
    if (node.keys[i]) {
      expression(node.keys[i], Precedence::kTest);
      text(": ");
      expression(node.values[i], Precedence::kTest);
    } else {
      text("**");
      expression(node.values[i], Precedence::kBitOr);
    }
  }
  text("}");
}

void Writer::comprehension(std::string_view open, const Expression* key, const Expression* value,
                           const std::vector<Comprehension>& generators, std::string_view close) {
  text(open);
  if (key) {
    expression(key, Precedence::kTest);
    text(": ");
  }
  expression(value, Precedence::kTest);
  for (const Comprehension& generator : generators) {
    text(generator.is_async ? " async for " : " for ");
    expression(generator.target, Precedence::kTuple);
    text(" in ");
    expression(generator.iter, Precedence::kOr);
    for (const Expression* test : generator.ifs) {
      text(" if ");
      expression(test, Precedence::kOr);
    }
  }
  text(close);
}

void Writer::keywords(const std::vector<Keyword>& keywords, bool first) {
  for (const Keyword& keyword : keywords) {
    if (!first) text(", ");
    first = false;
    if (keyword.arg.empty()) {
      text("**");
    } else {
      name(keyword.arg);
      text("=");
    }
    expression(keyword.value, Precedence::kTest);
  }
}

void Writer::call(const Call& node) {
  expression(node.func, Precedence::kAtom);
  // A generator expression that is the only argument brings its parentheses.
  const bool alone = node.args.size() == 1 && node.keywords.empty() && node.args[0] &&
                     node.args[0]->kind == ExpressionKind::GeneratorExp;
  if (!alone) text("(");
  items(node.args, Precedence::kTest);
  keywords(node.keywords, node.args.empty());
  if (!alone) text(")");
}

void Writer::subscript(const Subscript& node) {
  expression(node.value, Precedence::kAtom);
  text("[");
  expression(node.slice, Precedence::kTuple);
  text("]");
}

// ---- parameters

void Writer::lambda(const Lambda& node) {
  const Arguments& args = node.args;
  const bool any = !args.posonlyargs.empty() || !args.args.empty() || !args.vararg.arg.empty() ||
                   !args.kwonlyargs.empty() || !args.kwarg.arg.empty();
  text(any ? "lambda " : "lambda");
  arguments(args, false);
  text(": ");
  expression(node.body, Precedence::kTest);
}

// A name that is no identifier is the text of an annotation that was never evaluated.
void Writer::annotation(const Expression* annotation) {
  const auto* node = as<Name>(annotation);
  if (!node || is_identifier(node->id)) return expression(annotation, Precedence::kTest);
  if (!looks_like_expression(node->id)) fail("an annotation's text is no expression");
  text(node->id);
}

void Writer::parameter(const Arg& arg, const Expression* fallback, bool annotated, std::string_view stars) {
  text(stars);
  name(arg.arg);
  const bool with_annotation = annotated && arg.annotation;
  if (with_annotation) {
    text(": ");
    annotation(arg.annotation);
  }
  if (!fallback) return;
  text(with_annotation ? " = " : "=");
  expression(fallback, Precedence::kTest);
}

void Writer::arguments(const Arguments& args, bool annotated) {
  bool first = true;
  const auto comma = [&] {
    if (!first) text(", ");
    first = false;
  };
  const size_t positional = args.posonlyargs.size() + args.args.size();
  if (args.defaults.size() > positional) return fail("there are more defaults than parameters");
  const size_t plain = positional - args.defaults.size();
  for (size_t i = 0; i < positional; ++i) {
    const bool only = i < args.posonlyargs.size();
    comma();
    parameter(only ? args.posonlyargs[i] : args.args[i - args.posonlyargs.size()],
              i < plain ? nullptr : args.defaults[i - plain], annotated, "");
    if (only && i + 1 == args.posonlyargs.size()) text(", /");
  }
  if (!args.vararg.arg.empty()) {
    comma();
    parameter(args.vararg, nullptr, annotated, "*");
  } else if (!args.kwonlyargs.empty()) {
    comma();
    text("*");
  }
  for (size_t i = 0; i < args.kwonlyargs.size(); ++i) {
    comma();
    parameter(args.kwonlyargs[i], i < args.kw_defaults.size() ? args.kw_defaults[i] : nullptr, annotated, "");
  }
  if (!args.kwarg.arg.empty()) {
    comma();
    parameter(args.kwarg, nullptr, annotated, "**");
  }
}

}  // namespace suture::toolbox
