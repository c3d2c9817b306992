// Analyses over decoded bytecode: control flow, stack depth, liveness, loops.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "bytecode/instruction.h"

namespace suture {

std::vector<int> successors(const Function& function, int index);  // normal edges, then the exception edge if any
bool ends_block(Opcode opcode);                                    // return, raise, unconditional jump
// Net stack change of an instruction; jump_taken selects the edge for conditional jumps.
int stack_effect(const Function& function, int index, bool jump_taken);
// Stack depth before each instruction; -1 when unreachable.
Result<std::vector<int>> stack_depths(const Function& function);
// Locals (indices into local_names) that may be read at or after `index` before being written. Cells that inner functions
// may read count as live while they are bound.
std::vector<bool> live_locals_at(const Function& function, int index);

// A natural loop: header (FOR_ITER, or the first instruction of a while body/condition) and its instructions.
struct LoopRegion {
  int header = 0;
  std::vector<bool> contains;      // per instruction
  std::vector<int> exits;          // targets outside the loop, sorted, unique
  bool is_for = false;             // header is FOR_ITER
};
std::optional<LoopRegion> innermost_loop(const Function& function, int index);
std::optional<LoopRegion> outermost_loop(const Function& function, int index);

}  // namespace suture
