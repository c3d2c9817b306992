// Constants that are no literals: text has `_K[i]` for them, whose recompiled form this turns back into the constant.
#pragma once

#include "toolbox/verify/instruction_graph.h"

namespace suture::toolbox {

// LOAD_GLOBAL _K; LOAD_CONST i; BINARY_SUBSCR becomes LOAD_CONST of placeholder i, and a tuple built of constants of which one is
// a placeholder becomes a constant tuple: the compiler would have made it one. Control comes to none of the later instructions
// from elsewhere. Returns how many placeholders there are.
int fold_placeholders(InstructionGraph& graph);

bool is_placeholder(const Constant& constant);  // or holds one
// About the code and what is nested in it: has it a variable `_K` of its own; are there placeholders, and no such variable?
bool has_own_table(const CodeTree& tree);
bool has_placeholders(const CodeTree& tree);

}  // namespace suture::toolbox
