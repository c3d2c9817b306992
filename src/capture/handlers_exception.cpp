// Handlers: raising, and blocks that must be left in order.
#include <fmt/format.h>

#include "capture/symbolic_interpreter.h"

namespace suture {

// Python raises: traceback, context and handlers are its business.
Flow SymbolicInterpreter::raise_varargs(const Instruction& instruction) {
  const std::string what = instruction.arg == 0 ? "The active exception is raised again"
                                                : state_.describe(peek(instruction.arg)) + " is raised";
  return state_.make_break(BreakReason::kException, {what});
}

Flow SymbolicInterpreter::before_with(const Instruction&) {
  return state_.make_break(BreakReason::kBreakInTry, {});
}

}  // namespace suture
