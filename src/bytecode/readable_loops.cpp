#include "bytecode/readable_loops.h"

#include <algorithm>
#include <string>

#include "bytecode/added_names.h"
#include "bytecode/instruction_editor.h"
#include "bytecode/output_names.h"
#include "bytecode/straight_code.h"

namespace suture {
namespace {

class LoopRewriter {
 public:
  explicit LoopRewriter(const Function& function) : edit_(function), names_(function.code) {}

  Function run(std::vector<int>& origin) {
    for (int i = 1; i + 1 < edit_.count(); ++i) {
      if (edit_.is(i, Opcode::FOR_ITER) && !edit_.is(i - 1, Opcode::GET_ITER))
        edit_.insert_behind(i - 1, edit_.like(i, Opcode::GET_ITER));
      if (edit_.is(i, Opcode::GET_ITER) && edit_.is(i + 1, Opcode::STORE_FAST)) call_iter(i);
      if (edit_.is(i, Opcode::STORE_FAST) && pushes(i - 1)) store_one_by_one(i);
      if (edit_.is(i, Opcode::POP_JUMP_FORWARD_IF_TRUE) && edit_.is(i + 1, Opcode::JUMP_BACKWARD) &&
          !edit_.is_target(i + 1))
        break_on_true(i);
    }
    return names_.put_into(edit_.result(origin));
  }

 private:
  bool pushes(int i) const {
    return edit_.is(i, Opcode::LOAD_FAST) || edit_.is(i, Opcode::LOAD_DEREF) ||
           edit_.is(i, Opcode::LOAD_CONST);
  }

  // `if exit: break`: the compiler goes on when the test is false; `continue` would be a jump of its own.
  void break_on_true(int i) {
    Instruction stay = edit_.like(i, Opcode::POP_JUMP_BACKWARD_IF_FALSE);
    Instruction leave = edit_.like(i + 1, Opcode::JUMP_FORWARD);
    stay.target = edit_.at(i + 1).target;
    leave.target = edit_.at(i).target;
    edit_.replace(i, {stay});
    edit_.replace(i + 1, {leave});
  }

  void call_iter(int i) {
    const Instruction callable = edit_.like(i, Opcode::LOAD_GLOBAL, names_.global_to_call("iter"));
    const Instruction prepare = edit_.like(i, Opcode::PRECALL, 1), call = edit_.like(i, Opcode::CALL, 1);
    if (pushes(i - 1) && !edit_.is_target(i - 1) && !edit_.is_target(i)) {
      edit_.replace(i - 1, {callable, edit_.at(i - 1)});
      edit_.replace(i, {prepare, call});
      return;
    }
    const int iterable = names_.new_local("iterable");
    edit_.replace(i, {edit_.like(i, Opcode::STORE_FAST, iterable), callable,
                      edit_.like(i, Opcode::LOAD_FAST, iterable), prepare, call});
  }

  // `first`: the first of several stores behind as many pushes.
  void store_one_by_one(int first) {
    int stores = 0;
    while (edit_.is(first + stores, Opcode::STORE_FAST) && pushes(first - 1 - stores) &&
           !edit_.is_target(first + stores) && !edit_.is_target(first - stores))
      ++stores;
    if (stores < 2) return;
    const int begin = first - stores;
    const auto store_of = [&](int push) { return 2 * first - 1 - push; };
    for (int push = begin; push < first; ++push)
      for (int later = push + 1; later < first; ++later)
        if (edit_.is(later, Opcode::LOAD_FAST) && edit_.arg(later) == edit_.arg(store_of(push))) return;
    for (int push = begin; push < first; ++push) {
      edit_.insert_behind(push, edit_.at(store_of(push)));
      edit_.remove(store_of(push));
    }
  }

  InstructionEditor edit_;
  AddedNames names_;
};

class SingleSteps {
 public:
  explicit SingleSteps(const Function& function) : edit_(function), names_(function.code) {}

  Function run(std::vector<int>& origin) {
    for (int i = 0; i + 2 < edit_.count(); ++i)
      if (edit_.is(i, Opcode::FOR_ITER) && !edit_.is_target(i)) step(i);
    return names_.put_into(edit_.result(origin));
  }

 private:
  // The variable that takes a value, or a new one.
  int variable_at(int store, const std::string& name) {
    return edit_.is(store, Opcode::STORE_FAST) ? edit_.arg(store) : names_.new_local(name);
  }
  bool takes_value(int i) const { return edit_.is(i, Opcode::STORE_FAST) || edit_.is(i, Opcode::POP_TOP); }

  void step(int i) {
    if (!takes_value(i + 1) || !takes_value(i + 2) || edit_.is_target(i + 1) || edit_.is_target(i + 2))
      return;
    const int item = variable_at(i + 1, "item"), iterator = variable_at(i + 2, "iterator");
    const int exhausted = names_.global(kExhaustedName);
    int last = i;
    const auto behind = [&](Opcode opcode, int arg) {
      return last = edit_.insert_behind(last, edit_.like(i, opcode, arg));
    };
    edit_.replace(i, {edit_.like(i, Opcode::STORE_FAST, iterator)});
    const int first = behind(Opcode::LOAD_GLOBAL, names_.global_to_call("next"));
    behind(Opcode::LOAD_FAST, iterator);
    behind(Opcode::LOAD_GLOBAL, exhausted);
    behind(Opcode::PRECALL, 2);
    behind(Opcode::CALL, 2);
    behind(Opcode::STORE_FAST, item);
    const int test = behind(Opcode::LOAD_FAST, item);
    behind(Opcode::LOAD_GLOBAL, exhausted);
    behind(Opcode::IS_OP, 0);
    Instruction jump = edit_.like(i, Opcode::POP_JUMP_FORWARD_IF_TRUE);
    jump.target = edit_.at(i).target;
    edit_.insert_behind(last, jump);
    edit_.remove(i + 1);
    edit_.remove(i + 2);
    for (ExceptionRegion& region : edit_.regions()) {
      if (region.begin == i) region.begin = first;
      if (region.end == i + 1) region.end = test;
    }
  }

  InstructionEditor edit_;
  AddedNames names_;
};

// Both ways lead behind the statement that the region is, where the number of the exit tells them apart.
void join_ways_out(InstructionEditor& edit, int header, int none) {
  const ExceptionRegion* region = edit.old().region_at(header);
  const int behind = edit.at(header).target;
  for (int i = header; i + 1 < behind; ++i) {
    const int leave = edit.at(i).target;
    const bool leaves = edit.is(i, Opcode::POP_JUMP_FORWARD_IF_TRUE) && edit.is(i - 1, Opcode::LOAD_FAST) &&
                        leave > behind && edit.is(leave, Opcode::POP_TOP) &&
                        edit.is(i + 1, Opcode::JUMP_BACKWARD);
    const int start = first_push(edit, header, 1);
    if (!leaves || start < 0 || region == edit.old().region_at(behind)) continue;
    const int exit = edit.arg(i - 1);
    edit.replace(start, {edit.like(start, Opcode::LOAD_CONST, none),
                         edit.like(start, Opcode::STORE_FAST, exit), edit.at(start)});
    Instruction stay = edit.like(i, Opcode::POP_JUMP_BACKWARD_IF_FALSE), again = edit.at(i);
    stay.target = edit.at(i + 1).target;
    edit.replace(i, {stay});
    edit.replace(i + 1, {edit.like(i, Opcode::POP_TOP)});
    again.target = leave;
    edit.replace(behind, {edit.like(i, Opcode::LOAD_FAST, exit), again, edit.at(behind)});
    edit.remove(leave);
    return;
  }
}

// The region begins at the statement, which loads the iterator.
void load_inside(InstructionEditor& edit, AddedNames& names, int header) {
  int first = header - 1;
  if (!edit.is(first, Opcode::LOAD_FAST)) {
    const int iterator = names.new_local("iterator");
    const int store = edit.insert_behind(header - 1, edit.like(header, Opcode::STORE_FAST, iterator));
    first = edit.insert_behind(store, edit.like(header, Opcode::LOAD_FAST, iterator));
  }
  for (ExceptionRegion& region : edit.regions())
    if (region.begin == header) region.begin = first;
}

}  // namespace

Function single_steps(const Function& transformed, std::vector<int>& origin) {
  return SingleSteps(transformed).run(origin);
}

Function loops_in_regions(const Function& transformed, std::vector<int>& origin) {
  InstructionEditor edit(transformed);
  AddedNames names(transformed.code);
  const auto& reprs = transformed.code.constant_reprs;
  const auto none = static_cast<int>(std::ranges::find(reprs, "None") - reprs.begin());
  for (int i = 1; i < edit.count(); ++i)
    if (edit.is(i, Opcode::FOR_ITER) && edit.old().region_at(i) && none < std::ssize(reprs))
      join_ways_out(edit, i, none), load_inside(edit, names, i);
  return names.put_into(edit.result(origin));
}

Function loops_over_variables(const Function& transformed, std::vector<int>& origin) {
  return LoopRewriter(transformed).run(origin);
}

}  // namespace suture
