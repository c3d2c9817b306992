// From a code object back to statements: tier 1 of the decompiler.
//
// How it works (one file per step):
//   lift            version-specific bytecode -> one stack machine for all versions; await, yield from and `async for`,
//                   which the compiler spells as small loops, become single instructions
//   regions         exception table -> tree of try/with regions; compiler-made handlers are dropped, copies of a `finally`
//                   body are proved equal to the one in the handler and cut out
//   blocks          flow graph; every region gets a block where control enters it, with an edge to its handler
//   evaluate_*      symbolic execution of the stack, block by block: expressions, statements, ends of blocks
//   conditions      tests that lead to the same places become `and`, `or`, conditional expressions, chained comparisons
//   comprehensions  loops that fill a display become comprehensions
//   structure_*     what is left becomes if, while, for, try, with, match
// The compiler is known, so each step inverts what it does. None of them proves its result: the caller recompiles
// the text and compares. What no step understands is an error with its place, never a guess.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bytecode/code_tree.h"
#include "toolbox/decompile/syntax.h"

namespace suture::toolbox {

struct FailedCode {
  const CodeTree* code = nullptr;
  std::string reason;  // one sentence with the place
};

struct StructureOptions {
  // The body to print instead of structuring this code (a lower tier); nullopt: structure it.
  std::function<std::optional<syntax::Statements>(const CodeTree&, syntax::SyntaxTree&)> replacement;
  // When set, the body of a function or class that cannot be structured becomes `...` and is listed here; lambdas and
  // comprehensions fail together with the code around them. When null, such a failure fails the whole.
  std::vector<FailedCode>* failed = nullptr;
};

// The whole tree of nested code objects: a module's statements, or one definition (see SyntaxTree::body). What only the
// function object knows (defaults and annotations of the outermost function) is left out.
Result<syntax::SyntaxTree> structure(const CodeTree& code, const StructureOptions& options = {});

// Code that stands for a part of the definition around it, as one statement.
// `<generic parameters of NAME>`, called with `arguments`: the definition of a function or class, or a type alias.
Result<syntax::SyntaxTree> structure_generic(const CodeTree& code, const syntax::Expressions& arguments,
                                             const StructureOptions& options);
// What is evaluated late, as the value of a type alias: the expression.
Result<syntax::SyntaxTree> structure_late(const CodeTree& code, const StructureOptions& options);

}  // namespace suture::toolbox
