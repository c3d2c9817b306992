// Statements and patterns of the printer.
#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "base/escaped_text.h"
#include "toolbox/decompile/syntax_writer.h"

namespace suture::toolbox {

using namespace syntax;  // NOLINT: the printer speaks of nothing else

namespace {

constexpr int kIndent = 4;

std::string_view operator_text(Operator op) {
  constexpr std::string_view kTexts[] = {"+", "-", "*", "@", "/", "%", "**", "<<", ">>", "|", "^", "&", "//"};
  return kTexts[static_cast<size_t>(op)];
}

bool is_definition(const Statement& statement) {
  return statement.kind == StatementKind::FunctionDef || statement.kind == StatementKind::AsyncFunctionDef ||
         statement.kind == StatementKind::ClassDef;
}

// A definition, or comments in front of one.
bool begins_definition(const Statements& body, size_t index) {
  while (index < body.size() && body[index]->kind == StatementKind::Comment) ++index;
  return index < body.size() && is_definition(*body[index]);
}

const syntax::Constant* docstring_of(const Statement& statement) {
  const auto* expr = as<syntax::Expr>(&statement);
  const auto* constant = expr ? as<syntax::Constant>(expr->value) : nullptr;
  return constant && constant->value.is(suture::Constant::Kind::kStr) ? constant : nullptr;
}

}  // namespace

// ---- blocks

void Writer::line(int indent) { owned(std::string(static_cast<size_t>(indent) * kIndent, ' ')); }

// Blank lines in front of statement `index`: PEP 8's two around definitions of a module, one elsewhere.
void Writer::separate(const Statements& body, size_t index, int indent) {
  if (index == 0) return;
  const bool after_comment = body[index - 1]->kind == StatementKind::Comment;
  const bool around_definition =
      is_definition(*body[index - 1]) || (begins_definition(body, index) && !after_comment);
  if (around_definition) {
    text(indent == 0 ? "\n\n" : "\n");
  } else if (indent == 0 && index == 1 && docstring_of(*body[0])) {
    text("\n");
  }
}

void Writer::block(const Task& task) {
  const auto& body = *static_cast<const Statements*>(task.node);
  const auto is_comment = [](const Statement* one) { return one && one->kind == StatementKind::Comment; };
  if (task.index == body.size()) {
    if (!std::ranges::all_of(body, is_comment)) return;
    line(task.indent);
    return text("pass\n");
  }
  const Statement* next = body[task.index];
  if (!next) return fail("a statement is missing in the tree");
  separate(body, task.index, task.indent);
  const auto* docstring = task.documented && task.index == 0 ? docstring_of(*next) : nullptr;
  if (docstring) {
    line(task.indent);
    owned(docstring_literal(docstring->value.text) + "\n");
  } else {
    statement(*next, task.indent);
  }
  Task rest = task;
  ++rest.index;
  tasks_.push_back(rest);
}

void Writer::body(const Statements& body, int indent, bool documented) {
  text(":\n");
  statements(body, indent + 1, documented);
}

void Writer::else_branch(const Statements& orelse, int indent) {
  if (orelse.empty()) return;
  line(indent);
  if (const auto* other = orelse.size() == 1 ? as<If>(orelse.front()) : nullptr) {
    text("el");
    return if_statement(*other, indent);
  }
  text("else");
  body(orelse, indent);
}

void Writer::comment(const std::string& comment, int indent) {
  for (auto part : std::views::split(comment, '\n')) {
    line(indent);
    const std::string_view one(part.begin(), part.end());
    owned(one.empty() ? "#\n" : fmt::format("# {}\n", escaped_line(one)));
  }
}

void Writer::statement(const Statement& statement, int indent) {
  switch (statement.kind) {
    case StatementKind::Comment: return comment(static_cast<const Comment&>(statement).text, indent);
    case StatementKind::FunctionDef:
    case StatementKind::AsyncFunctionDef:
    case StatementKind::ClassDef:
    case StatementKind::For:
    case StatementKind::AsyncFor:
    case StatementKind::While:
    case StatementKind::If:
    case StatementKind::With:
    case StatementKind::AsyncWith:
    case StatementKind::Match:
    case StatementKind::Try:
    case StatementKind::TryStar: return compound_statement(statement, indent);
    default:
      line(indent);
      simple_statement(statement);
      return text("\n");
  }
}

// ---- simple statements

void Writer::name_list(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text(", ");
    name(names[i]);
  }
}

void Writer::aliases(const std::vector<Alias>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text(", ");
    if (names[i].name == "*") {
      text("*");
    } else {
      dotted_name(names[i].name);
    }
    if (names[i].asname.empty()) continue;
    text(" as ");
    name(names[i].asname);
  }
}

void Writer::import_from(const ImportFrom& node) {
  if (node.level < 0 || node.level > 1000) return fail("a relative import goes up too far");
  text("from ");
  owned(std::string(static_cast<size_t>(node.level), '.'));
  if (!node.module.empty()) dotted_name(node.module);
  text(" import ");
  aliases(node.names);
}

void Writer::simple_statement(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::Return: {
      const auto& node = static_cast<const Return&>(statement);
      text("return");
      if (!node.value) return;
      text(" ");
      const bool yields =
          node.value->kind == ExpressionKind::Yield || node.value->kind == ExpressionKind::YieldFrom;
      return expression(node.value, yields ? Precedence::kTest : Precedence::kTuple);
    }
    case StatementKind::Delete:
      text("del ");
      return items(static_cast<const Delete&>(statement).targets, Precedence::kTest);
    case StatementKind::Assign: {
      const auto& node = static_cast<const Assign&>(statement);
      for (const Expression* target : node.targets) {
        expression(target, Precedence::kTuple);
        text(" = ");
      }
      return expression(node.value, Precedence::kTuple);
    }
    case StatementKind::TypeAlias: {
      const auto& node = static_cast<const TypeAlias&>(statement);
      text("type ");
      expression(node.name, Precedence::kTest);
      type_params(node.type_params);
      text(" = ");
      return expression(node.value, Precedence::kTest);
    }
    case StatementKind::AugAssign: {
      const auto& node = static_cast<const AugAssign&>(statement);
      expression(node.target, Precedence::kTest);
      text(" ");
      text(operator_text(node.op));
      text("= ");
      return expression(node.value, Precedence::kTuple);
    }
    case StatementKind::AnnAssign: {
      const auto& node = static_cast<const AnnAssign&>(statement);
      const bool parentheses = !node.simple && node.target && node.target->kind == ExpressionKind::Name;
      if (parentheses) text("(");
      expression(node.target, Precedence::kTest);
      text(parentheses ? "): " : ": ");
      annotation(node.annotation);
      if (!node.value) return;
      text(" = ");
      return expression(node.value, Precedence::kYield);
    }
    case StatementKind::Raise: {
      const auto& node = static_cast<const Raise&>(statement);
      text("raise");
      if (!node.exc) return;
      text(" ");
      expression(node.exc, Precedence::kTest);
      if (!node.cause) return;
      text(" from ");
      return expression(node.cause, Precedence::kTest);
    }
    case StatementKind::Assert: {
      const auto& node = static_cast<const Assert&>(statement);
      text("assert ");
      expression(node.test, Precedence::kTest);
      if (!node.msg) return;
      text(", ");
      return expression(node.msg, Precedence::kTest);
    }
    case StatementKind::Import: text("import "); return aliases(static_cast<const Import&>(statement).names);
    case StatementKind::ImportFrom: return import_from(static_cast<const ImportFrom&>(statement));
    case StatementKind::Global:
      text("global ");
      return name_list(static_cast<const Global&>(statement).names);
    case StatementKind::Nonlocal:
      text("nonlocal ");
      return name_list(static_cast<const Nonlocal&>(statement).names);
    case StatementKind::Expr:
      return expression(static_cast<const syntax::Expr&>(statement).value, Precedence::kTuple);
    case StatementKind::Pass: return text("pass");
    case StatementKind::Break: return text("break");
    case StatementKind::Continue: return text("continue");
    default: return fail("a statement of unknown kind is in the tree");
  }
}

// ---- compound statements

// Tuples and `yield` need parentheses there, `x := y` none.
void Writer::test(const Expression* node) {
  const bool named = node && node->kind == ExpressionKind::NamedExpr;
  expression(node, named ? Precedence::kNamed : Precedence::kTest);
}

void Writer::if_statement(const If& node, int indent) {
  text("if ");
  test(node.test);
  body(node.body, indent);
  tasks_.push_back({.kind = TaskKind::kElse, .indent = indent, .node = &node.orelse});
}

template <class Node>
void Writer::for_statement(const Node& node, std::string_view keyword, int indent) {
  text(keyword);
  expression(node.target, Precedence::kTuple);
  text(" in ");
  expression(node.iter, Precedence::kTuple);
  body(node.body, indent);
  if (node.orelse.empty()) return;
  line(indent);
  text("else");
  body(node.orelse, indent);
}

// A tuple that is the only item needs parentheses of its own: `with (a, b):` has two items.
void Writer::with_item(const WithItem& item, bool only) {
  const bool tuple =
      only && !item.optional_vars && item.context_expr && item.context_expr->kind == ExpressionKind::Tuple;
  if (tuple) text("(");
  expression(item.context_expr, Precedence::kTest);
  if (tuple) text(")");
  if (!item.optional_vars) return;
  text(" as ");
  expression(item.optional_vars, Precedence::kTest);
}

template <class Node>
void Writer::with_statement(const Node& node, std::string_view keyword, int indent) {
  text(keyword);
  for (size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) text(", ");
    with_item(node.items[i], node.items.size() == 1);
  }
  body(node.body, indent);
}

template <class Node>
void Writer::try_statement(const Node& node, std::string_view except, int indent) {
  text("try");
  body(node.body, indent);
  for (const ExceptHandler& handler : node.handlers) {
    line(indent);
    text(except);
    if (handler.type) {
      text(" ");
      expression(handler.type, Precedence::kTest);
    }
    if (!handler.name.empty()) {
      text(" as ");
      name(handler.name);
    }
    body(handler.body, indent);
  }
  if (!node.orelse.empty()) {
    line(indent);
    text("else");
    body(node.orelse, indent);
  }
  if (!node.finalbody.empty()) {
    line(indent);
    text("finally");
    body(node.finalbody, indent);
  }
}

void Writer::decorators(const Expressions& list, int indent) {
  for (const Expression* decorator : list) {
    line(indent);
    text("@");
    expression(decorator, Precedence::kTest);
    text("\n");
  }
}

void Writer::type_params(const TypeParams& params) {
  if (params.empty()) return;
  text("[");
  for (size_t i = 0; i < params.size(); ++i) {
    constexpr std::string_view kStars[] = {"", "**", "*"};  // by TypeParamKind
    if (i > 0) text(", ");
    text(kStars[static_cast<size_t>(params[i].kind)]);
    name(params[i].name);
    if (params[i].bound) {
      text(": ");
      expression(params[i].bound, Precedence::kTest);
    }
    if (params[i].default_value) {
      text(" = ");
      expression(params[i].default_value, Precedence::kTest);
    }
  }
  text("]");
}

template <class Node>
void Writer::function(const Node& node, std::string_view keyword, int indent) {
  decorators(node.decorator_list, indent);
  line(indent);
  text(keyword);
  name(node.name);
  type_params(node.type_params);
  text("(");
  arguments(node.args, true);
  text(")");
  if (node.returns) {
    text(" -> ");
    annotation(node.returns);
  }
  body(node.body, indent, true);
}

void Writer::class_statement(const ClassDef& node, int indent) {
  decorators(node.decorator_list, indent);
  line(indent);
  text("class ");
  name(node.name);
  type_params(node.type_params);
  if (!node.bases.empty() || !node.keywords.empty()) {
    text("(");
    items(node.bases, Precedence::kTest);
    keywords(node.keywords, node.bases.empty());
    text(")");
  }
  body(node.body, indent, true);
}

void Writer::match_statement(const Match& node, int indent) {
  text("match ");
  expression(node.subject, Precedence::kTuple);
  text(":\n");
  for (const MatchCase& one : node.cases) {
    line(indent + 1);
    text("case ");
    pattern(one.pattern, Precedence::kNamed, indent + 1);
    if (one.guard) {
      text(" if ");
      test(one.guard);
    }
    body(one.body, indent + 1);
  }
}

void Writer::compound_statement(const Statement& statement, int indent) {
  switch (statement.kind) {
    case StatementKind::FunctionDef:
      return function(static_cast<const FunctionDef&>(statement), "def ", indent);
    case StatementKind::AsyncFunctionDef:
      return function(static_cast<const AsyncFunctionDef&>(statement), "async def ", indent);
    case StatementKind::ClassDef: return class_statement(static_cast<const ClassDef&>(statement), indent);
    default: break;
  }
  line(indent);
  switch (statement.kind) {
    case StatementKind::For: return for_statement(static_cast<const For&>(statement), "for ", indent);
    case StatementKind::AsyncFor:
      return for_statement(static_cast<const AsyncFor&>(statement), "async for ", indent);
    case StatementKind::While: {
      const auto& node = static_cast<const While&>(statement);
      text("while ");
      test(node.test);
      body(node.body, indent);
      if (node.orelse.empty()) return;
      line(indent);
      text("else");
      return body(node.orelse, indent);
    }
    case StatementKind::If: return if_statement(static_cast<const If&>(statement), indent);
    case StatementKind::With: return with_statement(static_cast<const With&>(statement), "with ", indent);
    case StatementKind::AsyncWith:
      return with_statement(static_cast<const AsyncWith&>(statement), "async with ", indent);
    case StatementKind::Match: return match_statement(static_cast<const Match&>(statement), indent);
    case StatementKind::Try: return try_statement(static_cast<const Try&>(statement), "except", indent);
    case StatementKind::TryStar:
      return try_statement(static_cast<const TryStar&>(statement), "except*", indent);
    default: return fail("a statement of unknown kind is in the tree");
  }
}

// ---- patterns

void Writer::patterns(const Patterns& list, int indent) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (i > 0) text(", ");
    pattern(list[i], Precedence::kTest, indent);
  }
}

void Writer::class_pattern(const MatchClass& node, int indent) {
  if (node.kwd_attrs.size() != node.kwd_patterns.size())
    return fail("a class pattern has names without patterns");
  expression(node.cls, Precedence::kAtom);
  text("(");
  patterns(node.patterns, indent);
  for (size_t i = 0; i < node.kwd_attrs.size(); ++i) {
    if (i > 0 || !node.patterns.empty()) text(", ");
    name(node.kwd_attrs[i]);
    text("=");
    pattern(node.kwd_patterns[i], Precedence::kTest, indent);
  }
  text(")");
}

void Writer::mapping_pattern(const MatchMapping& node, int indent) {
  if (node.keys.size() != node.patterns.size()) return fail("a mapping pattern has keys without patterns");
  text("{");
  for (size_t i = 0; i < node.keys.size(); ++i) {
    if (i > 0) text(", ");
    expression(node.keys[i], Precedence::kArith);
    text(": ");
    pattern(node.patterns[i], Precedence::kTest, indent);
  }
  if (!node.rest.empty()) {
    text(node.keys.empty() ? "**" : ", **");
    name(node.rest);
  }
  text("}");
}

// A store can change places only with stores of its own line: where the source breaks lines shows in the bytecode.
void Writer::or_pattern(const MatchOr& node, Precedence at_least, int indent) {
  const bool broken = std::ranges::find(node.breaks, true) != node.breaks.end();
  const bool parentheses = broken || at_least > Precedence::kBitOr;
  if (parentheses) text("(");
  for (size_t i = 0; i < node.patterns.size(); ++i) {
    const bool new_line = i < node.breaks.size() && node.breaks[i];
    if (i > 0) text(new_line ? " |" : " | ");
    if (new_line) {
      text("\n");
      line(indent + 2);
    }
    pattern(node.patterns[i], Precedence::kBitXor, indent + 1);
  }
  if (parentheses) text(")");
}

void Writer::print_pattern(const Pattern& node, Precedence at_least, int indent) {
  switch (node.kind) {
    case PatternKind::MatchValue:
      return expression(static_cast<const MatchValue&>(node).value, Precedence::kArith);
    case PatternKind::MatchSingleton:
      return constant(static_cast<const MatchSingleton&>(node).value, Precedence::kArith);
    case PatternKind::MatchSequence:
      text("[");
      patterns(static_cast<const MatchSequence&>(node).patterns, indent);
      return text("]");
    case PatternKind::MatchMapping: return mapping_pattern(static_cast<const MatchMapping&>(node), indent);
    case PatternKind::MatchClass: return class_pattern(static_cast<const MatchClass&>(node), indent);
    case PatternKind::MatchStar: {
      const auto& star = static_cast<const MatchStar&>(node);
      text("*");
      return star.name.empty() ? text("_") : name(star.name);
    }
    case PatternKind::MatchAs: {
      const auto& named = static_cast<const MatchAs&>(node);
      if (!named.pattern) return named.name.empty() ? text("_") : name(named.name);
      const bool parentheses = at_least > Precedence::kTest;
      if (parentheses) text("(");
      pattern(named.pattern, Precedence::kBitOr, indent);
      text(" as ");
      name(named.name);
      if (parentheses) text(")");
      return;
    }
    case PatternKind::MatchOr: return or_pattern(static_cast<const MatchOr&>(node), at_least, indent);
  }
}

}  // namespace suture::toolbox
