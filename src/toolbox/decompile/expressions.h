// Building expressions: operators by their bytecode numbers, and tests in the form the compiler would read back the same.
#pragma once

#include <optional>

#include "toolbox/decompile/syntax.h"

namespace suture::toolbox {

std::optional<syntax::Operator> binary_operator(int number);  // of BINARY_OP without the in-place offset
std::optional<syntax::CompareOperator> compare_operator(int number);

syntax::Expression* make_and(syntax::SyntaxTree& tree, syntax::Expression* a, syntax::Expression* b);
syntax::Expression* make_or(syntax::SyntaxTree& tree, syntax::Expression* a, syntax::Expression* b);
// The same for long chains, which grow one by one, where nothing else refers to the node that is changed: `b`, which becomes
// `a and b` or `a or b`, or `a`, which becomes `a < b < c`. False: only the functions above do it.
bool add_in_front(syntax::BoolOperator op, syntax::Expression* a, syntax::Expression* b);
bool add_comparison(syntax::Expression* a, syntax::Expression* b);
// The opposite test, or null when no expression of it compiles to the same instructions: the compiler turns `not a in b`
// into `a not in b`, which is another instruction.
syntax::Expression* make_not(syntax::SyntaxTree& tree, syntax::Expression* test);
// The test of a statement with the fewest `not`s: `not (a is None or not b)` is `a is not None and b`, with the same jumps.
syntax::Expression* plainest_test(syntax::SyntaxTree& tree, syntax::Expression* test);
bool same_expression(const syntax::Expression* a, const syntax::Expression* b);

}  // namespace suture::toolbox
