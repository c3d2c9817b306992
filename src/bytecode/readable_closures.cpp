// How it works: a walk over straight code with what made each stack value finds the calls of __cell and which item of which
// closure they become. Values of cells are only pushed, so they can be stored before the statement that takes the cell.
#include "bytecode/readable_closures.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "bytecode/added_names.h"
#include "bytecode/analysis.h"
#include "bytecode/code_tree.h"
#include "bytecode/instruction_editor.h"
#include "bytecode/output_names.h"

namespace suture {
namespace {

constexpr int kClosureFlag = 8;  // of MAKE_FUNCTION

// One call of __cell. Places.
struct MadeCell {
  int null = -1, call = -1;  // PUSH_NULL and CALL
  int copy = -1, store = -1;
  int variable = -1;  // that is stored; -1: none
  int slot = -1;      // the variable of ours that has its contents
};

class CellNamer {
 public:
  CellNamer(const Function& function, const std::vector<Constant>& constants)
      : edit_(function), names_(function.code), constants_(constants), kinds_(function.code.local_kinds) {}

  Function run(std::vector<int>& origin) {
    walk();
    for (auto& [call, cell] : cells_) choose_name(cell);
    for (const auto& [call, cell] : cells_) write(cell);
    for (size_t slot = 0; slot < code().local_names.size(); ++slot)
      if (holds_cell(static_cast<int>(slot))) leave_copies_out(static_cast<int>(slot));
    for (int i = 0; i < edit_.count(); ++i)
      if (edit_.is(i, Opcode::LOAD_CLOSURE) && !in_closure_.contains(i))
        own_[i] = {edit_.like(i, Opcode::LOAD_DEREF, edit_.arg(i))};
    for (const auto& [place, before] : before_) own_.try_emplace(place, std::vector{edit_.at(place)});
    for (auto& [place, instructions] : own_) {
      if (const auto before = before_.find(place); before != before_.end())
        instructions.insert(instructions.begin(), before->second.begin(), before->second.end());
      edit_.replace(place, std::move(instructions));
    }
    Function out = names_.put_into(edit_.result(origin));
    for (size_t slot = 0; slot < kinds_.size(); ++slot) out.code.local_kinds[slot] = kinds_[slot];
    return out;
  }

 private:
  const CodeView& code() const { return edit_.old().code; }
  bool is_cell_function(int i) const {
    return edit_.is(i, Opcode::LOAD_DEREF) && edit_.is(i - 1, Opcode::PUSH_NULL) &&
           code().local_names[static_cast<size_t>(edit_.arg(i))] == kCellName;
  }

  // `stack`: the place that made each value; a copy was made where its original was.
  void walk() {
    std::vector<int> stack;
    for (int i = 0; i < edit_.count(); ++i) {
      if (edit_.is_target(i)) stack.clear();
      if (edit_.is(i, Opcode::BUILD_TUPLE)) note_closure(i, stack);
      if (edit_.is(i, Opcode::COPY) && edit_.arg(i) == 1 && !stack.empty()) {
        stack.push_back(stack.back());
        continue;
      }
      const StackUse use = stack_use(edit_.old(), i);
      if (edit_.is(i, Opcode::CALL)) note_cell(i, stack);
      const auto pops = std::min(stack.size(), static_cast<size_t>(use.pops));
      if (edit_.is(i, Opcode::PRECALL)) continue;
      stack.resize(stack.size() - pops);
      stack.insert(stack.end(), static_cast<size_t>(use.pushes), i);
    }
  }

  void note_cell(int call, const std::vector<int>& stack) {
    const auto reach = static_cast<size_t>(edit_.arg(call)) + 2;
    if (stack.size() < reach || edit_.arg(call) > 1) return;
    const int null = stack[stack.size() - reach];
    if (!is_cell_function(null + 1)) return;
    if (edit_.arg(call) == 1 && !(call - 1 - null == 3)) return;  // more than one push
    MadeCell cell{.null = null, .call = call};
    if (edit_.is(call + 1, Opcode::COPY) && edit_.is(call + 2, Opcode::STORE_FAST)) cell.copy = call + 1;
    const int store = cell.copy >= 0 ? call + 2 : call + 1;
    if (edit_.is(store, Opcode::STORE_FAST)) {
      cell.store = store;
      cell.variable = edit_.arg(store);
    }
    cells_[call] = cell;
  }

  void note_closure(int tuple, const std::vector<int>& stack) {
    const auto size = static_cast<size_t>(edit_.arg(tuple));
    const bool is_closure = edit_.is(tuple + 1, Opcode::LOAD_CONST) &&
                            edit_.is(tuple + 2, Opcode::MAKE_FUNCTION) &&
                            (edit_.arg(tuple + 2) & kClosureFlag);
    if (!is_closure || stack.size() < size) return;
    const Constant& inner = constants_[static_cast<size_t>(edit_.arg(tuple + 1))];
    if (!inner.is(Constant::Kind::kCode)) return;
    std::vector<std::string> free;
    const CodeView& view = inner.code->view;
    for (size_t i = 0; i < view.local_names.size(); ++i)
      if (view.local_kinds[i] & kLocalFree) free.push_back(view.local_names[i]);
    if (free.size() != size) return;
    for (size_t item = 0; item < size; ++item) in_closure_[stack[stack.size() - size + item]] = free[item];
  }

  // The name of the first closure that takes the cell.
  std::optional<std::string> name_of(const MadeCell& cell) const {
    if (const auto found = in_closure_.find(cell.call); found != in_closure_.end()) return found->second;
    for (const auto& [place, name] : in_closure_)
      if (edit_.is(place, Opcode::LOAD_FAST) && edit_.arg(place) == cell.variable) return name;
    return std::nullopt;
  }

  bool is_used(int slot, int except) const {
    for (int i = 0; i < edit_.count(); ++i) {
      const bool variable = edit_.is(i, Opcode::LOAD_FAST) || edit_.is(i, Opcode::STORE_FAST) ||
                            edit_.is(i, Opcode::LOAD_DEREF) || edit_.is(i, Opcode::LOAD_CLOSURE) ||
                            edit_.is(i, Opcode::STORE_DEREF);
      if (variable && edit_.arg(i) == slot && i != except) return true;
    }
    return false;
  }
  bool is_stored(int slot) const {
    for (int i = 0; i < edit_.count(); ++i)
      if ((edit_.is(i, Opcode::STORE_FAST) || edit_.is(i, Opcode::STORE_DEREF)) && edit_.arg(i) == slot)
        return true;
    return false;
  }
  bool takes_itself(const MadeCell& cell, int slot) const {
    return edit_.arg(cell.call) == 1 && edit_.is(cell.null + 2, Opcode::LOAD_FAST) &&
           edit_.arg(cell.null + 2) == slot;
  }

  void choose_name(MadeCell& cell) {
    const auto name = name_of(cell);
    if (!name) return;
    const auto& names = code().local_names;
    const int slot = static_cast<int>(std::ranges::find(names, *name) - names.begin());
    if (slot == static_cast<int>(names.size())) {
      for (const auto& [call, other] : cells_)
        if (other.slot >= static_cast<int>(names.size()) && added_[other.slot] == *name) return;
      cell.slot = names_.new_local(*name);
      added_[cell.slot] = *name;
      kinds_.push_back(kLocalCell);
      return;
    }
    const bool own = !(code().local_kinds[static_cast<size_t>(slot)] & kLocalFree);
    if (!own || (takes_itself(cell, slot) ? is_stored(slot) : is_used(slot, -1))) return;
    cell.slot = slot;
    const bool parameter = slot < code().parameter_count();
    kinds_[static_cast<size_t>(slot)] = parameter ? kLocalPlain | kLocalCell : kLocalCell;
  }

  void write(const MadeCell& cell) {
    if (cell.slot >= 0)
      write_named(cell);
    else if (!name_of(cell) && cell.store == cell.call + 1 && edit_.arg(cell.call) == 1)
      for (const int place : {cell.null, cell.null + 1, cell.call - 1, cell.call}) own_[place] = {};
  }

  void write_named(const MadeCell& cell) {
    for (int place = cell.null; place <= cell.call; ++place) own_[place] = {};
    if (cell.copy >= 0) own_[cell.copy] = {};
    if (cell.store >= 0) own_[cell.store] = {};
    const bool stays = cell.copy >= 0 || cell.store < 0;  // on the stack, for a closure
    if (stays) own_[cell.call] = {edit_.like(cell.call, Opcode::LOAD_CLOSURE, cell.slot)};
    if (edit_.arg(cell.call) == 1 && !takes_itself(cell, cell.slot)) {
      auto& before = before_[stays ? statement_of(cell.null) : cell.null];
      before.push_back(edit_.at(cell.null + 2));
      before.push_back(edit_.like(cell.null, Opcode::STORE_DEREF, cell.slot));
    }
    if (cell.variable >= 0) load_instead(cell.variable, cell.slot);
  }

  void load_instead(int variable, int slot) {
    for (int i = 0; i < edit_.count(); ++i)
      if (edit_.is(i, Opcode::LOAD_FAST) && edit_.arg(i) == variable && !own_.contains(i))
        own_[i] = {edit_.like(i, in_closure_.contains(i) ? Opcode::LOAD_CLOSURE : Opcode::LOAD_DEREF, slot)};
  }

  // A parameter whose argument is the cell itself: its variable is loaded by LOAD_DEREF, the cell by LOAD_FAST.
  bool holds_cell(int slot) const {
    const auto kind = code().local_kinds[static_cast<size_t>(slot)];
    if (slot >= code().parameter_count() || !(kind & kLocalCell)) return false;
    for (int i = 0; i < edit_.count(); ++i)
      if (edit_.is(i, Opcode::MAKE_CELL) && edit_.arg(i) == slot) return false;
    return true;
  }

  // The cell itself in another variable, and back.
  void leave_copies_out(int slot) {
    for (int i = 0; i + 1 < edit_.count(); ++i) {
      if (!edit_.is(i, Opcode::LOAD_FAST) || edit_.arg(i) != slot || !edit_.is(i + 1, Opcode::STORE_FAST))
        continue;
      const int copy = edit_.arg(i + 1);
      if (copy == slot) continue;
      own_[i] = own_[i + 1] = {};
      for (int back = i + 2; back + 1 < edit_.count(); ++back)
        if (edit_.is(back, Opcode::LOAD_FAST) && edit_.arg(back) == copy &&
            edit_.is(back + 1, Opcode::STORE_FAST) && edit_.arg(back + 1) == slot)
          own_[back] = own_[back + 1] = {};
      load_instead(copy, slot);
    }
  }

  // The place where the stack was empty last.
  int statement_of(int place) const {
    for (int i = place, depth = 0; i > 0; --i) {
      const StackUse use = stack_use(edit_.old(), i - 1);
      depth += use.pops - use.pushes;
      if (edit_.is_target(i) || edit_.is(i - 1, Opcode::STORE_FAST) || edit_.is(i - 1, Opcode::STORE_DEREF) ||
          edit_.is(i - 1, Opcode::POP_TOP) || edit_.is(i - 1, Opcode::RESUME))
        return i;
    }
    return place;
  }

  InstructionEditor edit_;
  AddedNames names_;
  const std::vector<Constant>& constants_;
  std::vector<uint8_t> kinds_;
  std::map<int, MadeCell> cells_;          // by the place of their call
  std::map<int, std::string> in_closure_;  // places that make an item of a closure, and the name it has there
  std::map<int, std::string> added_;       // variables
  std::map<int, std::vector<Instruction>> own_, before_;  // what stands at a place, and before it
};

}  // namespace

Function cells_of_closures(const Function& transformed, const std::vector<Constant>& constants,
                           std::vector<int>& origin) {
  return CellNamer(transformed, constants).run(origin);
}

}  // namespace suture
