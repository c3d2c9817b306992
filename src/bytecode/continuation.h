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
//   def __iteration_at_<offset>_<n>(item?, live locals..) -> (stack values of the exit.., exit, written
//   locals..)
//
// Only reachable instructions are kept; they keep their source positions and their exception regions. Free
// variables are kept too (the closure tuple is reused as is).
//
// Cell variables
//   A parameter that stands for a cell variable holds either its contents (MAKE_CELL in the prologue makes a
//   fresh cell) or the cell itself (no MAKE_CELL; the slot holds the cell from the start). The second form is
//   needed when a function that already exists shares the cell. `holds_cell_at_entry` tells which form a
//   continuation has.
// Unbound locals
//   A local that may have no value travels as the unbound marker (cpython/code_object.h); the prologue of the
//   receiver deletes such a local again, so that reading it raises what the user's code would raise.
//
// Error kUnsupported for generators and coroutines, class bodies, code that looks at its own frame (locals(),
// super() ...), and places inside an exception handler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bytecode/instruction.h"

namespace suture {

// What names of continuations begin with; "_<offset>_<n>" follows.
inline constexpr const char* kResumeName = "__resume_at";
inline constexpr const char* kIterationName = "__iteration_at";
// What the parameters of a resume function begin with that stand for stack values: names no program has written.
inline constexpr const char* kStackValueName = "stack_";

// A constant that a continuation needs beyond the original co_consts. Its co_consts is the original's plus
// these, in order.
struct AddedConstant {
  enum class Kind : uint8_t { kInt, kUnboundMarker } kind = Kind::kInt;
  int64_t number = 0;
};

struct ResumeFunction {
  Function function;        // assembles to a code object
  int stack_count = 0;      // leading parameters
  std::vector<int> locals;  // indices into the original local_names, in parameter order
  std::vector<AddedConstant> added_constants;
};
struct ResumeOptions {
  std::vector<int> passed_cells;   // cell variables among live_locals whose parameter is the cell itself
  std::vector<int> maybe_unbound;  // live_locals whose parameter may be the unbound marker
};
// `null_stack[i]` true: stack slot i is CPython's internal NULL, pushed with PUSH_NULL and not a parameter.
Result<ResumeFunction> make_resume_function(const Function& original, int at,
                                            const std::vector<bool>& null_stack,
                                            const std::vector<int>& live_locals, const std::string& name,
                                            const ResumeOptions& options = {});

struct IterationFunction {
  Function function;
  bool takes_item = false;      // for loops: first parameter is the item that FOR_ITER produced
  std::vector<int> locals_in;   // parameters after the item
  std::vector<int> locals_out;  // returned after the exit number; no cell variables
  std::vector<int>
      exits;  // exit number k (k >= 1) leaves at original instruction exits[k-1]; 0 = next iteration
  std::vector<int>
      exit_stack;  // per exit: stack values above those at the header (a return value, a __exit__)
  int returned_stack =
      0;  // leading elements of the result: the largest of exit_stack; unused ones hold the marker
  // The exit by which an exception comes back that the region around the loop handles, as the only stack
  // value: the handler may want locals that the iteration has written. 0: exceptions leave the function.
  int exception_exit = 0;
  std::vector<int> maybe_unbound_in;   // locals_in that the caller may have to fill with the marker
  std::vector<int> maybe_unbound_out;  // locals_out that may come back as the marker
  std::vector<AddedConstant> added_constants;
};
struct LoopRegion;
// Error kUnsupported when the loop's shape is not handled. The stack at an exit is the stack at the loop
// header (with the iterator of a for loop on top), then the exit's own values.
// `passed_cells`: cell variables whose parameter is the cell itself. All others must not be assigned in the
// loop.
Result<IterationFunction> make_iteration_function(const Function& original, const LoopRegion& loop,
                                                  const std::string& name,
                                                  const std::vector<int>& passed_cells = {});

// True for a cell variable whose slot holds a cell when the function starts (no MAKE_CELL makes one).
bool holds_cell_at_entry(const Function& function, int local);
// Why the rest of this code cannot run in another frame ("calls locals()"), or "".
std::string needs_own_frame(const Function& function);
// The region around a whole loop (its handler is outside), or null.
const ExceptionRegion* region_around(const Function& function, const LoopRegion& loop);

}  // namespace suture
