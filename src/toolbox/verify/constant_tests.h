// Tests whose outcome is known because their operands are constants: no program can see them happen.
#pragma once

#include <optional>
#include <vector>

#include "bytecode/constant.h"
#include "bytecode/instruction.h"

namespace suture::toolbox {

// How many operands the test takes; 0: it is none.
int constant_operands(Opcode opcode);
// The truth of a constant; nothing for kinds that are not looked into.
std::optional<bool> truth(const Constant& constant);
// POP_JUMP_IF_TRUE and POP_JUMP_IF_NONE.
std::optional<bool> jump_is_taken(Opcode opcode, const Constant& operand);
// COMPARE_OP, IS_OP, TO_BOOL, UNARY_NOT; `number` as in Node. Nothing when the result is not certain, or
// when it may be an exception.
std::optional<bool> constant_test(Opcode opcode, int number, const std::vector<const Constant*>& operands);

}  // namespace suture::toolbox
