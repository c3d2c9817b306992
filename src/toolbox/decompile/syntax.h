// The syntax tree that structuring builds and the printer prints: a mirror of the `ast` module of Python 3.13, with its node
// and field names. What differs:
//   - the base classes are Expression, Statement and Pattern (`ast.expr`, `ast.stmt`, `ast.pattern`);
//   - there is no `ctx`, no position and no `type_comment`: an expression's place in the tree says what it is;
//   - a missing optional field is a null pointer or an empty string, as its comment says;
//   - Comment is a statement (a line of its own that starts with "#"); `ast` has none.
//
// Life cycle: nodes live in the arena of their SyntaxTree and point at each other with plain pointers, so building and
// dropping a tree costs no recursion, and a node may be moved about or used twice (the printer never changes one). A tree
// that takes nodes of another one must keep it alive: SyntaxTree::adopt.
//
//     SyntaxTree tree;
//     auto* sum = tree.make<BinOp>(tree.make<Name>("a"), Operator::Add, tree.make<Name>("b"));
//     tree.body.push_back(tree.make<Return>(sum));
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bytecode/constant.h"

namespace suture::syntax {

// ---- operators
// clang-format off

enum class BoolOperator : uint8_t { And, Or };
enum class Operator : uint8_t {
  Add, Sub, Mult, MatMult, Div, Mod, Pow, LShift, RShift, BitOr, BitXor, BitAnd, FloorDiv,  // as in `ast.operator`
};
enum class UnaryOperator : uint8_t { Invert, Not, UAdd, USub };
enum class CompareOperator : uint8_t { Eq, NotEq, Lt, LtE, Gt, GtE, Is, IsNot, In, NotIn };

// ---- bases

enum class ExpressionKind : uint8_t {
  BoolOp, NamedExpr, BinOp, UnaryOp, Lambda, IfExp, Dict, Set, ListComp, SetComp, DictComp, GeneratorExp, Await, Yield,
  YieldFrom, Compare, Call, FormattedValue, JoinedStr, Constant, Attribute, Subscript, Starred, Name, List, Tuple, Slice,
};
struct Expression {
  ExpressionKind kind;
};

enum class StatementKind : uint8_t {
  FunctionDef, AsyncFunctionDef, ClassDef, Return, Delete, Assign, TypeAlias, AugAssign, AnnAssign, For, AsyncFor, While, If,
  With, AsyncWith, Match, Raise, Try, TryStar, Assert, Import, ImportFrom, Global, Nonlocal, Expr, Pass, Break, Continue,
  Comment,
};
struct Statement {
  StatementKind kind;
};

enum class PatternKind : uint8_t {
  MatchValue, MatchSingleton, MatchSequence, MatchMapping, MatchClass, MatchStar, MatchAs, MatchOr,
};
struct Pattern {
  PatternKind kind;
};

// clang-format on

using Expressions = std::vector<Expression*>;
using Statements = std::vector<Statement*>;
using Patterns = std::vector<Pattern*>;

// ---- parts that are neither expression nor statement

// Annotations that were never evaluated (`from __future__ import annotations`) are a Name whose id is their text.
struct Arg {
  std::string arg;
  Expression* annotation = nullptr;  // or null
};

// `defaults` belong to the last of posonlyargs + args; kw_defaults is parallel to kwonlyargs, null where there is none.
struct Arguments {
  std::vector<Arg> posonlyargs, args;
  Arg vararg;  // no name: there is none
  std::vector<Arg> kwonlyargs;
  Expressions kw_defaults;
  Arg kwarg;  // no name: there is none
  Expressions defaults;
};

struct Keyword {
  std::string arg;  // empty: `**value`
  Expression* value = nullptr;
};

struct Comprehension {
  Expression* target = nullptr;
  Expression* iter = nullptr;
  Expressions ifs;
  bool is_async = false;
};

struct Alias {
  std::string name, asname;  // asname empty: none
};

struct WithItem {
  Expression* context_expr = nullptr;
  Expression* optional_vars = nullptr;  // or null
};

struct ExceptHandler {
  Expression* type = nullptr;  // null: bare `except:`
  std::string name;            // empty: none
  Statements body;
};

struct MatchCase {
  Pattern* pattern = nullptr;
  Expression* guard = nullptr;  // or null
  Statements body;
};

enum class TypeParamKind : uint8_t { TypeVar, ParamSpec, TypeVarTuple };
struct TypeParam {
  TypeParamKind kind = TypeParamKind::TypeVar;
  std::string name;
  Expression* bound = nullptr;          // TypeVar only; or null
  Expression* default_value = nullptr;  // 3.13; or null
};
using TypeParams = std::vector<TypeParam>;

// ---- expressions

// clang-format off
#define SUTURE_EXPRESSION(name) \
  struct name : Expression {    \
    static constexpr ExpressionKind kKind = ExpressionKind::name;

SUTURE_EXPRESSION(BoolOp) BoolOperator op; Expressions values;
  bool whole = false; };  // `(a and b) and c`: stays an operand of its own
SUTURE_EXPRESSION(NamedExpr) Expression* target; Expression* value; };
SUTURE_EXPRESSION(BinOp) Expression* left; Operator op; Expression* right; };
SUTURE_EXPRESSION(UnaryOp) UnaryOperator op; Expression* operand; };
SUTURE_EXPRESSION(Lambda) Arguments args; Expression* body = nullptr; };
SUTURE_EXPRESSION(IfExp) Expression* test; Expression* body; Expression* orelse; };
SUTURE_EXPRESSION(Dict) Expressions keys; Expressions values; };  // key null: `**value`
SUTURE_EXPRESSION(Set) Expressions elts; };                        // empty prints `{*()}`
SUTURE_EXPRESSION(ListComp) Expression* elt; std::vector<Comprehension> generators; };
SUTURE_EXPRESSION(SetComp) Expression* elt; std::vector<Comprehension> generators; };
SUTURE_EXPRESSION(DictComp) Expression* key; Expression* value; std::vector<Comprehension> generators; };
SUTURE_EXPRESSION(GeneratorExp) Expression* elt; std::vector<Comprehension> generators; };
SUTURE_EXPRESSION(Await) Expression* value; };
SUTURE_EXPRESSION(Yield) Expression* value; };  // or null
SUTURE_EXPRESSION(YieldFrom) Expression* value; };
SUTURE_EXPRESSION(Compare) Expression* left; std::vector<CompareOperator> ops; Expressions comparators; };
SUTURE_EXPRESSION(Call) Expression* func; Expressions args; std::vector<Keyword> keywords; };
// conversion: -1 none, else 's', 'r' or 'a'. format_spec: a JoinedStr, or null.
SUTURE_EXPRESSION(FormattedValue) Expression* value; int conversion; Expression* format_spec; };
SUTURE_EXPRESSION(JoinedStr) Expressions values; };  // FormattedValue and Constant (a str)
// Tuples and frozensets, which the compiler folds, print as displays; nan, inf and negative numbers as the shortest expression
// that the compiler folds to the same constant, or evaluates to it where there is none.
SUTURE_EXPRESSION(Constant) suture::Constant value; };
SUTURE_EXPRESSION(Attribute) Expression* value; std::string attr; };
SUTURE_EXPRESSION(Subscript) Expression* value; Expression* slice; };
SUTURE_EXPRESSION(Starred) Expression* value; };
SUTURE_EXPRESSION(Name) std::string id; };
SUTURE_EXPRESSION(List) Expressions elts; };
SUTURE_EXPRESSION(Tuple) Expressions elts; };
SUTURE_EXPRESSION(Slice) Expression* lower; Expression* upper; Expression* step; };  // each or null
#undef SUTURE_EXPRESSION

// ---- statements

#define SUTURE_STATEMENT(name)                                      \
  struct name : Statement {                                         \
    static constexpr StatementKind kKind = StatementKind::name;

SUTURE_STATEMENT(FunctionDef)
  std::string name; Arguments args; Statements body; Expressions decorator_list;
  Expression* returns = nullptr; TypeParams type_params; };
SUTURE_STATEMENT(AsyncFunctionDef)
  std::string name; Arguments args; Statements body; Expressions decorator_list;
  Expression* returns = nullptr; TypeParams type_params; };
SUTURE_STATEMENT(ClassDef)
  std::string name; Expressions bases; std::vector<Keyword> keywords; Statements body; Expressions decorator_list;
  TypeParams type_params; };
SUTURE_STATEMENT(Return) Expression* value; };  // or null
SUTURE_STATEMENT(Delete) Expressions targets; };
SUTURE_STATEMENT(Assign) Expressions targets; Expression* value; };
SUTURE_STATEMENT(TypeAlias) Expression* name; TypeParams type_params; Expression* value; };
SUTURE_STATEMENT(AugAssign) Expression* target; Operator op; Expression* value; };
SUTURE_STATEMENT(AnnAssign) Expression* target; Expression* annotation; Expression* value; bool simple; };  // value or null
SUTURE_STATEMENT(For) Expression* target; Expression* iter; Statements body; Statements orelse; };
SUTURE_STATEMENT(AsyncFor) Expression* target; Expression* iter; Statements body; Statements orelse; };
SUTURE_STATEMENT(While) Expression* test; Statements body; Statements orelse; };
SUTURE_STATEMENT(If) Expression* test; Statements body; Statements orelse; };
SUTURE_STATEMENT(With) std::vector<WithItem> items; Statements body; };
SUTURE_STATEMENT(AsyncWith) std::vector<WithItem> items; Statements body; };
SUTURE_STATEMENT(Match) Expression* subject; std::vector<MatchCase> cases; };
SUTURE_STATEMENT(Raise) Expression* exc; Expression* cause; };  // each or null
SUTURE_STATEMENT(Try) Statements body; std::vector<ExceptHandler> handlers; Statements orelse; Statements finalbody; };
SUTURE_STATEMENT(TryStar) Statements body; std::vector<ExceptHandler> handlers; Statements orelse; Statements finalbody; };
SUTURE_STATEMENT(Assert) Expression* test; Expression* msg; };  // msg or null
SUTURE_STATEMENT(Import) std::vector<Alias> names; };
SUTURE_STATEMENT(ImportFrom) std::string module; std::vector<Alias> names; int level; };
SUTURE_STATEMENT(Global) std::vector<std::string> names; };
SUTURE_STATEMENT(Nonlocal) std::vector<std::string> names; };
SUTURE_STATEMENT(Expr) Expression* value; };
SUTURE_STATEMENT(Pass) };
SUTURE_STATEMENT(Break) };
SUTURE_STATEMENT(Continue) };
SUTURE_STATEMENT(Comment) std::string text; };  // without the "# "; every line of it gets one
#undef SUTURE_STATEMENT

// ---- patterns

#define SUTURE_PATTERN(name)                                    \
  struct name : Pattern {                                       \
    static constexpr PatternKind kKind = PatternKind::name;

SUTURE_PATTERN(MatchValue) Expression* value; };
SUTURE_PATTERN(MatchSingleton) suture::Constant value; };  // None, True, False
SUTURE_PATTERN(MatchSequence) Patterns patterns; };
SUTURE_PATTERN(MatchMapping) Expressions keys; Patterns patterns; std::string rest; };  // rest empty: none
SUTURE_PATTERN(MatchClass)
  Expression* cls; Patterns patterns; std::vector<std::string> kwd_attrs; Patterns kwd_patterns; };
SUTURE_PATTERN(MatchStar) std::string name; };                    // empty: `*_`
SUTURE_PATTERN(MatchAs) Pattern* pattern; std::string name; };    // pattern or null; name empty: `_`
SUTURE_PATTERN(MatchOr) Patterns patterns;
  std::vector<bool> breaks; };  // alternatives that begin a line; empty: none
#undef SUTURE_PATTERN
// clang-format on

// ---- the tree

class SyntaxTree {
 public:
  // What is printed: the statements of a module. The code of a function is one FunctionDef or AsyncFunctionDef, of a class one
  // ClassDef; of a lambda or a generator expression, one Expr statement that holds it.
  Statements body;

  SyntaxTree() = default;
  SyntaxTree(SyntaxTree&&) = default;
  SyntaxTree& operator=(SyntaxTree&&) = default;

  // A node with the given fields in the order of their declaration; fields left out are empty or null.
  template <class Node, class... Fields>
  Node* make(Fields&&... fields) {
    auto owned = std::make_shared<Node>(Node{{Node::kKind}, std::forward<Fields>(fields)...});
    Node* node = owned.get();
    nodes_.push_back(std::move(owned));
    return node;
  }
  // Keeps the nodes of `other` alive as long as this tree; its body is left out.
  void adopt(SyntaxTree&& other) {
    for (auto& node : other.nodes_) nodes_.push_back(std::move(node));
    other.nodes_.clear();
    other.body.clear();
  }

 private:
  std::vector<std::shared_ptr<void>> nodes_;
};

// The node as what it is, or null when it is something else.
template <class Node, class Base>
Node* as(Base* node) {
  return node && node->kind == Node::kKind ? static_cast<Node*>(node) : nullptr;
}
template <class Node, class Base>
const Node* as(const Base* node) {
  return node && node->kind == Node::kKind ? static_cast<const Node*>(node) : nullptr;
}

}  // namespace suture::syntax
