#include "bytecode/instruction_editor.h"

#include <algorithm>
#include <numeric>

namespace suture {

InstructionEditor::InstructionEditor(const Function& function)
    : old_(function),
      origin_(function.instructions.size()),
      regions_(function.exception_regions),
      targets_(function.instructions.size() + 1) {
  for (ExceptionRegion& region : regions_)
    if (region.end == count()) region.end = kEnd;
  for (const Instruction& instruction : old_.instructions) {
    to_.push_back({instruction});
    if (instruction.target >= 0) targets_[static_cast<size_t>(instruction.target)] = true;
  }
  for (const ExceptionRegion& region : regions_) targets_[static_cast<size_t>(region.target)] = true;
  std::iota(origin_.begin(), origin_.end(), 0);
  layout_ = origin_;
}

Instruction InstructionEditor::like(int i, Opcode opcode, int arg) const {
  Instruction made = at(i);
  made.opcode = opcode;
  made.arg = arg;
  made.target = -1;
  return made;
}

int InstructionEditor::insert_behind(int place, Instruction instruction) {
  const int added = static_cast<int>(to_.size());
  to_.push_back({instruction});
  origin_.push_back(origin_[static_cast<size_t>(place)]);
  layout_.insert(std::ranges::find(layout_, place) + 1, added);
  return added;
}

Function InstructionEditor::result(std::vector<int>& origin) const {
  Function out = old_;
  out.instructions.clear();
  std::vector<int> position(to_.size());
  for (const int place : layout_) {
    const auto index = static_cast<size_t>(place);
    position[index] = static_cast<int>(out.instructions.size());
    for (const Instruction& instruction : to_[index]) {
      out.instructions.push_back(instruction);
      origin.push_back(origin_[index]);
    }
  }
  const int end = static_cast<int>(out.instructions.size());
  // A region may end behind the last instruction; that number is the first inserted place otherwise.
  const auto moved = [&](int place) { return place == kEnd ? end : position[static_cast<size_t>(place)]; };
  for (Instruction& instruction : out.instructions)
    if (instruction.target >= 0) instruction.target = moved(instruction.target);
  out.exception_regions = regions_;
  std::ranges::sort(out.exception_regions, {},
                    [&](const ExceptionRegion& region) { return moved(region.begin); });
  for (ExceptionRegion& region : out.exception_regions) {
    region.begin = moved(region.begin);
    region.end = moved(region.end);
    region.target = moved(region.target);
  }
  std::erase_if(out.exception_regions,
                [](const ExceptionRegion& region) { return region.begin == region.end; });
  return out;
}

}  // namespace suture
