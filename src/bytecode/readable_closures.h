// Cells that transformed code makes for the functions it builds, as variables of its own.
//
//   kept_4 = __cell(0); peek = <function of (kept_4)>; return __resume_at_82_2(kept_4)
//   =>  n = 0; peek = lambda: n; return __resume_at_82_2(n)
//
// The variable has the name by which the inner function knows it. A cell that no function of this code takes is the variable
// it stands for. Where that name is another variable's, which is read as well, nothing changes.
#pragma once

#include <vector>

#include "bytecode/constant.h"
#include "bytecode/instruction.h"

namespace suture {

// `origin`: see InstructionEditor::result.
Function cells_of_closures(const Function& transformed, const std::vector<Constant>& constants,
                           std::vector<int>& origin);

}  // namespace suture
