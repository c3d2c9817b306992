// Handlers: jumps, loops, returning, generators.
#include <fmt/format.h>

#include "capture/source_text.h"
#include "capture/symbolic_interpreter.h"

namespace suture {
namespace {

// A break at a jump names the statement as the user wrote it.
Failed at_jump(Failed failed) {
  if (auto* reason = std::get_if<Break>(&failed.why);
      reason && reason->reason == BreakReason::kDataDependentBranch)
    reason->args = {condition_text(reason->where)};
  return failed;
}

}  // namespace

Flow SymbolicInterpreter::nop(const Instruction&) { return Flow(); }

Flow SymbolicInterpreter::back_jump(int target) {
  const int limit = state_.options.limits.max_unroll;
  if (++frame_.iterations[target] <= limit) return Flow::jump(target);
  return state_.make_break(BreakReason::kLoopTooLong,
                           {fmt::format("more than {}", limit), std::to_string(limit)});
}

Flow SymbolicInterpreter::jump_forward(const Instruction& instruction) {
  return Flow::jump(instruction.target);
}
Flow SymbolicInterpreter::jump_backward(const Instruction& instruction) {
  return back_jump(instruction.target);
}

// keep: the value stays on the stack when the jump is taken (JUMP_IF_X_OR_POP).
Flow SymbolicInterpreter::branch(bool jump_if, bool keep, const Instruction& instruction) {
  auto known = truth(state_, peek(1));
  if (!is_value(known)) return at_jump(failure_of(std::move(known)));
  const bool jumps = std::get<bool>(known) == jump_if;
  if (!keep || !jumps) pop();
  const bool backward = instruction.target <= frame_.ip;
  if (jumps) return backward ? back_jump(instruction.target) : Flow::jump(instruction.target);
  if (backward) frame_.iterations.erase(instruction.target);
  return Flow();
}

Flow SymbolicInterpreter::jump_if_false(const Instruction& instruction) {
  return branch(false, false, instruction);
}
Flow SymbolicInterpreter::jump_if_true(const Instruction& instruction) {
  return branch(true, false, instruction);
}
Flow SymbolicInterpreter::jump_if_false_or_pop(const Instruction& instruction) {
  return branch(false, true, instruction);
}
Flow SymbolicInterpreter::jump_if_true_or_pop(const Instruction& instruction) {
  return branch(true, true, instruction);
}

Flow SymbolicInterpreter::branch_none(bool jump_if_none, const Instruction& instruction) {
  SUTURE_CAPTURE(none, is_same(state_, pop(), state_.none()));
  if (none != jump_if_none) return Flow();
  return instruction.target <= frame_.ip ? back_jump(instruction.target) : Flow::jump(instruction.target);
}

Flow SymbolicInterpreter::jump_if_none(const Instruction& instruction) {
  return branch_none(true, instruction);
}
Flow SymbolicInterpreter::jump_if_not_none(const Instruction& instruction) {
  return branch_none(false, instruction);
}

// --- loops -------------------------------------------------------------------------------------------------
Flow SymbolicInterpreter::get_iter(const Instruction& instruction) {
  ValueRef iterable = pop();
  SUTURE_CAPTURE(iterator, make_iterator(state_, iterable));
  // Only a loop that follows at once may put off the call of iter(): then nothing happens in between.
  const bool opaque = static_cast<IteratorValue&>(*iterator).of == IteratorValue::Of::kOpaque;
  const size_t next = static_cast<size_t>(frame_.ip) + 1;
  const bool loops = next < frame_.function().instructions.size() &&
                     frame_.function().instructions[next].opcode == Opcode::FOR_ITER;
  if (opaque && (!loops || instruction.opcode != Opcode::GET_ITER)) return state_.unknown_break(iterable);
  push(std::move(iterator));
  return Flow();
}

Flow SymbolicInterpreter::for_iter(const Instruction& instruction) {
  ValueRef top = peek(1);
  if (top->kind != ValueKind::kIterator)
    return state_.make_break(BreakReason::kDataDependentLoop, {state_.describe(top)});
  auto& iterator = static_cast<IteratorValue&>(*top);
  const int limit = state_.options.limits.max_unroll;
  if (auto left = items_left(state_, iterator); left && *left > limit)
    return state_.make_break(BreakReason::kLoopTooLong, {std::to_string(*left), std::to_string(limit)});
  SUTURE_CAPTURE(item, next_item(state_, iterator));
  if (item) {
    push(std::move(item));
    return Flow();
  }
  frame_.iterations.erase(frame_.ip);
  pop();
  return Flow::jump(instruction.target);
}

// --- leaving -----------------------------------------------------------------------------------------------
Flow SymbolicInterpreter::return_value(const Instruction&) { return Flow::leave(Flow::Kind::kReturn, pop()); }

// The generator object exists already: inline_call made it. Execution goes on behind the POP_TOP that
// follows.
Flow SymbolicInterpreter::return_generator(const Instruction&) {
  push(state_.none());
  return Flow();
}

Flow SymbolicInterpreter::yield_value(const Instruction&) {
  ValueRef value = pop();
  push(state_.none());  // what send() gives
  return Flow::leave(Flow::Kind::kYield, std::move(value));
}

// `yield from`: hands on the items of the iterator below the sent value.
Flow SymbolicInterpreter::send(const Instruction& instruction) {
  ValueRef sent = pop();
  ValueRef top = peek(1);
  if (top->kind != ValueKind::kIterator) return state_.unknown_break(top);
  auto& iterator = static_cast<IteratorValue&>(*top);
  const bool ended_before = iterator.exhausted;
  SUTURE_CAPTURE(item, next_item(state_, iterator));
  if (item) {
    push(std::move(item));
    return Flow();
  }
  peek(1) = iterator.returned && !ended_before ? iterator.returned : state_.none();
  return Flow::jump(instruction.target);
}

Outcome resume_generator(CaptureState& state, IteratorValue& generator) {
  Activation& frame = *generator.frame;
  const UserSpan call_site = state.place();
  state.active.push_back({frame.decoded->code.get(), call_site});
  SymbolicInterpreter interpreter(state, frame);
  Flow flow = interpreter.run();
  if (flow.kind == Flow::Kind::kFailed) {
    Failed failed{std::move(flow.failure)};
    state.active.pop_back();
    return failed;
  }
  state.active.pop_back();
  state.set_place(call_site);
  if (flow.kind == Flow::Kind::kReturn) {
    generator.returned = std::move(flow.value);
    return ValueRef();
  }
  return flow.value;
}

}  // namespace suture
