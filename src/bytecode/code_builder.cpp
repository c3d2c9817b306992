#include "bytecode/code_builder.h"

#include <fmt/format.h>

#include <algorithm>

namespace suture {
namespace {

struct DirectionPair {
  Opcode forward, backward;
};
constexpr DirectionPair kDirections[] = {
    {Opcode::JUMP_FORWARD, Opcode::JUMP_BACKWARD},
    {Opcode::POP_JUMP_FORWARD_IF_TRUE, Opcode::POP_JUMP_BACKWARD_IF_TRUE},
    {Opcode::POP_JUMP_FORWARD_IF_FALSE, Opcode::POP_JUMP_BACKWARD_IF_FALSE},
    {Opcode::POP_JUMP_FORWARD_IF_NONE, Opcode::POP_JUMP_BACKWARD_IF_NONE},
    {Opcode::POP_JUMP_FORWARD_IF_NOT_NONE, Opcode::POP_JUMP_BACKWARD_IF_NOT_NONE},
};

}  // namespace

Opcode jump_in_direction(Opcode opcode, bool forward) {
  if (opcode == Opcode::JUMP_BACKWARD_NO_INTERRUPT && forward) return Opcode::JUMP_FORWARD;
  for (const DirectionPair& pair : kDirections) {
    if (opcode == pair.forward || opcode == pair.backward) return forward ? pair.forward : pair.backward;
  }
  return opcode;
}

CodeBuilder::Label CodeBuilder::new_label() {
  labels_.push_back(-1);
  return static_cast<Label>(labels_.size()) - 1;
}

void CodeBuilder::bind(Label label) {
  labels_[static_cast<size_t>(label)] = static_cast<int>(function_.instructions.size());
}

CodeBuilder::Region CodeBuilder::new_region(Label handler, int depth, bool push_last_instruction) {
  pending_.push_back({handler, depth, push_last_instruction});
  return static_cast<Region>(pending_.size()) - 1;
}

void CodeBuilder::append(Instruction instruction, Label target) {
  function_.instructions.push_back(instruction);
  targets_.push_back(target);
  regions_.push_back(region_);
}

void CodeBuilder::emit(Opcode opcode, int arg) {
  Instruction instruction = position_;
  instruction.opcode = opcode;
  instruction.arg = arg;
  instruction.target = -1;
  instruction.offset = -1;
  append(instruction, -1);
}

void CodeBuilder::jump(Opcode opcode, Label target) {
  emit(opcode);
  targets_.back() = target;
}

void CodeBuilder::copy(const Instruction& instruction, Label target) {
  append(instruction, target);
  function_.instructions.back().target = -1;
}

void CodeBuilder::call(int arguments) {
  emit(Opcode::PRECALL, arguments);
  emit(Opcode::CALL, arguments);
}

int CodeBuilder::name(const std::string& name) {
  auto& names = function_.code.names;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  names.push_back(name);
  return static_cast<int>(names.size()) - 1;
}

int CodeBuilder::add_constant(std::string printed_form) {
  function_.code.constant_reprs.push_back(std::move(printed_form));
  return static_cast<int>(function_.code.constant_reprs.size()) - 1;
}

Result<Function> CodeBuilder::finish() {
  const int count = static_cast<int>(function_.instructions.size());
  const auto position_of = [&](Label label) { return labels_[static_cast<size_t>(label)]; };
  for (int i = 0; i < count; ++i) {
    const Label label = targets_[static_cast<size_t>(i)];
    if (label < 0) continue;
    Instruction& instruction = function_.instructions[static_cast<size_t>(i)];
    instruction.target = position_of(label);
    if (instruction.target < 0 || instruction.target >= count)
      return Error::internal("bytecode", fmt::format("jump {} of {} has no target", i, function_.code.name));
    const bool forward = instruction.target > i;
    instruction.opcode = jump_in_direction(instruction.opcode, forward);
    const OpcodeInfo* info = opcode_info(function_.code.version, instruction.opcode);
    if (info == nullptr || info->jump != (forward ? 1 : -1))
      return Error::internal("bytecode", fmt::format("{} cannot jump {}", opcode_name(instruction.opcode),
                                                     forward ? "forward" : "backward"));
  }
  for (int begin = 0, end = 0; begin < count; begin = end) {
    const Region region = regions_[static_cast<size_t>(begin)];
    while (end < count && regions_[static_cast<size_t>(end)] == region) ++end;
    if (region == kNoRegion) continue;
    const PendingRegion& p = pending_[static_cast<size_t>(region)];
    if (position_of(p.handler) < 0)
      return Error::internal("bytecode", "exception handler without code in " + function_.code.name);
    function_.exception_regions.push_back(
        {begin, end, position_of(p.handler), p.depth, p.push_last_instruction});
  }
  return std::move(function_);
}

}  // namespace suture
