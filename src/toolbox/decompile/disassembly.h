// Tier 4 of the decompiler: the bytecode itself, as comments, with what an analysis can say about it: stack depth before each
// instruction, jump targets, which handler catches what. Total: code that breaks the rules of bytecode is listed as far as it
// can be read, and the rest as bytes.
#pragma once

#include <string>

#include "bytecode/code_tree.h"
#include "toolbox/decompile/syntax.h"

namespace suture::toolbox {

inline constexpr int kListedInstructions = 20'000;  // a listing says how many it leaves out

// Lines of a listing, without the "# " of comments.
std::string annotated_disassembly(const CodeTree& code);
// What stands where the body of `code` should: the reason, the listing, `nested` (definitions of what is nested in it) and a
// statement that raises, so that nobody runs it as if it were the function.
syntax::Statements disassembled_body(const CodeTree& code, const std::string& reason,
                                     syntax::Statements nested, syntax::SyntaxTree& tree);

}  // namespace suture::toolbox
