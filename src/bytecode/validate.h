// Decoding of bytecode that nobody vouches for: from files, or written by hand.
//
// CPython does not check bytecode; code that is wrong in these ways crashes it. Who reads only checked functions
// may use operands as indices, and stack depths without looking.
#pragma once

#include "base/result.h"
#include "bytecode/code_tree.h"
#include "bytecode/instruction.h"

namespace suture {

inline constexpr int kDeepestStack = 1 << 16;

struct CheckedFunction {
  Function function;
  std::vector<int> depths;  // stack values before each instruction; -1: unreachable
};

// Laws, beyond those of decode_function:
//   - operands that are indices into constants, names or locals are in range; cells are cells;
//   - every instruction that control reaches has one stack depth, and never less than it pops; depths agree
//     with exception handlers, which find at least as many values as they restore;
//   - the stack is at most kDeepestStack values high; COPY and SWAP count from 1;
//   - control does not run off the end;
//   - from 3.12 on, FOR_ITER leads to END_FOR and the mask of COMPARE_OP fits its operator.
// Error kUnsupported names the instruction and the law.
Result<CheckedFunction> decode_checked(const CodeTree& tree);

}  // namespace suture
