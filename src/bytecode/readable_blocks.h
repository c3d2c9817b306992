// Blocks that one function enters and another leaves, as statements of each.
//
// Transformed code that a break cut inside a block:
//   BEFORE_WITH without its handler                     =>   exit = __enter(manager), or value, exit = __enter_as(manager)
//   a handler that only hands the exception on          =>   except BaseException as exception: return __resume_at_88_2(...)
// Continuations that begin inside a block:
//   a stack value that is the exit of a with statement  =>   with __entered(stack_0): ...
//   a stack value that an except clause takes           =>   try: raise stack_0
//
// __enter(manager) calls manager.__enter__ and returns the bound manager.__exit__, __enter_as(manager) returns the pair
// (value, exit); __entered(exit) is a manager that has been entered already and leaves by calling `exit`. What runs does the
// same by stack values alone; it raises nothing again.
#pragma once

#include <vector>

#include "bytecode/instruction.h"

namespace suture {

// `origin`: see InstructionEditor::result.
Function blocks_left_open(const Function& transformed, std::vector<int>& origin);
// The handlers alone.
Function handlers_that_hand_on(const Function& continuation, std::vector<int>& origin);
Function blocks_entered_elsewhere(const Function& continuation, std::vector<int>& origin);

}  // namespace suture
