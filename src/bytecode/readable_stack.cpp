// How it works: a walk with the marks of every stack slot. An instruction that takes a waiting value needs it loaded at the
// last place before it where nothing that is there lies above; when there is none in straight code (a conditional expression
// in between, another way on which the value is there already), the value is pushed where it was, and the walk begins again.
#include "bytecode/readable_stack.h"

#include <algorithm>

#include "bytecode/analysis.h"

namespace suture {

void StackSinker::run(int at, const StackMarks& marks) {
  StackMarks left = marks;
  do {
    states_.assign(static_cast<size_t>(edit_.count()), std::nullopt);
    loads_.clear();
    own_.clear();
    before_.clear();
    work_.clear();
    for (int& mark : left)
      if (mark != kThere && fixed_.contains(mark)) mark = kThere;
  } while (!walk(at, left));
}

bool StackSinker::walk(int at, const StackMarks& marks) {
  if (!join(at, marks)) return false;
  while (!work_.empty()) {
    const int i = work_.back();
    work_.pop_back();
    const StackMarks here = *states_[static_cast<size_t>(i)];
    const auto after = step(i, here);
    if (!after) return false;
    const Instruction& instruction = edit_.at(i);
    if (!ends_block(instruction.opcode) && !join(i + 1, after->next)) return false;
    if (instruction.target >= 0 && !join(instruction.target, after->jump)) return false;
    if (const ExceptionRegion* region = edit_.old().region_at(i)) {
      StackMarks raised = here;
      raised.resize(static_cast<size_t>(region->depth), kThere);
      raised.resize(raised.size() + (region->push_last_instruction ? 2 : 1), kThere);
      if (!join(region->target, raised)) return false;
    }
  }
  return true;
}

bool StackSinker::join(int place, const StackMarks& marks) {
  if (place >= edit_.count()) return true;
  auto& known = states_[static_cast<size_t>(place)];
  if (!known) {
    known = marks;
    work_.push_back(place);
    return true;
  }
  for (size_t slot = 0; slot < std::min(marks.size(), known->size()); ++slot)
    if (marks[slot] != (*known)[slot]) return give_up(std::max(marks[slot], (*known)[slot]));
  return true;
}

std::optional<StackSinker::After> StackSinker::step(int i, const StackMarks& marks) {
  const Instruction& instruction = edit_.at(i);
  const size_t depth = marks.size();
  const auto reach = static_cast<size_t>(std::max(instruction.arg, 0));
  StackMarks after = marks;
  if (instruction.opcode == Opcode::POP_TOP && depth > 0) {
    if (marks.back() != kThere) own_[i] = {};
    after.pop_back();
    return After{after, after};
  }
  if (instruction.opcode == Opcode::COPY && reach >= 1 && reach <= depth) {
    const int copied = marks[depth - reach];
    if (copied != kThere)
      own_[i] = {};
    else
      own_[i] = {edit_.like(
          i, Opcode::COPY, static_cast<int>(std::count(marks.end() - instruction.arg, marks.end(), kThere)))};
    after.push_back(copied);
    return After{after, after};
  }
  if (instruction.opcode == Opcode::SWAP && reach >= 1 && reach <= depth) return swap(i, std::move(after));
  const StackUse use = stack_use(edit_.old(), i);
  const size_t kept = depth - std::min(depth, static_cast<size_t>(use.pops));
  for (size_t slot = kept; slot < depth; ++slot)
    if (marks[slot] != kThere && !load_for(i, slot, marks[slot])) return std::nullopt;
  after.resize(kept);
  StackMarks jump = after;
  after.resize(kept + static_cast<size_t>(use.pushes), kThere);
  jump.resize(kept + static_cast<size_t>(use.pushes_on_jump), kThere);
  return After{std::move(after), std::move(jump)};
}

// Values that are there keep their order, or a SWAP of them does it.
std::optional<StackSinker::After> StackSinker::swap(int i, StackMarks marks) {
  const auto low = marks.end() - edit_.arg(i), top = marks.end() - 1;
  const auto between = low + 1 < top ? std::count(low + 1, top, kThere) : 0;
  // A value that is returned from inside of a block: it is computed there, and the block's value goes on top of it.
  if (*low == kThere && *top != kThere && between == 0 && !edit_.is_target(i)) {
    before_[i] = *top;
    own_[i] = {edit_.like(i, Opcode::SWAP, 2)};
    *top = kThere;
    return After{marks, marks};
  }
  if (*low != kThere || *top != kThere) {
    if (between > 0 && *low != *top) {
      give_up(std::max(*low, *top));
      return std::nullopt;
    }
    own_[i] = {};
  } else {
    own_[i] = {edit_.like(i, Opcode::SWAP, static_cast<int>(between) + 2)};
  }
  std::iter_swap(low, top);
  return After{marks, marks};
}

bool StackSinker::load_for(int i, size_t slot, int push) {
  for (int place = i;; --place) {
    const StackMarks& marks = *states_[static_cast<size_t>(place)];
    if (slot >= marks.size() || marks[slot] != push) return give_up(push);
    const auto above = marks.begin() + static_cast<std::ptrdiff_t>(slot) + 1;
    if (std::find(above, marks.end(), kThere) == marks.end()) {
      loads_[place][slot] = push;
      return true;
    }
    if (edit_.is_target(place) || place == 0 || edit_.at(place - 1).target >= 0 ||
        ends_block(edit_.at(place - 1).opcode) || !states_[static_cast<size_t>(place) - 1])
      return give_up(push);
  }
}

int StackSinker::waiting_below(const ExceptionRegion& region) const {
  const auto& marks = states_[static_cast<size_t>(region.target)];
  if (!marks) return 0;
  const auto depth = std::min(std::ssize(*marks), static_cast<std::ptrdiff_t>(region.depth));
  return static_cast<int>(depth - std::count(marks->begin(), marks->begin() + depth, kThere));
}

std::map<int, Instruction> StackSinker::loads_before() const {
  std::map<int, Instruction> all;
  for (const auto& [place, push] : before_) {
    const Instruction& pushed = edit_.at(pushes_[static_cast<size_t>(push)]);
    all.emplace(place, edit_.like(place, pushed.opcode, pushed.arg));
  }
  return all;
}

std::map<int, std::vector<Instruction>> StackSinker::changes() const {
  std::map<int, std::vector<Instruction>> all = own_;
  for (const auto& [place, slots] : loads_) {
    std::vector<Instruction> with_loads;
    for (const auto& [slot, push] : slots)
      with_loads.push_back(edit_.like(place, edit_.at(pushes_[static_cast<size_t>(push)]).opcode,
                                      edit_.arg(pushes_[static_cast<size_t>(push)])));
    const auto own = own_.find(place);
    if (own == own_.end())
      with_loads.push_back(edit_.at(place));
    else
      with_loads.insert(with_loads.end(), own->second.begin(), own->second.end());
    all[place] = std::move(with_loads);
  }
  return all;
}

}  // namespace suture
