// Continuations: functions made from the middle of a function.
//
// A resume function takes the live values and goes on at one instruction:
//
//   def __resume_at_<offset>_<n>(stack_0.., live locals..):   # stack values first, bottom to top, then
//   locals by index
//       <push stack_0..>; jump to the instruction; rest of the original code
//
// A loop iteration function runs ONE iteration of a loop and says how it ended, so that the loop itself can
// stay in Python while its body is captured and compiled:
//
//   def __iteration_at_<offset>_<n>(item?, live locals..) -> (exit, locals written or live.. )
//
// Requires: original code without generators/coroutines. Free variables are kept (the closure tuple is reused
// as is). Cell variables of the original become cells of the new function, made from the passed contents.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bytecode/instruction.h"

namespace suture {

struct ResumeFunction {
  Function function;        // assembles to a code object; constants index the ORIGINAL co_consts
  int stack_count = 0;      // leading parameters
  std::vector<int> locals;  // indices into the original local_names, in parameter order
};
// `null_stack[i]` true: stack slot i is CPython's internal NULL, pushed with PUSH_NULL and not a parameter.
Result<ResumeFunction> make_resume_function(const Function& original, int at,
                                            const std::vector<bool>& null_stack,
                                            const std::vector<int>& live_locals, const std::string& name);

struct IterationFunction {
  Function function;
  bool takes_item = false;     // for loops: first parameter is the item that FOR_ITER produced
  std::vector<int> locals_in;  // parameters after the item
  std::vector<int>
      locals_out;  // returned after the exit number; unbound ones are passed through a marker constant
  std::vector<int>
      exits;  // exit number k (k >= 1) leaves at original instruction exits[k-1]; 0 = next iteration
  int return_exit = -1;  // exit number meaning `return value` (value is the last element), or -1
};
struct LoopRegion;
// Error kUnsupported when the loop's shape is not handled (try regions crossing it, generators).
Result<IterationFunction> make_iteration_function(const Function& original, const LoopRegion& loop,
                                                  const std::string& name);

}  // namespace suture
