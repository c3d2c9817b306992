#include "bytecode/readable_loops.h"

#include "bytecode/added_names.h"
#include "bytecode/instruction_editor.h"

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
    }
    Function out = edit_.result(origin);
    names_.put_into(out);
    return out;
  }

 private:
  bool pushes(int i) const {
    return edit_.is(i, Opcode::LOAD_FAST) || edit_.is(i, Opcode::LOAD_DEREF) ||
           edit_.is(i, Opcode::LOAD_CONST);
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

}  // namespace

Function loops_over_variables(const Function& transformed, std::vector<int>& origin) {
  return LoopRewriter(transformed).run(origin);
}

}  // namespace suture
