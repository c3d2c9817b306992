#include "capture/symbolic_interpreter.h"

#include <fmt/format.h>

#include "capture/capture_observer.h"

namespace suture {
namespace {

constexpr int64_t kMostSteps = 200000;  // instructions of one capture, inlined ones included
constexpr int64_t kSignalInterval = 1024;

// What the table says about an opcode that is left to Python.
std::string_view break_text(Opcode opcode) {
  switch (opcode) {
#define SUTURE_HANDLED(opcode, handler)
#define SUTURE_HANDLED_AS(opcode, handler)
#define SUTURE_BREAKS(opcode, what) \
  case Opcode::opcode: return what;
#define SUTURE_CANNOT_OCCUR(opcode, why) \
  case Opcode::opcode: return why;
#include "capture/handlers.def"
    default: return "an instruction without a handler";
  }
}

size_t operations_in(const Graph& graph) {
  size_t count = 0;
  for (const Node& node : graph.nodes) count += info(node.op).kind != OpKind::Input;
  return count;
}

}  // namespace

OpcodeSupport opcode_support(Opcode opcode) {
  switch (opcode) {
#define SUTURE_HANDLED(opcode, handler) \
  case Opcode::opcode: return OpcodeSupport::kHandled;
#define SUTURE_HANDLED_AS(opcode, handler) \
  case Opcode::opcode: return OpcodeSupport::kHandled;
#define SUTURE_BREAKS(opcode, what) \
  case Opcode::opcode: return OpcodeSupport::kBreaks;
#define SUTURE_CANNOT_OCCUR(opcode, why) \
  case Opcode::opcode: return OpcodeSupport::kCannotOccur;
#include "capture/handlers.def"
    default: return OpcodeSupport::kUnlisted;
  }
}

Flow SymbolicInterpreter::execute(const Instruction& instruction) {
  switch (instruction.opcode) {
#define SUTURE_HANDLED(opcode, handler) \
  case Opcode::opcode: return handler(instruction);
#define SUTURE_HANDLED_AS(opcode, handler) \
  case Opcode::opcode: return handler(instruction);
#define SUTURE_BREAKS(opcode, what)
#define SUTURE_CANNOT_OCCUR(opcode, why)
#include "capture/handlers.def"
    default: break;
  }
  return state_.make_break(
      BreakReason::kUnsupportedOpcode,
      {fmt::format("{} ({})", opcode_name(instruction.opcode), break_text(instruction.opcode))});
}

Captured<Unit> SymbolicInterpreter::check_limits() {
  if (++state_.steps > kMostSteps)
    return state_.make_break(BreakReason::kGraphTooLarge, {fmt::format("{} instructions", kMostSteps)});
  if (state_.steps % kSignalInterval == 0 && PyErr_CheckSignals() < 0) return Error::python("capture");
  if (static_cast<int>(state_.graph.nodes.size()) > state_.options.limits.max_nodes)
    return state_.make_break(BreakReason::kGraphTooLarge,
                             {fmt::format("{} nodes", state_.options.limits.max_nodes)});
  return Unit{};
}

void SymbolicInterpreter::show(CaptureObserver& observer) const {
  const int depth = static_cast<int>(state_.active.size());
  if (observer.wants_lines) observer.line(state_.place(), depth);
  if (!observer.wants_instructions) return;
  // Names of stack values, too: the instructions beside them have those.
  const auto shown = [&](const ValueRef& value) {
    return value->source == kNoSource ? state_.describe(value)
                                      : "`" + state_.source_text(value->source) + "`";
  };
  std::vector<std::string> stack;
  for (const ValueRef& value : frame_.stack) stack.push_back(value ? shown(value) : "NULL");
  observer.instruction(state_.place(), depth, frame_.instruction().offset,
                       to_text(frame_.function(), frame_.ip), std::move(stack));
}

Flow SymbolicInterpreter::step() {
  state_.set_place(frame_.function().span_at(frame_.ip));
  if (state_.options.observer) show(*state_.options.observer);
  SUTURE_CAPTURE_VOID(check_limits());
  const bool outer = state_.is_protected;
  const bool guarded = outer || frame_.function().region_at(frame_.ip) != nullptr;
  const size_t before = guarded ? operations_in(state_.graph) : 0;
  state_.is_protected = guarded;
  auto ready = resolve_operands(frame_.instruction());
  Flow flow = is_value(ready) ? execute(frame_.instruction()) : Flow(failure_of(std::move(ready)));
  if (state_.graph.env.overflowed()) flow = Flow(state_.int_too_large());
  state_.is_protected = outer;
  // The graph runs outside the try: an exception of NumPy has to reach its handler another way.
  if (guarded && operations_in(state_.graph) != before) state_.has_protected_operations = true;
  if (flow.kind == Flow::Kind::kJump) {
    frame_.ip = flow.target;
  } else if (flow.kind == Flow::Kind::kNext || flow.kind == Flow::Kind::kYield) {
    ++frame_.ip;
  }
  return flow;
}

Flow SymbolicInterpreter::run() {
  while (true) {
    Flow flow = step();
    if (flow.kind != Flow::Kind::kNext && flow.kind != Flow::Kind::kJump) return flow;
  }
}

ValueRef SymbolicInterpreter::pop() {
  ValueRef value = std::move(frame_.stack.back());
  frame_.stack.pop_back();
  return value;
}

std::vector<ValueRef> SymbolicInterpreter::pop_many(size_t count) {
  std::vector<ValueRef> values(frame_.stack.end() - static_cast<long>(count), frame_.stack.end());
  frame_.stack.resize(frame_.stack.size() - count);
  return values;
}

Flow SymbolicInterpreter::push_outcome(Outcome outcome) {
  SUTURE_CAPTURE(value, std::move(outcome));
  push(std::move(value));
  return Flow();
}

PyView SymbolicInterpreter::constant_at(int index) const {
  return PyTuple_GET_ITEM(frame_.decoded->constants.get(), index);
}

}  // namespace suture
