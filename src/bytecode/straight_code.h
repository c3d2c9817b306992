// What straight code has on its stack.
#pragma once

#include "bytecode/analysis.h"
#include "bytecode/instruction_editor.h"

namespace suture {

// Where straight code begins to push the last `count` values before `end`; -1: that is not in straight code.
inline int first_push(const InstructionEditor& edit, int end, int count) {
  for (int i = end; i > 0 && (i == end || !edit.is_target(i)); --i) {
    const StackUse use = stack_use(edit.old(), i - 1);
    if (edit.at(i - 1).target >= 0 || ends_block(edit.at(i - 1).opcode)) return -1;
    count += use.pops - use.pushes;
    if (count == 0) return i - 1;
  }
  return -1;
}

}  // namespace suture
