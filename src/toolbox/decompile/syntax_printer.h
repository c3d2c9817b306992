// Prints a syntax tree as Python source, as `ast.unparse` does, with fewer parentheses and the blank lines of PEP 8: parsed
// again, the text gives the same tree (constants that the compiler folds, like tuples, come back as displays).
//
// Time is linear in the size of the text times the nesting of its f-strings. Depth of the tree costs no stack: the printer
// keeps a list of what is left to print (syntax_writer.h). Only f-strings inside f-strings recurse, up to a limit.
//
// The same text does not do for all versions: up to Python 3.11 an expression inside an f-string can hold neither a backslash
// nor the quotes around it.
#pragma once

#include <string>

#include "base/result.h"
#include "bytecode/code_view.h"
#include "toolbox/decompile/syntax.h"

namespace suture::toolbox {

// From what binds weakest to what binds strongest, as the grammar has it.
enum class Precedence : uint8_t {
  kNamed,  // x := y
  kTuple,  // a, b
  kYield,
  kTest,  // if-else, lambda
  kOr,
  kAnd,
  kNot,
  kCompare,
  kBitOr,
  kBitXor,
  kBitAnd,
  kShift,
  kArith,
  kTerm,
  kFactor,
  kPower,
  kAwait,
  kAtom,
};

// Error kUnsupported: the tree has no text in this version (a name that is no identifier, a quote too many in an f-string).
// Each text ends with a line break.
Result<std::string> print_source(const syntax::SyntaxTree& tree, PythonVersion version);
// `module`: a string that comes first is the docstring.
Result<std::string> print_statements(const syntax::Statements& body, PythonVersion version,
                                     bool module = false);
// In parentheses when it binds weaker than `at_least`; no line break.
Result<std::string> print_expression(const syntax::Expression& expression, PythonVersion version,
                                     Precedence at_least = Precedence::kTest);

}  // namespace suture::toolbox
