// A frame that breaks: Python runs the instruction at the break, resume functions do the rest.
//
// Overview
//   Only the operands of the instruction are on the real stack when it runs. Everything else that is alive -
//   deeper stack values, locals - travels as arguments of the resume function, and is evaluated before the
//   instruction unless it cannot change. So a break inside an expression, with NULLs of half-made calls
//   below, needs nothing special. An instruction inside an exception region is covered by a region of ours
//   whose handler goes on in a resume function that starts at the user's handler.
//   A break inside a raise statement takes the rest of the statement along: nothing follows it, and a resume function
//   that only raises would be a second break with the same cause.
// Lifetimes
//   While the instruction runs, an object is alive when a variable of the user's, or the instruction, holds it:
//   slots that nothing needs are emptied before it, and so are the arguments of a tail call.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/lists.h"
#include "bytecode/analysis.h"
#include "bytecode/output_names.h"
#include "capture/output_ends.h"
#include "cpython/tail_call.h"

namespace suture {
namespace {

// The instructions that run as one: a call with its PRECALL and KW_NAMES, else a single instruction; and what a raise
// statement does after it.
struct Group {
  int begin, end;
  int operands;
  StackUse use;
  std::vector<int> rest;  // of a raise statement, in the order they run; the last one raises
};

Group group_at(const Function& function, int at) {
  const auto opcode = [&](int i) {
    return i >= 0 ? function.instructions[static_cast<size_t>(i)].opcode : Opcode::NOP;
  };
  int last = at;
  if (opcode(last) == Opcode::KW_NAMES) ++last;
  if (opcode(last) == Opcode::PRECALL) ++last;
  int first = last;
  if (opcode(last) == Opcode::CALL) {
    if (opcode(first - 1) == Opcode::PRECALL) --first;
    if (opcode(first - 1) == Opcode::KW_NAMES) --first;
  }
  const StackUse use = stack_use(function, last);
  return {first, last + 1, use.pops, use, {}};
}

bool is_within(const Instruction& part, const Instruction& whole) {
  if (part.line < whole.line || part.end_line > whole.end_line) return false;
  const bool has_columns = part.column >= 0 && whole.column >= 0;
  return !has_columns || ((part.line > whole.line || part.column >= whole.column) &&
                          (part.end_line < whole.end_line || part.end_column <= whole.end_column));
}

// The handler of the statement would have to see the new value.
bool writes_local(Opcode opcode) {
  return opcode == Opcode::STORE_FAST || opcode == Opcode::DELETE_FAST || opcode == Opcode::STORE_DEREF ||
         opcode == Opcode::DELETE_DEREF;
}

// What runs from behind the group up to and including the raise of the statement that the group is a part of; empty when it
// is a part of none, or may go another way.
std::vector<int> rest_of_raise(const Function& function, const Group& group) {
  constexpr size_t kLongestRest = 256;
  const auto at = [&](int i) -> const Instruction& { return function.instructions[static_cast<size_t>(i)]; };
  const int count = static_cast<int>(function.instructions.size());
  const ExceptionRegion* region = function.region_at(group.begin);
  if (at(group.end - 1).target >= 0 || ends_block(at(group.end - 1).opcode)) return {};
  std::vector<int> rest;
  for (int i = group.end; i < count && rest.size() < kLongestRest;) {
    const Instruction& instruction = at(i);
    if (function.region_at(i) != region) return {};
    if (instruction.opcode == Opcode::JUMP_FORWARD) {
      i = instruction.target;
      continue;
    }
    if (instruction.target >= 0 || (region && writes_local(instruction.opcode))) return {};
    rest.push_back(i++);
    if (instruction.opcode == Opcode::RAISE_VARARGS)
      return is_within(at(group.begin), instruction) ? rest : std::vector<int>();
    if (ends_block(instruction.opcode)) return {};
  }
  return {};
}

// How many values that were there before a run of instructions takes off the stack.
int operands_of(const Function& function, const Group& group) {
  int depth = group.use.pushes - group.use.pops, taken = group.use.pops;
  for (int i : group.rest) {
    const StackUse use = stack_use(function, i);
    taken = std::max(taken, use.pops - depth);
    depth += use.pushes - use.pops;
  }
  return taken;
}

class BreakEmitter {
 public:
  BreakEmitter(OutputWriter& writer, Continuations& continuations)
      : writer_(writer),
        continuations_(continuations),
        original_(writer.original()),
        end_(writer.capture().end) {}

  Status emit() {
    SUTURE_TRY_VOID(prepare());
    SUTURE_TRY_VOID(make_plans());
    SUTURE_TRY_VOID(hold_plans());
    SUTURE_TRY_VOID(push_operands_and_locals());
    drop_dead_values();
    run_group();
    if (next_) SUTURE_TRY_VOID(emit_continuation(*next_, results(group_.use.pushes)));
    if (jump_) {
      writer_.code().bind(jump_label_);
      SUTURE_TRY_VOID(emit_continuation(*jump_, results(group_.use.pushes_on_jump)));
    }
    if (handler_) SUTURE_TRY_VOID(emit_handler(writer_, continuations_, *handler_));
    return ok_status();
  }

 private:
  const Instruction& last() const { return original_.instructions[static_cast<size_t>(group_.end) - 1]; }

  Status prepare() {
    group_ = group_at(original_, end_.at);
    group_.rest = rest_of_raise(original_, group_);
    group_.operands = operands_of(original_, group_);
    SUTURE_TRY(depths, stack_depths(original_));
    if (depths[static_cast<size_t>(group_.begin)] != static_cast<int>(end_.stack.size()))
      return Error::internal("output",
                             fmt::format("{} stack values at a break with depth {}", end_.stack.size(),
                                         depths[static_cast<size_t>(group_.begin)]));
    if (handler_depths(original_)[static_cast<size_t>(group_.begin)] > 0)
      return Error::unsupported("output", "the break is inside an exception handler");
    below_ = end_.stack.size() - static_cast<size_t>(group_.operands);
    SUTURE_TRY_VOID(check_operands());
    locals_before_ = local_items(writer_, continuations_);
    locals_after_ = locals_before_;
    return touch_locals();
  }

  // Only calls take a NULL; what merely shuffles one would leave it among the results.
  Status check_operands() const {
    const bool calls = last().opcode == Opcode::CALL || last().opcode == Opcode::CALL_FUNCTION_EX;
    if (calls || !group_.rest.empty()) return ok_status();
    for (size_t i = below_; i < end_.stack.size(); ++i) {
      if (writer_.recipe(end_.stack[i]).kind == Recipe::Kind::kNull)
        return Error::unsupported("output",
                                  fmt::format("{} moves an unfinished call", opcode_name(last().opcode)));
    }
    return ok_status();
  }

  // Locals that the group itself reads or writes live in their own slots.
  std::vector<int> group_instructions() const {
    std::vector<int> all;
    for (int i = group_.begin; i < group_.end; ++i) all.push_back(i);
    all.insert(all.end(), group_.rest.begin(), group_.rest.end());
    return all;
  }

  Status touch_locals() {
    for (int i : group_instructions()) {
      const Instruction& instruction = original_.instructions[static_cast<size_t>(i)];
      const OpcodeInfo* info = opcode_info(original_.code.version, instruction.opcode);
      const int local = instruction.arg;
      if (info->operand == Operand::kLocal) touch_plain(instruction.opcode, local);
      if (info->operand == Operand::kCell &&
          !(original_.code.local_kinds[static_cast<size_t>(local)] & kLocalFree))
        touch_cell(instruction.opcode, local);
    }
    return ok_status();
  }

  void touch_plain(Opcode opcode, int local) {
    writer_.overwrite(local);
    if (opcode != Opcode::STORE_FAST) add_once(restored_, local);
    if (opcode == Opcode::DELETE_FAST)
      locals_after_.erase(local);
    else if (opcode == Opcode::STORE_FAST || locals_before_.count(local))
      locals_after_[local] = {Item::Kind::kSlot, local};
  }

  void touch_cell(Opcode opcode, int local) {
    writer_.overwrite(local);
    writer_.use_as_cell(local);
    add_once(restored_, local);
    const auto found = locals_before_.find(local);
    const bool shared =
        opcode == Opcode::LOAD_CLOSURE || (found != locals_before_.end() && found->second.is_cell);
    if (shared)
      locals_after_[local] = {Item::Kind::kClosure, local, true};
    else if (opcode == Opcode::DELETE_DEREF)
      locals_after_.erase(local);
    else if (opcode == Opcode::STORE_DEREF || found != locals_before_.end())
      locals_after_[local] = {Item::Kind::kContents, local};
  }

  bool pushes_null() const {
    return last().opcode == Opcode::LOAD_METHOD || last().opcode == Opcode::PUSH_NULL ||
           (last().opcode == Opcode::LOAD_GLOBAL && last().arg & 1);
  }

  // The same instruction without its NULL. LOAD_ATTR gives what LOAD_METHOD would call.
  static Instruction without_null(Instruction instruction) {
    if (instruction.opcode == Opcode::LOAD_METHOD) instruction.opcode = Opcode::LOAD_ATTR;
    if (instruction.opcode == Opcode::LOAD_GLOBAL) instruction.arg &= ~1;
    return instruction;
  }

  // What is left on the real stack, in temporaries, on top of the values that were below the operands.
  std::vector<Item> stack_after(int pushed) {
    std::vector<Item> stack = stack_items(writer_, below_);
    if (pushes_null()) stack.push_back({Item::Kind::kNull});
    for (int i = 0; i < results(pushed); ++i) {
      if (i == static_cast<int>(results_.size()))
        results_.push_back(writer_.new_temporary(fmt::format("result_{}", i)));
      stack.push_back({Item::Kind::kSlot, results_[static_cast<size_t>(i)]});
    }
    return stack;
  }
  int results(int pushed) const { return pushed - (pushes_null() ? 1 : 0); }

  Status make_plans() {
    if (const ExceptionRegion* region = original_.region_at(group_.begin)) {
      SUTURE_TRY(handler, plan_handler(writer_, continuations_, *region, locals_before_));
      handler_ = std::move(handler);
    }
    if (!ends_block(last().opcode) && group_.rest.empty()) {
      SUTURE_TRY(plan, continuations_.plan(group_.end, stack_after(group_.use.pushes), locals_after_));
      next_ = std::move(plan);
    }
    if (last().target >= 0) {
      SUTURE_TRY(plan,
                 continuations_.plan(last().target, stack_after(group_.use.pushes_on_jump), locals_after_));
      jump_ = std::move(plan);
      jump_label_ = writer_.code().new_label();
    }
    return ok_status();
  }

  Status hold_plans() {
    for (const auto* plan : {&next_, &jump_}) {
      if (*plan) SUTURE_TRY_VOID(continuations_.hold(**plan));
    }
    return handler_ ? continuations_.hold(handler_->plan) : ok_status();
  }

  // All pushes come before all stores: a store may overwrite the argument that a push reads.
  Status push_operands_and_locals() {
    for (size_t i = below_; i < end_.stack.size(); ++i) SUTURE_TRY_VOID(writer_.push(end_.stack[i]));
    for (int local : restored_) {
      if (auto found = locals_before_.find(local); found != locals_before_.end())
        SUTURE_TRY_VOID(continuations_.push(found->second));
    }
    for (auto local = restored_.rbegin(); local != restored_.rend(); ++local) restore(*local);
    return ok_status();
  }

  void restore(int local) {
    const auto found = locals_before_.find(local);
    const bool parameter = local < writer_.code().header().arg_count;
    if (found != locals_before_.end())
      writer_.store(local);
    else if (parameter && !holds_cell_at_entry(original_, local))
      writer_.code().emit(Opcode::DELETE_FAST, local);
    const bool cell = original_.code.local_kinds[static_cast<size_t>(local)] & kLocalCell;
    if (cell && !(found != locals_before_.end() && found->second.is_cell))
      writer_.code().emit(Opcode::MAKE_CELL, local);
  }

  std::set<int> slots_needed() const {
    std::set<int> needed;
    const auto need = [&](const Item& item) {
      if (item.kind == Item::Kind::kRecipe) needed.insert(writer_.slot_of(item.id));
      if (item.kind == Item::Kind::kSlot) needed.insert(item.id);
    };
    const auto need_all = [&](const ContinuationPlan& plan) {
      if (plan.returned) return need(*plan.returned);
      for (const Item& item : plan.arguments) need(item);
    };
    for (const auto& [local, id] : end_.locals)  // bound while the instruction runs
      if (!writer_.is_unbound(id)) needed.insert(writer_.slot_of(id));
    if (next_) need_all(*next_);
    if (jump_) need_all(*jump_);
    if (handler_) need_all(handler_->plan);
    return needed;
  }

  // No variable of the user's holds these any more, so the instruction must not find them alive.
  void drop_dead_values() {
    const std::set<int> needed = slots_needed();
    bool arguments = false;
    for (int slot : writer_.filled_slots()) {
      const bool parameter = slot < writer_.code().header().arg_count;
      if (needed.contains(slot) || (parameter && !writer_.capture().owns_arguments)) continue;
      writer_.code().emit(Opcode::DELETE_FAST, slot);
      arguments |= parameter;
    }
    if (!arguments) return;
    writer_.code().push_null();
    writer_.push_object(tail_argument_releaser(), std::string(kReleaseArgumentsName));
    writer_.code().call(0);
    writer_.code().emit(Opcode::POP_TOP);
  }

  void run_group() {
    CodeBuilder& code = writer_.code();
    code.set_position(last());
    const bool only_jumps = ends_block(last().opcode) && last().target >= 0;
    code.set_region(handler_ ? handler_->region : CodeBuilder::kNoRegion);
    for (int i : only_jumps ? std::vector<int>() : group_instructions()) {
      const Instruction& instruction = original_.instructions[static_cast<size_t>(i)];
      if (!group_.rest.empty()) {  // a NULL stays on the stack for the call that takes it
        code.copy(instruction);
        continue;
      }
      if (instruction.opcode == Opcode::PUSH_NULL) continue;
      code.copy(without_null(instruction), instruction.target >= 0 ? jump_label_ : -1);
    }
    code.set_region(CodeBuilder::kNoRegion);
  }

  static bool uses_slot(const ContinuationPlan& plan, int slot) {
    const auto is_it = [&](const Item& item) { return item.kind == Item::Kind::kSlot && item.id == slot; };
    return plan.returned ? is_it(*plan.returned)
                         : std::any_of(plan.arguments.begin(), plan.arguments.end(), is_it);
  }

  // Results are on the stack; those that the continuation needs go to their temporaries.
  Status emit_continuation(const ContinuationPlan& plan, int results) {
    CodeBuilder& code = writer_.code();
    if (results == 1 && plan.returned && uses_slot(plan, results_[0])) {
      code.emit(Opcode::RETURN_VALUE);
      return ok_status();
    }
    for (int i = results - 1; i >= 0; --i) {
      const int slot = results_[static_cast<size_t>(i)];
      if (uses_slot(plan, slot))
        writer_.store(slot);
      else
        code.emit(Opcode::POP_TOP);
    }
    return continuations_.emit(plan);
  }

  OutputWriter& writer_;
  Continuations& continuations_;
  const Function& original_;
  const FrameEnd& end_;
  Group group_{};
  size_t below_ = 0;  // stack values that are not operands
  std::map<int, Item> locals_before_, locals_after_;
  std::vector<int> restored_, results_;
  std::optional<ContinuationPlan> next_, jump_;
  std::optional<HandlerTail> handler_;
  CodeBuilder::Label jump_label_ = -1;
};

}  // namespace

std::vector<Item> stack_items(const OutputWriter& writer, size_t count) {
  std::vector<Item> items;
  for (size_t i = 0; i < count; ++i) {
    const RecipeId id = writer.capture().end.stack[i];
    const bool null = writer.recipe(id).kind == Recipe::Kind::kNull;
    items.push_back({null ? Item::Kind::kNull : Item::Kind::kRecipe, id});
  }
  return items;
}

std::map<int, Item> local_items(const OutputWriter& writer, const Continuations& continuations) {
  std::map<int, Item> items;
  for (const auto& [local, id] : writer.capture().end.locals) {
    if (writer.original().code.local_kinds[static_cast<size_t>(local)] & kLocalFree) continue;
    if (auto item = continuations.local_item(local)) items[local] = *item;
  }
  return items;
}

// The handler gets the stack up to the region's depth, then the number of the last instruction if it wants
// one (it serves only to find the line again when the exception is raised on; our frames have their own),
// then the exception.
Result<HandlerTail> plan_handler(OutputWriter& writer, Continuations& continuations,
                                 const ExceptionRegion& region, const std::map<int, Item>& locals) {
  HandlerTail tail;
  if (region.depth > static_cast<int>(writer.capture().end.stack.size()))
    return Error::internal("output", "exception region is deeper than the stack");
  tail.label = writer.code().new_label();
  tail.region = writer.code().new_region(tail.label, 0, false);
  tail.exception_slot = writer.new_temporary("exception");
  std::vector<Item> stack = stack_items(writer, static_cast<size_t>(region.depth));
  if (region.push_last_instruction) stack.push_back({Item::Kind::kInt, 0});
  stack.push_back({Item::Kind::kSlot, tail.exception_slot});
  SUTURE_TRY(plan, continuations.plan(region.target, std::move(stack), locals));
  tail.plan = std::move(plan);
  return tail;
}

Status emit_handler(OutputWriter& writer, Continuations& continuations, const HandlerTail& handler) {
  writer.code().bind(handler.label);
  writer.store(handler.exception_slot);
  // The traceback of the exception holds this frame: the frame must not hold the exception.
  return continuations.emit(handler.plan, handler.exception_slot);
}

Status emit_break(OutputWriter& writer, Continuations& continuations) {
  return BreakEmitter(writer, continuations).emit();
}

}  // namespace suture
