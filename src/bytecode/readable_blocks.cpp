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

class Leaver {
 public:
  explicit Leaver(const Function& function) : edit_(function), names_(function.code) {}

  Function run(std::vector<int>& origin) {
    for (int i = 0; i + 1 < edit_.count(); ++i)
      if (edit_.is(i, Opcode::BEFORE_WITH) && !edit_.old().region_at(i + 1)) enter(i);
    ask_before_branches();
    return hand_all_on(origin);
  }

  Function hand_all_on(std::vector<int>& origin) {
    for (const ExceptionRegion& region : edit_.old().exception_regions)
      if (edit_.is(region.target, Opcode::STORE_FAST) &&
          std::ranges::find(seen_, region.target) == seen_.end())
        hand_on(region);
    return names_.put_into(edit_.result(origin));
  }

 private:
  void enter(int i) {
    const int manager = names_.new_local("manager");
    const bool ignored = edit_.is(i + 1, Opcode::POP_TOP);
    edit_.replace(i, {edit_.like(i, Opcode::STORE_FAST, manager)});
    const int first = call_behind(i, ignored ? kEnterName : kEnterAsName, manager);
    if (ignored)
      edit_.remove(i + 1);
    else
      last_ = edit_.insert_behind(last_, edit_.like(i, Opcode::UNPACK_SEQUENCE, 2));
    for (ExceptionRegion& each : edit_.regions())
      if (each.begin == i) each.begin = first;
  }

  // name(variable) behind a place; the first place of it.
  int call_behind(int place, std::string_view name, int variable) {
    const auto like = [&](Opcode opcode, int arg) { return edit_.like(place, opcode, arg); };
    const int first = edit_.insert_behind(place, like(Opcode::LOAD_GLOBAL, names_.global_to_call(name)));
    last_ = edit_.insert_behind(first, like(Opcode::LOAD_FAST, variable));
    last_ = edit_.insert_behind(last_, like(Opcode::PRECALL, 1));
    last_ = edit_.insert_behind(last_, like(Opcode::CALL, 1));
    return first;
  }

  void ask_before_branches() {
    for (const ExceptionRegion& region : edit_.old().exception_regions)
      if (edit_.is(region.target, Opcode::STORE_FAST)) ask_before_branch(region.end - 1);
  }

  // The truth of a value is asked inside of the statement, the ways part behind it.
  void ask_before_branch(int jump) {
    const bool forward =
        edit_.is(jump, Opcode::POP_JUMP_FORWARD_IF_FALSE) || edit_.is(jump, Opcode::POP_JUMP_FORWARD_IF_TRUE);
    if (!forward) return;
    const int value = names_.new_local("value"), truth = names_.new_local("truth");
    edit_.replace(jump, {edit_.like(jump, Opcode::STORE_FAST, value)});
    const int first = call_behind(jump, "bool", value);
    last_ = edit_.insert_behind(last_, edit_.like(jump, Opcode::STORE_FAST, truth));
    const int behind = edit_.insert_behind(last_, edit_.like(jump, Opcode::LOAD_FAST, truth));
    edit_.insert_behind(behind, edit_.at(jump));
    for (ExceptionRegion& each : edit_.regions()) {
      if (each.begin == jump) each.begin = first;
      if (each.end == jump + 1) each.end = behind;
    }
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
             edit_.is(i, Opcode::KW_NAMES) || edit_.is(i, Opcode::PRECALL) ||
             edit_.is(i, Opcode::BUILD_TUPLE) || edit_.is(i, Opcode::LOAD_GLOBAL);
    };
    if (begin >= edit_.count()) return begin;  // put in as a statement of its own
    while (pushes(begin - 1) && !edit_.is_target(begin) && !edit_.old().region_at(begin - 1)) --begin;
    return begin;
  }
  int statement_end(int end) const {
    const auto stores = [&](int i) {
      return edit_.is(i, Opcode::POP_TOP) || edit_.is(i, Opcode::STORE_FAST);
    };
    while (end != InstructionEditor::kEnd && end < edit_.count() && stores(end) && !edit_.is_target(end) &&
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
    const int end = return_behind(handler);
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
  int last_ = 0;           // the last place that was put in
};

}  // namespace

Function blocks_left_open(const Function& transformed, std::vector<int>& origin) {
  return Leaver(transformed).run(origin);
}

Function handlers_that_hand_on(const Function& continuation, std::vector<int>& origin) {
  return Leaver(continuation).hand_all_on(origin);
}

}  // namespace suture
