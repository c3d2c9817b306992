// Handlers: raising, and blocks that must be left in order.
#include <fmt/format.h>

#include "capture/source_text.h"
#include "capture/symbolic_interpreter.h"

namespace suture {

// Python raises: traceback, context and handlers are its business.
Flow SymbolicInterpreter::raise_varargs(const Instruction& instruction) {
  const std::string what = instruction.arg == 0 ? "The active exception is raised again"
                                                : state_.describe(peek(instruction.arg)) + " is raised";
  return state_.make_break(BreakReason::kException, {what});
}

// __enter__ and __exit__ are for Python to call: most of what they do is done to be seen by others.
Flow SymbolicInterpreter::before_with(const Instruction&) {
  return state_.make_break(BreakReason::kContextManager,
                           {statement_text(state_.place(), "with " + state_.describe(peek(1)))});
}

}  // namespace suture
