// Constants that are no literals: text has `_K[i]` for them, whose recompiled form this turns back into the constant.
#pragma once

#include "toolbox/verify/instruction_graph.h"

namespace suture::toolbox {

// LOAD_GLOBAL _K; LOAD_CONST i; BINARY_SUBSCR becomes LOAD_CONST of placeholder i, and a tuple built of constants of which one is
// a placeholder becomes a constant tuple: the compiler would have made it one. Control comes to none of the later instructions
// from elsewhere. Returns how many placeholders there are.
int fold_placeholders(InstructionGraph& graph);

// Does the code (or what is nested in it) hold placeholders, and have no variable `_K` of its own?
bool has_placeholders(const CodeTree& tree);

}  // namespace suture::toolbox
