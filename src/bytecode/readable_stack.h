// Stack values of a continuation, loaded where they are used.
//
// A continuation pushes the values that were on the stack of the original, and goes on where that was. Python has statements
// for it only when nothing stands between a push and its use: so `x[i] = <break>` in an `if` reads well, but the subject of a
// match statement, the iterator of a loop that is left, or a value that a later return gives are on the stack while other
// statements run. Pushing a parameter can wait:
//
//   LOAD_FAST stack_0; <other statements>; GET_LEN ...          =>  <other statements>; LOAD_FAST stack_0; GET_LEN ...
//   COPY, SWAP and POP_TOP of such a value                      =>  a load, or nothing
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "bytecode/instruction_editor.h"

namespace suture {

// What a stack slot holds: the number of a push that waits, or kThere.
using StackMarks = std::vector<int>;
inline constexpr int kThere = -1;

class StackSinker {
 public:
  // `pushes`: the places that push, the lowest value first. `at`: where the code begins with `marks` on its stack; those of
  // `fixed` are pushed where they are.
  StackSinker(const InstructionEditor& edit, std::vector<int> pushes, std::set<int> fixed)
      : edit_(edit), pushes_(std::move(pushes)), fixed_(std::move(fixed)) {}

  void run(int at, const StackMarks& marks);
  bool waits(int push) const { return !fixed_.contains(push); }
  // How many of the lowest `depth` values wait where the handler begins.
  int waiting_below(const ExceptionRegion& region) const;
  // Per place that changes: what stands there.
  std::map<int, std::vector<Instruction>> changes() const;
  // Loads at the end of the statement before a place.
  std::map<int, Instruction> loads_before() const;

 private:
  struct After {
    StackMarks next, jump;
  };
  bool walk(int at, const StackMarks& marks);
  std::optional<After> step(int i, const StackMarks& marks);
  std::optional<After> swap(int i, StackMarks marks);
  bool join(int place, const StackMarks& marks);
  bool load_for(int i, size_t slot, int push);
  bool give_up(int push) {
    fixed_.insert(push);
    return false;
  }

  const InstructionEditor& edit_;
  std::vector<int> pushes_;
  std::set<int> fixed_;
  std::vector<std::optional<StackMarks>> states_;
  std::map<int, std::map<size_t, int>> loads_;   // place -> slot -> push
  std::map<int, int> before_;                    // place -> push, of a value that goes on top of a block's
  std::map<int, std::vector<Instruction>> own_;  // instructions that are something else now
  std::vector<int> work_;
};

}  // namespace suture
