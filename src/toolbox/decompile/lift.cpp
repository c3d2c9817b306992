// lift: bytecode of one version -> lifted code.
//
// A table says which opcode becomes which instruction; what splits, merges or is spelled differently between versions has
// code of its own. Indices change, so jumps and handlers are renumbered at the end, and only then the loops around SEND are
// folded: their shape is a few instructions that always stand together.
#include "toolbox/decompile/lift.h"

#include <fmt/format.h>

#include <optional>

#include "bytecode/instruction.h"

namespace suture::toolbox {
namespace {

constexpr const char* kOpNames[] = {
#define SUTURE_LIFTED_OP(name) #name,
#include "toolbox/decompile/lifted_ops.def"
};

std::optional<Op> plain_op(Opcode opcode) {
  switch (opcode) {
#define SUTURE_LIFTED_OPCODE(opcode, op) \
  case Opcode::opcode: return Op::op;
#include "toolbox/decompile/lifted_opcodes.def"
    default: return std::nullopt;
  }
}

class Lifter {
 public:
  explicit Lifter(const CodeTree& tree) : tree_(tree), minor_(tree.view.version.minor) { code_.tree = &tree; }

  Result<LiftedCode> run() {
    SUTURE_TRY(function, decode_function(tree_.view));
    for (const Instruction& instruction : function.instructions) {
      start_of_.push_back(code_.size());
      SUTURE_TRY_VOID(lift_one(instruction));
    }
    start_of_.push_back(code_.size());
    if (code_.size() == 0) return Error::unsupported("decompile", "the code is empty");
    link(function);
    SUTURE_TRY_VOID(fold_sends());
    drop_generator_start();
    drop_truth_tests();
    return std::move(code_);
  }

 private:
  LiftedInstruction& add(const Instruction& from, Op op, int arg = 0) {
    code_.instructions.push_back({.op = op,
                                  .arg = arg,
                                  .target = from.target,
                                  .offset = from.offset,
                                  .line = from.line,
                                  .column = from.column,
                                  .end_line = from.end_line,
                                  .end_column = from.end_column});
    return code_.instructions.back();
  }

  Status lift_one(const Instruction& instruction) {
    if (lift_jump(instruction) || lift_pair(instruction) || lift_flagged(instruction)) return ok_status();
    const auto op = plain_op(instruction.opcode);
    if (!op)
      return Error::unsupported("decompile",
                                fmt::format("offset {}: the compiler emits no {}", instruction.offset,
                                            opcode_name(instruction.opcode)));
    LiftedInstruction& lifted = add(instruction, *op, instruction.arg);
    if (lifted.op == Op::Yield) lifted.arg = 0;  // 3.12: how many handlers are around it
    if (lifted.op == Op::Call) lifted.constant = std::exchange(keyword_names_, -1);
    return ok_status();
  }

  bool add_jump(const Instruction& instruction, Op op, JumpTest test) {
    add(instruction, op).flag = static_cast<int>(test);
    return true;
  }

  bool lift_jump(const Instruction& instruction) {
    switch (instruction.opcode) {
      case Opcode::JUMP_FORWARD:
      case Opcode::JUMP_BACKWARD:
      case Opcode::JUMP_BACKWARD_NO_INTERRUPT: add(instruction, Op::Jump); return true;
      case Opcode::JUMP_IF_TRUE_OR_POP: return add_jump(instruction, Op::JumpIfOrPop, JumpTest::kTrue);
      case Opcode::JUMP_IF_FALSE_OR_POP: return add_jump(instruction, Op::JumpIfOrPop, JumpTest::kFalse);
      default: break;
    }
    switch (branch_test(instruction.opcode)) {
      case BranchTest::kTrue: return add_jump(instruction, Op::JumpIf, JumpTest::kTrue);
      case BranchTest::kFalse: return add_jump(instruction, Op::JumpIf, JumpTest::kFalse);
      case BranchTest::kNone: return add_jump(instruction, Op::JumpIf, JumpTest::kNone);
      case BranchTest::kNotNone: return add_jump(instruction, Op::JumpIf, JumpTest::kNotNone);
      case BranchTest::kNoBranch: return false;
    }
    return false;
  }

  bool lift_pair(const Instruction& instruction) {
    const int high = instruction.arg >> 4, low = instruction.arg & 15;
    switch (instruction.opcode) {
      case Opcode::LOAD_FAST_LOAD_FAST:
        add(instruction, Op::LoadFast, high);
        add(instruction, Op::LoadFast, low);
        return true;
      case Opcode::STORE_FAST_LOAD_FAST:
        add(instruction, Op::StoreFast, high);
        add(instruction, Op::LoadFast, low);
        return true;
      case Opcode::STORE_FAST_STORE_FAST:
        add(instruction, Op::StoreFast, high);
        add(instruction, Op::StoreFast, low);
        return true;
      case Opcode::RETURN_CONST:
        add(instruction, Op::LoadConst, instruction.arg);
        add(instruction, Op::Return);
        return true;
      default: return false;
    }
  }

  bool lift_flagged(const Instruction& instruction) {
    const PythonVersion version = tree_.view.version;
    const int arg = instruction.arg, name = name_index(version, instruction);
    switch (instruction.opcode) {
      case Opcode::LOAD_GLOBAL: add(instruction, Op::LoadGlobal, name).flag = arg & 1; return true;
      case Opcode::LOAD_METHOD: add(instruction, Op::LoadAttr, name).flag = 1; return true;
      case Opcode::LOAD_ATTR:
        add(instruction, Op::LoadAttr, name).flag = minor_ >= 12 ? arg & 1 : 0;
        return true;
      case Opcode::LOAD_SUPER_ATTR: add(instruction, Op::LoadSuperAttr, name).flag = arg & 3; return true;
      case Opcode::COMPARE_OP:
        add(instruction, Op::Compare, comparison(version, arg).operator_index);
        return true;
      case Opcode::KW_NAMES:
        keyword_names_ = arg;
        add(instruction, Op::Nop);
        return true;
      case Opcode::RETURN_GENERATOR:
        add(instruction, Op::Nop);
        returns_generator_ = code_.size();
        return true;
      default: return false;
    }
  }

  void link(const Function& function) {
    const int count = code_.size();
    for (int i = 0; i < count; ++i) {
      LiftedInstruction& it = code_.at(i);
      const bool ends =
          it.op == Op::Return || it.op == Op::Raise || it.op == Op::Reraise || it.op == Op::Jump;
      it.next = ends || i + 1 >= count ? -1 : i + 1;
      if (it.target >= 0) it.target = start_of_[static_cast<size_t>(it.target)];
      if (it.op == Op::Jump) it.next = std::exchange(it.target, -1);
      if (it.op == Op::ForIter) it.target = behind_end_for(it.target);
    }
    for (const ExceptionRegion& region : function.exception_regions)
      for (int i = start_of_[static_cast<size_t>(region.begin)];
           i < start_of_[static_cast<size_t>(region.end)]; ++i) {
        code_.at(i).handler = start_of_[static_cast<size_t>(region.target)];
        code_.at(i).handler_depth = region.depth;
        code_.at(i).handler_lasti = region.push_last_instruction;
      }
    cover_conditional_jumps();
  }

  // The compiler of 3.13 forgets the handler of a conditional jump that it splits in two because it leads backwards. A jump
  // raises nothing; it belongs where its test was computed.
  void cover_conditional_jumps() {
    for (int i = 1; i < code_.size() && minor_ >= 13; ++i) {
      LiftedInstruction& it = code_.at(i);
      if (it.op != Op::JumpIf || it.handler >= 0 || code_.at(i - 1).next != i) continue;
      const LiftedInstruction& before = code_.at(i - 1);
      it.handler = before.handler;
      it.handler_depth = before.handler_depth;
      it.handler_lasti = before.handler_lasti;
    }
  }

  // An exhausted FOR_ITER goes behind the END_FOR (and its POP_TOP, 3.13) that drops the iterator.
  int behind_end_for(int target) const {
    if (code_.at(target).op != Op::EndFor) return target;
    return std::min(target + (minor_ >= 13 ? 2 : 1), code_.size() - 1);
  }

  bool is_none(int index) const {
    const LiftedInstruction& it = code_.at(index);
    const Constant* constant = it.op == Op::LoadConst ? tree_.constant(it.arg) : nullptr;
    return constant && constant->is(Constant::Kind::kNone);
  }

  // GET_AWAITABLE | GET_YIELD_FROM_ITER | GET_ANEXT; LOAD_CONST None; SEND end; YIELD_VALUE ...; end: [END_SEND]
  Status fold_sends() {
    for (int i = 0; i < code_.size(); ++i) {
      LiftedInstruction& send = code_.at(i);
      if (send.op != Op::Send) continue;
      if (i < 2 || !is_none(i - 1) || send.target < 0)
        return Error::unsupported(
            "decompile", fmt::format("offset {}: a SEND that the compiler emits nowhere", send.offset));
      LiftedInstruction& head = code_.at(i - 2);
      int end = send.target;
      if (code_.at(end).op == Op::EndSend) end = code_.at(end).next;
      if (end < 0) return Error::unsupported("decompile", "the code ends behind a SEND");
      if (head.op == Op::GetAwaitable) {
        send.op = Op::Await;
      } else if (head.op == Op::GetAnext) {
        SUTURE_TRY_VOID(fold_async_for(i));
      } else {
        // GET_YIELD_FROM_ITER is missing where the compiler knows that it awaits a coroutine of its own.
        send.op = Op::YieldFrom;
      }
      if (head.op == Op::GetAwaitable || head.op == Op::GetAnext || head.op == Op::GetYieldFromIter)
        head.op = Op::Nop;
      code_.at(i - 1).op = Op::Nop;
      send.next = end;
      if (send.op != Op::AsyncForIter) send.target = -1;
    }
    return ok_status();
  }

  Status fold_async_for(int send_index) {
    LiftedInstruction& send = code_.at(send_index);
    const int handler = send.handler;
    if (handler < 0 || (code_.at(handler).op != Op::EndAsyncFor && code_.at(handler).op != Op::Nop))
      return Error::unsupported("decompile",
                                fmt::format("offset {}: an asynchronous loop without its end", send.offset));
    send.op = Op::AsyncForIter;
    send.target = handler;
    LiftedInstruction& end = code_.at(handler);
    end.op = Op::Nop;
    for (int i = 0; i < code_.size(); ++i) {
      if (code_.at(i).handler != handler) continue;
      code_.at(i).handler = end.handler;
      code_.at(i).handler_depth = end.handler_depth;
      code_.at(i).handler_lasti = end.handler_lasti;
    }
    return ok_status();
  }

  // TO_BOOL belongs to the jump or `not` behind it; elsewhere it is what the optimizer leaves of `not not`.
  void drop_truth_tests() {
    for (int i = 0; i + 1 < code_.size(); ++i) {
      const Op next = code_.at(i + 1).op;
      if (code_.at(i).op == Op::ToBool && (next == Op::JumpIf || next == Op::UnaryNot))
        code_.at(i).op = Op::Nop;
    }
  }

  // RETURN_GENERATOR; POP_TOP
  void drop_generator_start() {
    const int at = returns_generator_;
    if (at >= 0 && at < code_.size() && code_.at(at).op == Op::PopTop) code_.at(at).op = Op::Nop;
  }

  const CodeTree& tree_;
  const int minor_;
  LiftedCode code_;
  std::vector<int> start_of_;  // decoded instruction -> lifted one
  int keyword_names_ = -1;
  int returns_generator_ = -1;
};

}  // namespace

const char* op_name(Op op) { return kOpNames[static_cast<size_t>(op)]; }

int LiftedCode::skip_empty(int index) const {
  int at = index, smallest = index, steps = 0;
  while (at >= 0 && (this->at(at).op == Op::Nop || this->at(at).op == Op::Jump)) {
    at = this->at(at).next;
    smallest = std::min(smallest, at);
    if (++steps > size()) {  // a cycle: once more around it, for its smallest member
      const int begin = at;
      smallest = at;
      for (at = this->at(at).next; at != begin; at = this->at(at).next) smallest = std::min(smallest, at);
      return smallest;
    }
  }
  return at;
}

Result<LiftedCode> lift(const CodeTree& tree) { return Lifter(tree).run(); }

}  // namespace suture::toolbox
