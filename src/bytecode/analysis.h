// Analyses over decoded bytecode: control flow, stack depth, liveness, loops.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "bytecode/instruction.h"

namespace suture {

std::vector<int> successors(const Function& function,
                            int index);  // normal edges, then the exception edge if any
bool ends_block(Opcode opcode);          // return, raise, unconditional jump
// Net stack change of an instruction; jump_taken selects the edge for conditional jumps.
int stack_effect(const Function& function, int index, bool jump_taken);
// What instruction `index` pops and pushes (see StackUse).
StackUse stack_use(const Function& function, int index);
// Stack depth before each instruction; -1 when unreachable.
Result<std::vector<int>> stack_depths(const Function& function);
// Largest depth that occurs; `depths` from stack_depths.
int stack_size(const Function& function, const std::vector<int>& depths);
// Active exception handlers (PUSH_EXC_INFO without its POP_EXCEPT) before each instruction; -1 when
// unreachable.
std::vector<int> handler_depths(const Function& function);
// Instructions that control can reach from `start`, exception edges included.
std::vector<bool> reachable_from(const Function& function, int start);

// Locals (indices into local_names) whose value may be used at or after `index`. A plain local is used when
// it is read before it is written. A cell variable is used when any instruction refers to it, because
// functions made earlier may share the cell. Free variables are never reported: they stay in the closure.
std::vector<bool> live_locals_at(const Function& function, int index);
// The same for every instruction at once.
std::vector<std::vector<bool>> live_locals(const Function& function);
// Locals that certainly have a value before each instruction, when those in `bound_at_start` have one before
// instruction `start`; nothing is known (all true) where control does not come from `start`.
std::vector<std::vector<bool>> bound_locals(const Function& function, int start,
                                            const std::vector<bool>& bound_at_start);

// A natural loop: header (FOR_ITER, or the first instruction of a while body/condition) and its instructions.
// CPython 3.11 repeats a while condition at the bottom, so the header of a while loop is normally the first
// instruction of its body. Blocks that never come back to the header (break, return, raise) are outside; they
// begin at exits.
struct LoopRegion {
  int header = 0;
  std::vector<bool> contains;  // per instruction
  std::vector<int> exits;      // targets outside the loop, sorted, unique
  bool is_for = false;         // header is FOR_ITER
};
std::vector<LoopRegion> find_loops(const Function& function);  // all, by header
std::optional<LoopRegion> innermost_loop(const Function& function, int index);
std::optional<LoopRegion> outermost_loop(const Function& function, int index);

}  // namespace suture
