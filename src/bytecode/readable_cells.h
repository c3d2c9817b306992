// Cells as the variables that they hold.
//
// Continuations take a cell variable by its contents or as the cell itself, and transformed code hands cells on. A text has
// no word for a cell: a variable that an inner function closes over is a cell from the start (MAKE_CELL), and every other
// one is a plain variable. What is passed is then the contents where it was the cell.
#pragma once

#include <vector>

#include "bytecode/instruction.h"

namespace suture {

// `origin`: see InstructionEditor::result.
Function cells_as_variables(const Function& function, std::vector<int>& origin);

}  // namespace suture
