// Ends of an iteration that leave statements, as returns inside of them.
//
// The original jumped out of with, for and try statements there (break, continue, return); an iteration function returns
// a tuple instead, which it builds behind what ends these statements. Python has no jump to that place, but a return that
// stands inside builds its value first:
//
//   <call of __exit__>; LOAD_CONST 1; LOAD_FAST y; BUILD_TUPLE; RETURN_VALUE
//   =>  LOAD_CONST 1; LOAD_FAST y; BUILD_TUPLE; SWAP; <call of __exit__>; RETURN_VALUE
//
// The tuple has constants and local variables only, which nothing in between can change.
#pragma once

#include <vector>

#include "bytecode/instruction.h"

namespace suture {

// `origin`: see InstructionEditor::result.
Function returns_inside_statements(const Function& continuation, std::vector<int>& origin);

}  // namespace suture
