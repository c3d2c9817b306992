#include "bytecode/readable_blocks.h"

#include <algorithm>
#include <optional>
#include <string>

#include "bytecode/added_names.h"
#include "bytecode/continuation.h"
#include "bytecode/instruction_editor.h"
#include "bytecode/output_names.h"

namespace suture {
namespace {

// Constant None, or none.
std::optional<int> none_constant(const CodeView& view) {
  const auto found = std::ranges::find(view.constant_reprs, "None");
  if (found == view.constant_reprs.end()) return std::nullopt;
  return static_cast<int>(found - view.constant_reprs.begin());
}

// ---- transformed code

class Leaver {
 public:
  explicit Leaver(const Function& function) : edit_(function), names_(function.code) {}

  Function run(std::vector<int>& origin) {
    for (int i = 0; i + 1 < edit_.count(); ++i)
      if (edit_.is(i, Opcode::BEFORE_WITH) && !edit_.old().region_at(i + 1)) enter(i);
    for (const ExceptionRegion& region : edit_.old().exception_regions)
      if (std::ranges::find(seen_, region.target) == seen_.end()) hand_on(region);
    Function out = edit_.result(origin);
    names_.put_into(out);
    return out;
  }

 private:
  void enter(int i) {
    const int manager = names_.new_local("manager");
    const bool ignored = edit_.is(i + 1, Opcode::POP_TOP);
    std::vector<Instruction> call = {
        edit_.like(i, Opcode::STORE_FAST, manager),
        edit_.like(i, Opcode::LOAD_GLOBAL, names_.global_to_call(ignored ? kEnterName : kEnterAsName)),
        edit_.like(i, Opcode::LOAD_FAST, manager), edit_.like(i, Opcode::PRECALL, 1),
        edit_.like(i, Opcode::CALL, 1)};
    if (ignored)
      edit_.remove(i + 1);
    else
      call.push_back(edit_.like(i, Opcode::UNPACK_SEQUENCE, 2));
    edit_.replace(i, std::move(call));
  }

  // Where straight code from i on returns; -1 when it does something else.
  int return_behind(int i) const {
    for (; i < edit_.count(); ++i) {
      if (edit_.is(i, Opcode::RETURN_VALUE)) return i;
      if (edit_.at(i).target >= 0 || edit_.is(i, Opcode::RAISE_VARARGS) || edit_.is(i, Opcode::RERAISE))
        break;
      if (edit_.old().region_at(i)) break;
    }
    return -1;
  }

  // A try statement covers whole statements; pushing what is there raises nothing.
  int statement_at(int begin) const {
    const auto pushes = [&](int i) {
      return edit_.is(i, Opcode::LOAD_FAST) || edit_.is(i, Opcode::LOAD_DEREF) ||
             edit_.is(i, Opcode::LOAD_CONST) || edit_.is(i, Opcode::PUSH_NULL) ||
             edit_.is(i, Opcode::KW_NAMES) || edit_.is(i, Opcode::PRECALL);
    };
    while (pushes(begin - 1) && !edit_.is_target(begin) && !edit_.old().region_at(begin - 1)) --begin;
    return begin;
  }
  int statement_end(int end) const {
    const auto stores = [&](int i) {
      return edit_.is(i, Opcode::POP_TOP) || edit_.is(i, Opcode::STORE_FAST);
    };
    while (end != InstructionEditor::kEnd && stores(end) && !edit_.is_target(end) &&
           !edit_.old().region_at(end))
      ++end;
    return end;
  }

  // The clause as the compiler writes it: see the listing of `except BaseException as e: return f(e)`.
  void hand_on(const ExceptionRegion& region) {
    const int handler = region.target;
    seen_.push_back(handler);
    for (ExceptionRegion& each : edit_.regions())
      if (each.target == handler) {
        each.begin = statement_at(each.begin);
        each.end = statement_end(each.end);
      }
    const int end = edit_.is(handler, Opcode::STORE_FAST) ? return_behind(handler) : -1;
    const auto none = none_constant(edit_.old().code);
    if (end < handler + 2 || !none || region.push_last_instruction) return;
    const int variable = edit_.arg(handler);
    const auto like = [&](Opcode opcode, int arg = 0) { return edit_.like(handler, opcode, arg); };
    // Behind the return: the clause left by an exception, no match, and the end of the statement.
    int last = end;
    const auto behind = [&](Instruction instruction) {
      return last = edit_.insert_behind(last, instruction);
    };
    const int failed = behind(like(Opcode::LOAD_CONST, *none));
    behind(like(Opcode::STORE_FAST, variable));
    behind(like(Opcode::DELETE_FAST, variable));
    behind(like(Opcode::RERAISE, 1));
    const int unmatched = behind(like(Opcode::RERAISE, 0));
    const int cleanup = behind(like(Opcode::COPY, 3));
    behind(like(Opcode::POP_EXCEPT));
    behind(like(Opcode::RERAISE, 1));
    // The value is returned once the variable is gone.
    last = end - 1;
    const int left = behind(like(Opcode::SWAP, 2));
    const int popped = behind(like(Opcode::POP_EXCEPT));
    behind(like(Opcode::LOAD_CONST, *none));
    behind(like(Opcode::STORE_FAST, variable));
    behind(like(Opcode::DELETE_FAST, variable));
    Instruction test = like(Opcode::POP_JUMP_FORWARD_IF_FALSE);
    test.target = unmatched;
    edit_.replace(handler,
                  {like(Opcode::PUSH_EXC_INFO), like(Opcode::LOAD_GLOBAL, names_.global("BaseException")),
                   like(Opcode::CHECK_EXC_MATCH), test, edit_.at(handler)});
    const int depth = region.depth + 1;
    add_region(handler, handler + 1, cleanup, depth);
    add_region(handler + 1, left, failed, depth);
    add_region(left, popped, cleanup, depth);
    add_region(failed, cleanup, cleanup, depth);
  }

  void add_region(int begin, int end, int target, int depth) {
    edit_.regions().push_back({begin, end, target, depth, true});
  }

  InstructionEditor edit_;
  AddedNames names_;
  std::vector<int> seen_;  // handlers
};

// ---- continuations

class Enterer {
 public:
  explicit Enterer(const Function& function) : edit_(function), names_(function.code) {}

  Function run(std::vector<int>& origin) {
    find_stack_values();
    if (!pushes_.empty()) raise_again();
    for (size_t depth = 0; depth < pushes_.size(); ++depth)
      if (const auto region = left_region(static_cast<int>(depth))) enter(pushes_[depth], *region);
    cover();
    Function out = edit_.result(origin);
    names_.put_into(out);
    return out;
  }

 private:
  bool is_stack_value(int i) const {
    if (!edit_.is(i, Opcode::LOAD_FAST)) return false;
    const auto slot = static_cast<size_t>(edit_.arg(i));
    const CodeView& view = edit_.old().code;
    return edit_.arg(i) < view.parameter_count() && slot < view.local_names.size() &&
           view.local_names[slot].starts_with(kStackValueName);
  }

  // The pushes at the beginning, the lowest first.
  void find_stack_values() {
    int i = 0;
    while (i < edit_.count() && !edit_.is(i, Opcode::RESUME)) ++i;
    for (++i; i < edit_.count() && !edit_.is_target(i); ++i) {
      if (!is_stack_value(i) && !edit_.is(i, Opcode::PUSH_NULL) && !edit_.is(i, Opcode::NOP)) break;
      if (!edit_.is(i, Opcode::NOP)) pushes_.push_back(i);
    }
    end_ = i;
  }

  // Where the code goes on behind the pushes.
  int first_instruction() const {
    return edit_.is(end_, Opcode::JUMP_FORWARD) ? edit_.at(end_).target : end_;
  }

  // Begins where an exception is handled: the exception is on top, below it the place where a with statement was.
  void raise_again() {
    const int handler = first_instruction();
    if (!edit_.is(handler, Opcode::PUSH_EXC_INFO)) return;
    const bool with = edit_.is(handler + 1, Opcode::WITH_EXCEPT_START);
    const size_t values = with ? 2 : 1;
    if (pushes_.size() < values) return;
    const int exception = pushes_.back();
    if (edit_.is(end_, Opcode::JUMP_FORWARD)) edit_.remove(end_);
    raised_ = {edit_.insert_behind(exception, edit_.like(exception, Opcode::RAISE_VARARGS, 1))};
    if (with) edit_.remove(pushes_[pushes_.size() - 2]);
    pushes_.resize(pushes_.size() - values);
    const int depth = static_cast<int>(pushes_.size());
    if (with) {
      exit_of_raise_ = {0, 0, handler, depth, true};
    } else {
      const int end = edit_.insert_behind(*raised_, edit_.like(exception, Opcode::NOP));
      edit_.regions().push_back({exception, end, handler, depth, false});
    }
  }

  // The region of the with statement whose exit is the stack value at this depth and that this function does not enter.
  std::optional<ExceptionRegion> left_region(int depth) const {
    if (exit_of_raise_ && exit_of_raise_->depth == depth + 1) return exit_of_raise_;
    const auto& regions = edit_.old().exception_regions;
    const auto found = std::ranges::find_if(regions, [&](const ExceptionRegion& region) {
      return region.depth == depth + 1 && region.push_last_instruction &&
             edit_.is(region.target, Opcode::PUSH_EXC_INFO) &&
             edit_.is(region.target + 1, Opcode::WITH_EXCEPT_START) && !is_entered_here(region.target);
    });
    return found == regions.end() ? std::nullopt : std::optional(*found);
  }

  bool is_entered_here(int handler) const {
    return std::ranges::any_of(edit_.old().exception_regions, [&](const ExceptionRegion& region) {
      return region.target == handler && edit_.is(region.begin - 1, Opcode::BEFORE_WITH);
    });
  }

  void enter(int push, const ExceptionRegion& region) {
    edit_.replace(push, {edit_.like(push, Opcode::LOAD_GLOBAL, names_.global_to_call(kEnteredName)),
                         edit_.at(push), edit_.like(push, Opcode::PRECALL, 1),
                         edit_.like(push, Opcode::CALL, 1), edit_.like(push, Opcode::BEFORE_WITH)});
    entered_.push_back({edit_.insert_behind(push, edit_.like(push, Opcode::POP_TOP)), region});
  }

  // The rest of the beginning is inside the statements entered so far.
  void cover() {
    const int end =
        raised_ ? edit_.insert_behind(*raised_, edit_.like(end_ - 1, Opcode::NOP)) : end_ + jumps();
    for (size_t i = 0; i < entered_.size(); ++i) {
      ExceptionRegion region = entered_[i].region;
      region.begin = entered_[i].place;
      region.end = i + 1 < entered_.size() ? entered_[i + 1].place : end;
      edit_.regions().push_back(region);
    }
  }
  int jumps() const { return edit_.is(end_, Opcode::JUMP_FORWARD) ? 1 : 0; }

  struct Entered {
    int place;  // behind BEFORE_WITH
    ExceptionRegion region;
  };

  InstructionEditor edit_;
  AddedNames names_;
  std::vector<int> pushes_;
  int end_ = 0;                                   // behind the pushes
  std::optional<int> raised_;                     // where the exception is raised again
  std::optional<ExceptionRegion> exit_of_raise_;  // by a with statement that handles it
  std::vector<Entered> entered_;
};

}  // namespace

Function blocks_left_open(const Function& transformed, std::vector<int>& origin) {
  return Leaver(transformed).run(origin);
}

Function blocks_entered_elsewhere(const Function& continuation, std::vector<int>& origin) {
  return Enterer(continuation).run(origin);
}

}  // namespace suture
