// Reads a syntax tree from the text that tests/support/write_syntax.py makes of a tree of Python's `ast` module: one word per
// line, nodes by class name followed by their fields in the order of syntax.h.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "toolbox/decompile/syntax.h"

namespace suture::tests {

using namespace suture::syntax;  // NOLINT: reads nothing else

class SyntaxReader {
 public:
  explicit SyntaxReader(std::string_view text) : text_(text) {}

  SyntaxTree read_module() {
    read(tree_.body);
    return std::move(tree_);
  }

 private:
  std::string_view word() {
    const size_t end = text_.find('\n');
    if (end == std::string_view::npos) throw std::runtime_error("the tree ends early");
    const std::string_view found = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return found;
  }
  int64_t number() {
    const std::string_view digits = word();
    int64_t value = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), value).ec != std::errc()) {
      throw std::runtime_error("no number: " + std::string(digits));
    }
    return value;
  }
  double bits() { return std::bit_cast<double>(number()); }

  template <class... Fields>
  void read_all(Fields&... fields) {
    (read(fields), ...);
  }
  template <class T>
  void read(std::vector<T>& list) {
    list.resize(static_cast<size_t>(number()));
    for (T& item : list) read(item);
  }
  void read(std::string& text) {
    const std::string_view hex = word();
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
      text += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    }
  }
  void read(int& value) { value = static_cast<int>(number()); }
  void read(bool& value) { value = number() != 0; }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void read(Enum& value) {
    value = static_cast<Enum>(number());
  }
  void read(Arg& part) { read_all(part.arg, part.annotation); }
  void read(Arguments& part) {
    read_all(part.posonlyargs, part.args, part.vararg, part.kwonlyargs, part.kw_defaults, part.kwarg,
             part.defaults);
  }
  void read(Keyword& part) { read_all(part.arg, part.value); }
  void read(Comprehension& part) { read_all(part.target, part.iter, part.ifs, part.is_async); }
  void read(Alias& part) { read_all(part.name, part.asname); }
  void read(WithItem& part) { read_all(part.context_expr, part.optional_vars); }
  void read(ExceptHandler& part) { read_all(part.type, part.name, part.body); }
  void read(MatchCase& part) { read_all(part.pattern, part.guard, part.body); }
  void read(TypeParam& part) { read_all(part.kind, part.name, part.bound, part.default_value); }

  void read(suture::Constant& value) {
    using C = suture::Constant;
    const std::string_view kind = word();
    std::string text;
    if (kind == "None") value = C::none();
    if (kind == "Ellipsis") value = C::ellipsis();
    if (kind == "bool") value = C::boolean(number() != 0);
    if (kind == "int") value = C::number(number());
    if (kind == "big") {
      read(text);
      value = {.kind = C::Kind::kBigInt, .text = text};
    }
    if (kind == "float") value = C::floating(bits());
    if (kind == "complex") {
      const double real = bits();
      value = C::complex(real, bits());
    }
    if (kind == "str" || kind == "bytes") {
      read(text);
      value = kind == "str" ? C::str(text) : C::bytes(text);
    }
  }

#define SUTURE_READ(type, ...)                       \
  if (kind == #type) {                               \
    auto* node = tree_.make<suture::syntax::type>(); \
    fill(*node);                                     \
    return void(out = node);                         \
  }
#define SUTURE_FIELDS(type, ...) \
  void fill(suture::syntax::type& n) { read_all(__VA_ARGS__); }

  // clang-format off
  SUTURE_FIELDS(BoolOp, n.op, n.values)
  SUTURE_FIELDS(NamedExpr, n.target, n.value)
  SUTURE_FIELDS(BinOp, n.left, n.op, n.right)
  SUTURE_FIELDS(UnaryOp, n.op, n.operand)
  SUTURE_FIELDS(Lambda, n.args, n.body)
  SUTURE_FIELDS(IfExp, n.test, n.body, n.orelse)
  SUTURE_FIELDS(Dict, n.keys, n.values)
  SUTURE_FIELDS(Set, n.elts)
  SUTURE_FIELDS(ListComp, n.elt, n.generators)
  SUTURE_FIELDS(SetComp, n.elt, n.generators)
  SUTURE_FIELDS(DictComp, n.key, n.value, n.generators)
  SUTURE_FIELDS(GeneratorExp, n.elt, n.generators)
  SUTURE_FIELDS(Await, n.value)
  SUTURE_FIELDS(Yield, n.value)
  SUTURE_FIELDS(YieldFrom, n.value)
  SUTURE_FIELDS(Compare, n.left, n.ops, n.comparators)
  SUTURE_FIELDS(Call, n.func, n.args, n.keywords)
  SUTURE_FIELDS(FormattedValue, n.value, n.conversion, n.format_spec)
  SUTURE_FIELDS(JoinedStr, n.values)
  SUTURE_FIELDS(Constant, n.value)
  SUTURE_FIELDS(Attribute, n.value, n.attr)
  SUTURE_FIELDS(Subscript, n.value, n.slice)
  SUTURE_FIELDS(Starred, n.value)
  SUTURE_FIELDS(Name, n.id)
  SUTURE_FIELDS(List, n.elts)
  SUTURE_FIELDS(Tuple, n.elts)
  SUTURE_FIELDS(Slice, n.lower, n.upper, n.step)
  SUTURE_FIELDS(FunctionDef, n.name, n.args, n.body, n.decorator_list, n.returns, n.type_params)
  SUTURE_FIELDS(AsyncFunctionDef, n.name, n.args, n.body, n.decorator_list, n.returns, n.type_params)
  SUTURE_FIELDS(ClassDef, n.name, n.bases, n.keywords, n.body, n.decorator_list, n.type_params)
  SUTURE_FIELDS(Return, n.value)
  SUTURE_FIELDS(Delete, n.targets)
  SUTURE_FIELDS(Assign, n.targets, n.value)
  SUTURE_FIELDS(TypeAlias, n.name, n.type_params, n.value)
  SUTURE_FIELDS(AugAssign, n.target, n.op, n.value)
  SUTURE_FIELDS(AnnAssign, n.target, n.annotation, n.value, n.simple)
  SUTURE_FIELDS(For, n.target, n.iter, n.body, n.orelse)
  SUTURE_FIELDS(AsyncFor, n.target, n.iter, n.body, n.orelse)
  SUTURE_FIELDS(While, n.test, n.body, n.orelse)
  SUTURE_FIELDS(If, n.test, n.body, n.orelse)
  SUTURE_FIELDS(With, n.items, n.body)
  SUTURE_FIELDS(AsyncWith, n.items, n.body)
  SUTURE_FIELDS(Match, n.subject, n.cases)
  SUTURE_FIELDS(Raise, n.exc, n.cause)
  SUTURE_FIELDS(Try, n.body, n.handlers, n.orelse, n.finalbody)
  SUTURE_FIELDS(TryStar, n.body, n.handlers, n.orelse, n.finalbody)
  SUTURE_FIELDS(Assert, n.test, n.msg)
  SUTURE_FIELDS(Import, n.names)
  SUTURE_FIELDS(ImportFrom, n.module, n.names, n.level)
  SUTURE_FIELDS(Global, n.names)
  SUTURE_FIELDS(Nonlocal, n.names)
  SUTURE_FIELDS(Expr, n.value)
  void fill(Pass&) {}
  void fill(Break&) {}
  void fill(Continue&) {}
  SUTURE_FIELDS(MatchValue, n.value)
  SUTURE_FIELDS(MatchSingleton, n.value)
  SUTURE_FIELDS(MatchSequence, n.patterns)
  SUTURE_FIELDS(MatchMapping, n.keys, n.patterns, n.rest)
  SUTURE_FIELDS(MatchClass, n.cls, n.patterns, n.kwd_attrs, n.kwd_patterns)
  SUTURE_FIELDS(MatchStar, n.name)
  SUTURE_FIELDS(MatchAs, n.pattern, n.name)
  SUTURE_FIELDS(MatchOr, n.patterns)

  void read(Expression*& out) {
    const std::string_view kind = word();
    SUTURE_READ(BoolOp) SUTURE_READ(NamedExpr) SUTURE_READ(BinOp) SUTURE_READ(UnaryOp) SUTURE_READ(Lambda) SUTURE_READ(IfExp)
    SUTURE_READ(Dict) SUTURE_READ(Set) SUTURE_READ(ListComp) SUTURE_READ(SetComp) SUTURE_READ(DictComp) SUTURE_READ(GeneratorExp)
    SUTURE_READ(Await) SUTURE_READ(Yield) SUTURE_READ(YieldFrom) SUTURE_READ(Compare) SUTURE_READ(Call)
    SUTURE_READ(FormattedValue) SUTURE_READ(JoinedStr) SUTURE_READ(Constant) SUTURE_READ(Attribute) SUTURE_READ(Subscript)
    SUTURE_READ(Starred) SUTURE_READ(Name) SUTURE_READ(List) SUTURE_READ(Tuple) SUTURE_READ(Slice)
    if (kind != "-") throw std::runtime_error("no expression: " + std::string(kind));
  }
  void read(Statement*& out) {
    const std::string_view kind = word();
    SUTURE_READ(FunctionDef) SUTURE_READ(AsyncFunctionDef) SUTURE_READ(ClassDef) SUTURE_READ(Return) SUTURE_READ(Delete)
    SUTURE_READ(Assign) SUTURE_READ(TypeAlias) SUTURE_READ(AugAssign) SUTURE_READ(AnnAssign) SUTURE_READ(For)
    SUTURE_READ(AsyncFor) SUTURE_READ(While) SUTURE_READ(If) SUTURE_READ(With) SUTURE_READ(AsyncWith) SUTURE_READ(Match)
    SUTURE_READ(Raise) SUTURE_READ(Try) SUTURE_READ(TryStar) SUTURE_READ(Assert) SUTURE_READ(Import) SUTURE_READ(ImportFrom)
    SUTURE_READ(Global) SUTURE_READ(Nonlocal) SUTURE_READ(Expr) SUTURE_READ(Pass) SUTURE_READ(Break) SUTURE_READ(Continue)
    throw std::runtime_error("no statement: " + std::string(kind));
  }
  void read(Pattern*& out) {
    const std::string_view kind = word();
    SUTURE_READ(MatchValue) SUTURE_READ(MatchSingleton) SUTURE_READ(MatchSequence) SUTURE_READ(MatchMapping)
    SUTURE_READ(MatchClass) SUTURE_READ(MatchStar) SUTURE_READ(MatchAs) SUTURE_READ(MatchOr)
    if (kind != "-") throw std::runtime_error("no pattern: " + std::string(kind));
  }
  // clang-format on
#undef SUTURE_READ
#undef SUTURE_FIELDS

  std::string_view text_;
  SyntaxTree tree_;
};

}  // namespace suture::tests
