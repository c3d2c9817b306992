// A definition as a text that compiles alone: inside a function that has its free variables, inside a class when it uses
// `__class__`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bytecode/code_tree.h"
#include "toolbox/decompile/decompile.h"
#include "toolbox/decompile/syntax.h"

namespace suture::toolbox {

struct Standalone {
  syntax::Statements body;
  std::vector<std::string> path;  // names of code objects that lead from the module's to the definition's
};
// `definition`: the statements of `code` (SyntaxTree::body).
Standalone make_standalone(const CodeTree& code, const syntax::Statements& definition,
                           syntax::SyntaxTree& tree);
// Whether something in the definition declares a free variable of `code` with `nonlocal`: no module can hold it as it is.
bool needs_outer(const CodeTree& code, const syntax::Statements& definition);
// The code object that `path` leads to; null when there is none.
CodeTreePtr find_code(CodeTreePtr module, const std::vector<std::string>& path);

bool is_module_code(const CodeTree& code);
// Functions, classes and modules are definitions; lambdas and comprehensions are parts of expressions.
bool is_definition_code(const CodeTree& code);
// A definition with the header that the code object knows and this body.
syntax::Statement* make_definition(const CodeTree& code, syntax::Statements body, syntax::SyntaxTree& tree);
// Adds defaults and annotations of a function object to its definition.
void add_function_facts(const FunctionFacts& facts, const syntax::Statements& definition,
                        syntax::SyntaxTree& tree);

}  // namespace suture::toolbox
