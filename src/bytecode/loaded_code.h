// The code objects that a code object makes functions and classes of.
#pragma once

#include <vector>

#include "bytecode/code_tree.h"

namespace suture {

// The constants of `code` that are code objects and that an instruction loads, in the order of the constants. A resume
// function has all constants of the function it was cut from, also those of what was left behind. Where the
// instructions cannot be decoded, all of them.
std::vector<CodeTreePtr> loaded_code(const CodeTree& code);

}  // namespace suture
