// The printer at work: a text that grows, and a stack of what is left to print.
//
// How it works: printing a node appends its parts to the stack in reading order (`text`, `expression`, `statements`, ...); run()
// turns them round, so that the first is the next to come. A part that is text goes straight to the output as long as nothing
// stands before it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "bytecode/code_view.h"
#include "toolbox/decompile/string_literals.h"
#include "toolbox/decompile/syntax.h"
#include "toolbox/decompile/syntax_printer.h"

namespace suture::toolbox {

inline Precedence tighter(Precedence precedence) {
  return precedence == Precedence::kAtom ? precedence
                                         : static_cast<Precedence>(static_cast<int>(precedence) + 1);
}

// Where an expression stands inside f-strings.
struct FStringContext {
  int depth = 0;            // f-strings around it
  bool plain = false;       // no backslash may appear (Python 3.11)
  uint8_t quotes = 0b1111;  // quotes that may be used, by Quote: those around it may not (Python 3.11)
  bool allows(Quote quote) const { return (quotes >> static_cast<int>(quote)) & 1; }
};

// What stands between the quotes of an f-string: literal text, not yet escaped, and source text.
struct FStringPiece {
  std::string text;
  bool literal = false;
  LiteralPart part = LiteralPart::kFString;
};
using FStringPieces = std::vector<FStringPiece>;

class Writer {
 public:
  explicit Writer(PythonVersion version, FStringContext context = {})
      : version_(version), context_(context) {}

  // What to print; then run().
  void text(std::string_view literal);  // must outlive run()
  void owned(std::string text);
  void name(std::string_view identifier);  // one that is no identifier is a failure
  void dotted_name(std::string_view names);
  void expression(const syntax::Expression* expression, Precedence at_least);
  void pattern(const syntax::Pattern* pattern, Precedence at_least, int indent);
  // `documented`: a string that comes first is a docstring.
  void statements(const syntax::Statements& body, int indent, bool documented = false);

  Result<std::string> run();

 private:
  enum class TaskKind : uint8_t { kText, kExpression, kPattern, kBlock, kElse };
  struct Task {
    TaskKind kind;
    Precedence at_least = Precedence::kNamed;
    bool documented = false;
    int indent = 0;
    size_t index = 0;
    const void* node = nullptr;
    std::string_view text;
  };

  void perform(const Task& task);
  void fail(std::string why);
  void count(const void* expression);
  void count_items(const Constant& value);

  // syntax_printer_statements.cpp
  void block(const Task& task);
  void line(int indent);  // begins one
  void separate(const syntax::Statements& body, size_t index, int indent);
  void statement(const syntax::Statement& statement, int indent);
  void simple_statement(const syntax::Statement& statement);
  void compound_statement(const syntax::Statement& statement, int indent);
  void body(const syntax::Statements& body, int indent, bool documented = false);  // ":" and the block
  void else_branch(const syntax::Statements& orelse, int indent);
  void test(const syntax::Expression* node);
  void if_statement(const syntax::If& node, int indent);
  template <class Node>
  void for_statement(const Node& node, std::string_view keyword, int indent);
  template <class Node>
  void with_statement(const Node& node, std::string_view keyword, int indent);
  template <class Node>
  void try_statement(const Node& node, std::string_view except, int indent);
  template <class Node>
  void function(const Node& node, std::string_view keyword, int indent);
  void class_statement(const syntax::ClassDef& node, int indent);
  void match_statement(const syntax::Match& node, int indent);
  void decorators(const syntax::Expressions& list, int indent);
  void type_params(const syntax::TypeParams& params);
  void import_from(const syntax::ImportFrom& node);
  void aliases(const std::vector<syntax::Alias>& names);
  void name_list(const std::vector<std::string>& names);
  void with_item(const syntax::WithItem& item, bool only);
  void comment(const std::string& text, int indent);
  void patterns(const syntax::Patterns& list, int indent);
  void print_pattern(const syntax::Pattern& pattern, Precedence at_least, int indent);
  void class_pattern(const syntax::MatchClass& node, int indent);
  void mapping_pattern(const syntax::MatchMapping& node, int indent);
  void or_pattern(const syntax::MatchOr& node, Precedence at_least, int indent);

  // syntax_printer_expressions.cpp
  void print_expression(const syntax::Expression& expression, Precedence at_least);
  void operation(const syntax::Expression& expression);
  void primary(const syntax::Expression& expression);
  void display(const syntax::Expression& expression);
  void items(const syntax::Expressions& elts, Precedence at_least);
  void tuple(const syntax::Expressions& elts);
  void dict(const syntax::Dict& node);
  void comprehension(std::string_view open, const syntax::Expression* key, const syntax::Expression* value,
                     const std::vector<syntax::Comprehension>& generators, std::string_view close);
  void call(const syntax::Call& node);
  void keywords(const std::vector<syntax::Keyword>& keywords, bool first);
  void subscript(const syntax::Subscript& node);
  void lambda(const syntax::Lambda& node);
  void arguments(const syntax::Arguments& args, bool annotated);
  void annotation(const syntax::Expression* annotation);
  void parameter(const syntax::Arg& arg, const syntax::Expression* fallback, bool annotated,
                 std::string_view stars);
  void constant(const Constant& value, Precedence at_least);
  void constant_items(const Constant& value);

  // syntax_printer_strings.cpp
  std::string plain_string(std::string_view text);
  std::string plain_bytes(const std::string& bytes);
  std::string f_string(const syntax::JoinedStr& node);
  std::string f_string_without_reuse(const syntax::JoinedStr& node);
  void f_string_pieces(const syntax::JoinedStr& node, LiteralPart part, FStringContext inside,
                       FStringPieces& pieces);
  void replacement_field(const syntax::FormattedValue& field, FStringContext inside, FStringPieces& pieces);

  PythonVersion version_;
  FStringContext context_;
  std::string out_;
  std::vector<Task> tasks_;
  size_t mark_ = 0;  // where the parts of the node under way begin
  size_t printed_ = 0;
  size_t printed_items_ = 0, different_items_ = 0;  // of constants
  std::unordered_set<const void*> seen_;            // expressions
  std::deque<std::string> owned_;
  std::string failure_;
};

}  // namespace suture::toolbox
