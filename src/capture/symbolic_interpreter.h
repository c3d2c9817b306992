// The symbolic interpreter: runs bytecode over values.
//
// Overview
//   An Activation is one running function: its locals, stack and position. SymbolicInterpreter::step executes
//   one instruction of an activation through the handler that handlers.def names and says how control goes on
//   (Flow). The frame being captured is driven by trace_frame, instruction by instruction; inlined functions
//   run to their end inside one CALL step; generators are activations that are resumed item by item.
// Invariants
//   - A step that fails (Flow::kFailed) may leave half-done state: the caller throws the whole capture away.
//   - Handlers pop, ask operations.h, push; they know bytecode and nothing about NumPy.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "capture/operations.h"

namespace suture {

struct Activation {
  const DecodedCode* decoded = nullptr;
  std::vector<ValueRef> locals;  // null: unbound. Cells and free variables hold CellValues once they are made
  std::vector<ValueRef> stack;
  int ip = 0;
  PyRef globals;
  SourceId globals_source = kNoSource;  // kNoSource: the globals of the captured frame
  std::vector<ValueRef> closure;        // cells for COPY_FREE_VARS
  ValueRef keyword_names;               // KW_NAMES until the CALL
  std::map<int, int> iterations;        // loop header -> back jumps taken since the loop was entered
  bool top = false;                     // the captured frame itself

  const Function& function() const { return decoded->function; }
  const Instruction& instruction() const { return function().instructions[static_cast<size_t>(ip)]; }
};

// How control goes on after one instruction.
struct Flow {
  enum class Kind : uint8_t { kNext, kJump, kReturn, kYield, kFailed } kind = Kind::kNext;
  int target = -1;
  ValueRef value;
  std::variant<Break, Error> failure;

  Flow() = default;
  Flow(Failed failed) : kind(Kind::kFailed), failure(std::move(failed.why)) {}  // NOLINT: implicit on purpose
  Flow(Break reason) : kind(Kind::kFailed), failure(std::move(reason)) {}       // NOLINT: implicit on purpose
  Flow(Error error) : kind(Kind::kFailed), failure(std::move(error)) {}         // NOLINT: implicit on purpose
  static Flow jump(int target) {
    Flow flow;
    flow.kind = Kind::kJump;
    flow.target = target;
    return flow;
  }
  static Flow leave(Kind kind, ValueRef value) {
    Flow flow;
    flow.kind = kind;
    flow.value = std::move(value);
    return flow;
  }
};

class SymbolicInterpreter {
 public:
  SymbolicInterpreter(CaptureState& state, Activation& frame) : state_(state), frame_(frame) {}

  // Executes the instruction at frame.ip and moves ip. kReturn and kYield leave the activation.
  Flow step();
  // Steps until the activation returns, yields or fails.
  Flow run();

 private:
  Flow execute(const Instruction& instruction);
  Captured<Unit> check_limits();
  void show(CaptureObserver& observer) const;  // the instruction at hand, to somebody who watches

  void push(ValueRef value) { frame_.stack.push_back(std::move(value)); }
  ValueRef pop();
  std::vector<ValueRef> pop_many(size_t count);
  ValueRef& peek(int depth) { return frame_.stack[frame_.stack.size() - static_cast<size_t>(depth)]; }
  Flow push_outcome(Outcome outcome);
  std::string name_at(int index) const { return frame_.function().code.names[static_cast<size_t>(index)]; }
  PyView constant_at(int index) const;
  Flow branch(bool jump_if, bool keep, const Instruction& instruction);
  Flow branch_none(bool jump_if_none, const Instruction& instruction);
  Flow back_jump(int target);
  Outcome load_global(const std::string& name);
  Outcome resolved_local(int index);
  Outcome resolve(const ValueRef& value);
  Captured<Unit> resolve_operands(const Instruction& instruction);
  CellValue* cell_at(int index);
  Captured<Unit> complete_super(CallArguments& args);

#define SUTURE_HANDLED(opcode, handler) Flow handler(const Instruction& instruction);
#define SUTURE_HANDLED_AS(opcode, handler)
#define SUTURE_BREAKS(opcode, what)
#define SUTURE_CANNOT_OCCUR(opcode, why)
#include "capture/handlers.def"

  CaptureState& state_;
  Activation& frame_;
};

// Whether capture handles an opcode, for the test that walks the opcode table.
enum class OpcodeSupport : uint8_t { kHandled, kBreaks, kCannotOccur, kUnlisted };
OpcodeSupport opcode_support(Opcode opcode);

// Next value of a generator; null when it returned.
Outcome resume_generator(CaptureState& state, IteratorValue& generator);

}  // namespace suture
