// Class patterns of a match statement that the transformed code tests alone, as calls:
//
//   subject; cls; names; MATCH_CLASS 1   =>   __match_class(subject, cls, 1, names)
#pragma once

#include <vector>

#include "bytecode/constant.h"
#include "bytecode/instruction.h"

namespace suture {

// `constants` may get another one. `origin`: see InstructionEditor::result.
Function class_patterns_as_calls(const Function& transformed, std::vector<Constant>& constants,
                                 std::vector<int>& origin);

}  // namespace suture
