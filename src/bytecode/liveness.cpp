// Liveness and definite assignment of locals: two data-flow problems over bit sets, solved by a work list.
//
// Exceptions: an instruction inside an exception region may leave it before it has written anything, so what
// is live at the handler is live before the instruction, and only what was bound before the instruction is
// bound at the handler.
#include <algorithm>
#include <deque>

#include "bytecode/analysis.h"

namespace suture {
namespace {

using Bits = std::vector<bool>;

struct LocalAccess {
  int local = -1;
  bool reads = false, writes = false, unbinds = false;
};

bool is_free(const Function& function, int local) {
  return function.code.local_kinds[static_cast<size_t>(local)] & kLocalFree;
}

LocalAccess access_of(const Function& function, const Instruction& instruction) {
  const OpcodeInfo* info = opcode_info(function.code.version, instruction.opcode);
  const int count = static_cast<int>(function.code.local_names.size());
  if (info == nullptr || instruction.arg < 0 || instruction.arg >= count) return {};
  if (info->operand == Operand::kLocal) {
    switch (instruction.opcode) {
      case Opcode::STORE_FAST: return {instruction.arg, false, true, false};
      case Opcode::DELETE_FAST:
        return {instruction.arg, true, false, true};  // deleting an unbound local raises
      default: return {instruction.arg, true, false, false};
    }
  }
  if (info->operand == Operand::kCell) {
    const bool binds = instruction.opcode == Opcode::STORE_DEREF;
    return {instruction.arg, true, binds, instruction.opcode == Opcode::DELETE_DEREF};
  }
  return {};
}

bool merge_or(Bits& into, const Bits& from) {
  bool changed = false;
  for (size_t i = 0; i < into.size(); ++i) {
    if (from[i] && !into[i]) into[i] = changed = true;
  }
  return changed;
}

bool merge_and(Bits& into, const Bits& from) {
  bool changed = false;
  for (size_t i = 0; i < into.size(); ++i) {
    if (!from[i] && into[i]) {
      into[i] = false;
      changed = true;
    }
  }
  return changed;
}

std::vector<std::vector<int>> predecessors(const Function& function) {
  std::vector<std::vector<int>> result(function.instructions.size());
  for (int i = 0; i < static_cast<int>(result.size()); ++i) {
    for (int next : successors(function, i)) result[static_cast<size_t>(next)].push_back(i);
  }
  return result;
}

// live-in of one instruction from the live-ins of its successors.
Bits live_before(const Function& function, int index, const std::vector<Bits>& live) {
  const Instruction& instruction = function.instructions[static_cast<size_t>(index)];
  Bits bits(function.code.local_names.size(), false);
  if (!ends_block(instruction.opcode) && index + 1 < static_cast<int>(live.size()))
    merge_or(bits, live[static_cast<size_t>(index) + 1]);
  if (instruction.target >= 0) merge_or(bits, live[static_cast<size_t>(instruction.target)]);
  const LocalAccess access = access_of(function, instruction);
  if (access.local >= 0 && access.writes && !access.reads) bits[static_cast<size_t>(access.local)] = false;
  if (access.local >= 0 && access.reads && !is_free(function, access.local))
    bits[static_cast<size_t>(access.local)] = true;
  if (const ExceptionRegion* region = function.region_at(index))
    merge_or(bits, live[static_cast<size_t>(region->target)]);
  return bits;
}

}  // namespace

std::vector<Bits> live_locals(const Function& function) {
  const int count = static_cast<int>(function.instructions.size());
  std::vector<Bits> live(static_cast<size_t>(count), Bits(function.code.local_names.size(), false));
  const auto before = predecessors(function);
  std::deque<int> work;
  for (int i = count - 1; i >= 0; --i) work.push_back(i);
  Bits queued(static_cast<size_t>(count), true);
  while (!work.empty()) {
    const int index = work.front();
    work.pop_front();
    queued[static_cast<size_t>(index)] = false;
    if (!merge_or(live[static_cast<size_t>(index)], live_before(function, index, live))) continue;
    for (int p : before[static_cast<size_t>(index)]) {
      if (queued[static_cast<size_t>(p)]) continue;
      queued[static_cast<size_t>(p)] = true;
      work.push_back(p);
    }
  }
  return live;
}

std::vector<bool> live_locals_at(const Function& function, int index) {
  return live_locals(function)[static_cast<size_t>(index)];
}

std::vector<Bits> bound_locals(const Function& function, int start, const Bits& bound_at_start) {
  std::vector<Bits> bound(function.instructions.size(), Bits(function.code.local_names.size(), true));
  bound[static_cast<size_t>(start)] = bound_at_start;
  Bits visited(function.instructions.size(), false);
  std::vector<int> work{start};
  visited[static_cast<size_t>(start)] = true;
  while (!work.empty()) {
    const int index = work.back();
    work.pop_back();
    const LocalAccess access = access_of(function, function.instructions[static_cast<size_t>(index)]);
    Bits after = bound[static_cast<size_t>(index)];
    if (access.local >= 0 && access.writes) after[static_cast<size_t>(access.local)] = true;
    if (access.local >= 0 && access.unbinds) after[static_cast<size_t>(access.local)] = false;
    const ExceptionRegion* region = function.region_at(index);
    for (int next : successors(function, index)) {
      const bool handler = region != nullptr && next == region->target;
      bool changed = merge_and(bound[static_cast<size_t>(next)], after);
      if (handler && merge_and(bound[static_cast<size_t>(next)], bound[static_cast<size_t>(index)]))
        changed = true;
      if (!changed && visited[static_cast<size_t>(next)]) continue;
      visited[static_cast<size_t>(next)] = true;
      work.push_back(next);
    }
  }
  return bound;
}

}  // namespace suture
