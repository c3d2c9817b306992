// The ends of an iteration function (bytecode/continuation.h) as statements.
//
//   a variable that may have no value, or else its marker   =>  the variable; the marker alone: __unbound
//   the handler by which an exception comes back            =>  except BaseException as exception: return exception, 2, c
//   the tuple of an end inside of that statement            =>  covered by it, as the compiler covers what `return` computes
#pragma once

#include <vector>

#include "bytecode/instruction.h"

namespace suture {

// True for a constant that is no literal: see AddedConstant.
bool is_marker_constant(const CodeView& view, int constant);
// `origin`: see InstructionEditor::result.
Function variables_for_markers(const Function& continuation, std::vector<int>& origin);
// The handlers begin with a store of the exception then; handlers_that_hand_on (readable_blocks.h) writes the rest.
Function ends_with_exceptions(const Function& continuation, std::vector<int>& origin);

}  // namespace suture
