// Displays of constants as the compiler of Python writes them.
//
//   LOAD_CONST 1; LOAD_CONST 2; BUILD_TUPLE 2                  =>   LOAD_CONST (1, 2)
//   LOAD_CONST 1; LOAD_CONST 2; LOAD_CONST 3; BUILD_LIST 3     =>   BUILD_LIST 0; LOAD_CONST (1, 2, 3); LIST_EXTEND 1
//   the same with BUILD_SET                                    =>   BUILD_SET 0; LOAD_CONST frozenset; SET_UPDATE 1
#pragma once

#include <vector>

#include "bytecode/constant.h"
#include "bytecode/instruction.h"

namespace suture {

// New constants are put behind `constants`; `origin`: see InstructionEditor::result.
Function folded_displays(const Function& function, std::vector<Constant>& constants,
                         std::vector<int>& origin);

}  // namespace suture
