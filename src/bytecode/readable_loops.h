// Loops that transformed code keeps in Python, as statements.
//
//   LOAD_FAST iterator; FOR_ITER                    =>   for item in iterator: an iterator is its own iterator
//   GET_ITER; STORE_FAST iterator                   =>   iterator = iter(...)
//   LOAD a; LOAD b; STORE_FAST y; STORE_FAST x      =>   x = a; y = b, where x is no b
//   FOR_ITER that no loop comes back to             =>   item = next(iterator, __exhausted); if item is __exhausted: ...
//   a loop in a region with two ways out of it      =>   one way out; behind the region: if exit: ...
#pragma once

#include <vector>

#include "bytecode/instruction.h"

namespace suture {

// `origin`: see InstructionEditor::result.
Function single_steps(const Function& transformed, std::vector<int>& origin);
Function loops_in_regions(const Function& transformed, std::vector<int>& origin);
Function loops_over_variables(const Function& transformed, std::vector<int>& origin);

}  // namespace suture
