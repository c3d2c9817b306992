// The transformed code of a frame (capture/output_bytecode.h) and the code of its continuations
// (bytecode/continuation.h) as one wants to read them.
//
// Transformed code:
//   return (__tail_call, __resume_at_88_2, n, y)      =>   return __resume_at_88_2(n, y)
//   the emptying of variables that nothing needs      =>   left out, as are x = x and variables that hold a value for one step
//
// What is left out or rewritten changes neither values nor their order: a tail call is made by whoever called the
// transformed code, and variables are emptied so that objects die when they died in the user's function. Loops over kept
// iterators, blocks that the break cut, cells and displays of constants are written as Python writes them:
// readable_loops.h, readable_blocks.h, readable_cells.h, readable_displays.h.
// Continuations: the emptying of a stack value that was just loaded is left out, and that of variables that came in without a
// value; every other `del` is the user's.
//
// Besides, the code gets the name of the function (code objects have the user's), and free variables and constants
// the order that a compiler gives them, so that text can be compared with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bytecode/code_tree.h"

namespace suture {

struct ReadableOutput {
  CodeTree code;
  std::string qualname;     // as it was: the qualified names of nested functions begin with it
  std::vector<int> origin;  // per instruction of it: index of the instruction that it stands for
};
enum class OutputKind : uint8_t { kTransformed, kContinuation };
Result<ReadableOutput> readable_output(const CodeTree& code, OutputKind kind, const std::string& name);

}  // namespace suture
