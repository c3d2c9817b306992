// InstructionEditor: replaces instructions of a function one by one; jump targets and exception regions follow.
//
// Places are indices of the old instructions, and numbers beyond them for what insert_behind() puts in. A place stands for
// whatever the new function has there, or else for what comes after it. Targets of instructions that are put in, and
// regions, are in places.
#pragma once

#include <vector>

#include "bytecode/instruction.h"

namespace suture {

class InstructionEditor {
 public:
  static constexpr int kEnd = -2;  // the place behind the last one
  explicit InstructionEditor(const Function& function);
  InstructionEditor(const InstructionEditor&) = delete;
  InstructionEditor& operator=(const InstructionEditor&) = delete;

  const Function& old() const { return old_; }
  int count() const { return static_cast<int>(old_.instructions.size()); }
  const Instruction& at(int i) const { return old_.instructions[static_cast<size_t>(i)]; }
  bool is(int i, Opcode opcode) const { return i >= 0 && i < count() && at(i).opcode == opcode; }
  int arg(int i) const { return at(i).arg; }
  // A jump or an exception comes to instruction i.
  bool is_target(int i) const { return targets_[static_cast<size_t>(i)]; }
  // Another instruction at the place of i in the program.
  Instruction like(int i, Opcode opcode, int arg = 0) const;

  void replace(int place, std::vector<Instruction> by) { to_[static_cast<size_t>(place)] = std::move(by); }
  void remove(int place) { replace(place, {}); }
  // A place of its own behind another one.
  int insert_behind(int place, Instruction instruction);
  std::vector<ExceptionRegion>& regions() { return regions_; }

  // The new function; per instruction of it, in `origin`, the old one that it stands for.
  Function result(std::vector<int>& origin) const;

 private:
  const Function& old_;
  std::vector<std::vector<Instruction>> to_;  // of each place
  std::vector<int> origin_;                   // of each place
  std::vector<int> layout_;                   // the places in the order of the new function
  std::vector<ExceptionRegion> regions_;
  std::vector<bool> targets_;
};

}  // namespace suture
