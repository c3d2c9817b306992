#include "bytecode/readable_cells.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "bytecode/instruction_editor.h"

namespace suture {
namespace {

bool is_own_cell(const CodeView& view, size_t slot) {
  return (view.local_kinds[slot] & kLocalCell) != 0 && (view.local_kinds[slot] & kLocalFree) == 0;
}

bool uses(const Instruction& instruction, Opcode opcode, size_t slot) {
  return instruction.opcode == opcode && instruction.arg == static_cast<int>(slot);
}

bool any_uses(const Function& function, Opcode opcode, size_t slot) {
  for (const Instruction& instruction : function.instructions)
    if (uses(instruction, opcode, slot)) return true;
  return false;
}

void replace_all(InstructionEditor& edit, size_t slot, Opcode from, Opcode to) {
  for (int i = 0; i < edit.count(); ++i)
    if (uses(edit.at(i), from, slot)) edit.replace(i, {edit.like(i, to, static_cast<int>(slot))});
}

void make_plain(InstructionEditor& edit, size_t slot) {
  replace_all(edit, slot, Opcode::LOAD_DEREF, Opcode::LOAD_FAST);
  replace_all(edit, slot, Opcode::STORE_DEREF, Opcode::STORE_FAST);
  replace_all(edit, slot, Opcode::DELETE_DEREF, Opcode::DELETE_FAST);
  for (int i = 0; i < edit.count(); ++i)
    if (uses(edit.at(i), Opcode::MAKE_CELL, slot)) edit.remove(i);
}

void make_cell(InstructionEditor& edit, size_t slot) {
  replace_all(edit, slot, Opcode::LOAD_FAST, Opcode::LOAD_DEREF);
  replace_all(edit, slot, Opcode::STORE_FAST, Opcode::STORE_DEREF);
}

// Cells are made before RESUME: those of parameters first, then the others by name. Transformed code makes some where it has
// their values.
void make_at_entry(InstructionEditor& edit, std::vector<int> slots) {
  const CodeView& view = edit.old().code;
  const auto place_of = [&](int slot) {
    const bool parameter = slot < view.parameter_count();
    return std::tuple(!parameter, parameter ? slot : 0, view.local_names[static_cast<size_t>(slot)]);
  };
  std::ranges::sort(slots, {}, place_of);
  for (int i = 0; i < edit.count(); ++i) {
    if (edit.is(i, Opcode::MAKE_CELL)) edit.remove(i);
    if (!edit.is(i, Opcode::RESUME) || edit.arg(i) != 0) continue;
    std::vector<Instruction> made;
    for (const int slot : slots) made.push_back(edit.like(i, Opcode::MAKE_CELL, slot));
    made.push_back(edit.at(i));
    edit.replace(i, std::move(made));
  }
}

}  // namespace

Function cells_as_variables(const Function& function, std::vector<int>& origin) {
  InstructionEditor edit(function);
  const CodeView& view = function.code;
  std::vector<uint8_t> kinds = view.local_kinds;
  std::vector<int> cells;
  for (size_t slot = 0; slot < view.local_kinds.size(); ++slot) {
    if (!is_own_cell(view, slot)) continue;
    if (!any_uses(function, Opcode::LOAD_CLOSURE, slot)) {
      make_plain(edit, slot);
      kinds[slot] = kLocalPlain;
    } else {
      make_cell(edit, slot);
      cells.push_back(static_cast<int>(slot));
    }
  }
  make_at_entry(edit, std::move(cells));
  Function out = edit.result(origin);
  out.code.local_kinds = std::move(kinds);
  return out;
}

}  // namespace suture
