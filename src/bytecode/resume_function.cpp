// make_resume_function. See continuation.h.
#include <fmt/format.h>

#include <algorithm>

#include "bytecode/analysis.h"
#include "bytecode/continuation.h"
#include "bytecode/continuation_frame.h"

namespace suture {
namespace {

bool contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Status check_place(const Function& original, int at, size_t stack_count) {
  SUTURE_TRY_VOID(check_continuable(original));
  SUTURE_TRY(depths, stack_depths(original));
  const size_t index = static_cast<size_t>(at);
  if (index >= depths.size() || depths[index] < 0)
    return Error::internal("continuation", "resume point is not reachable");
  if (depths[index] != static_cast<int>(stack_count))
    return Error::internal("continuation",
                           fmt::format("{} stack values for depth {}", stack_count, depths[index]));
  if (handler_depths(original)[index] > 0)
    return Error::unsupported("continuation", "the place is inside an exception handler");
  return ok_status();
}

}  // namespace

Result<ResumeFunction> make_resume_function(const Function& original, int at,
                                            const std::vector<bool>& null_stack,
                                            const std::vector<int>& live_locals, const std::string& name,
                                            const ResumeOptions& options) {
  SUTURE_TRY_VOID(check_place(original, at, null_stack.size()));
  const Instruction& place = original.instructions[static_cast<size_t>(at)];
  std::vector<bool> keep = reachable_from(original, at);
  for (size_t i = 0; i < keep.size(); ++i) {
    if (keep[i] && original.instructions[i].opcode == Opcode::RESUME && original.instructions[i].arg == 0)
      return Error::internal("continuation", "the place is before the start of the function body");
  }
  const bool starts_there = std::find(keep.begin(), keep.end(), true) - keep.begin() == at;
  ContinuationFrame frame(original, name, std::move(keep));
  ResumeFunction out;
  for (bool null : null_stack) {
    if (!null) frame.add_parameter(fmt::format("{}{}", kStackValueName, out.stack_count++));
  }
  for (int local : live_locals) {
    frame.add_local_parameter(local,
                              contains(options.passed_cells, local) || holds_cell_at_entry(original, local));
    out.locals.push_back(local);
  }
  frame.lay_out(place.line > 0 ? place.line : original.code.first_line);
  frame.begin(place, options.maybe_unbound);
  int parameter = 0;
  for (bool null : null_stack) {
    if (null) {
      frame.code().push_null();
      continue;
    }
    frame.code().emit(Opcode::LOAD_FAST, parameter);
    frame.code().emit(Opcode::DELETE_FAST,
                      parameter++);  // no variable of the user's: only the stack holds it
  }
  if (!starts_there) frame.code().jump(Opcode::JUMP_FORWARD, frame.label(at));
  frame.copy_kept([](int) { return -1; }, [](int) { return std::nullopt; }, 0);
  SUTURE_TRY(function, frame.code().finish());
  out.function = std::move(function);
  out.added_constants = frame.take_constants();
  return out;
}

}  // namespace suture
