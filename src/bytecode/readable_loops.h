// Loops that transformed code keeps in Python, as statements.
//
//   LOAD_FAST iterator; FOR_ITER                    =>   for item in iterator: an iterator is its own iterator
//   GET_ITER; STORE_FAST iterator                   =>   iterator = iter(...)
//   LOAD a; LOAD b; STORE_FAST y; STORE_FAST x      =>   x = a; y = b, where x is no b
#pragma once

#include <vector>

#include "bytecode/instruction.h"

namespace suture {

// `origin`: see InstructionEditor::result.
Function loops_over_variables(const Function& transformed, std::vector<int>& origin);

}  // namespace suture
