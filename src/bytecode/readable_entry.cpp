// How continuations begin: see readable_blocks.h.
//
// How it works
//   The values that are pushed at the beginning play three parts: the __exit__ of a with statement that was entered
//   elsewhere, the exception that the code goes on to handle, and values that later code takes. With statements are entered
//   in their order, each inside of the try statements that were around it; the exception is raised again inside of all; other
//   values are loaded where they are used (readable_stack.h).
#include <algorithm>
#include <optional>
#include <string>

#include "bytecode/added_names.h"
#include "bytecode/continuation.h"
#include "bytecode/instruction_editor.h"
#include "bytecode/output_names.h"
#include "bytecode/readable_blocks.h"
#include "bytecode/readable_stack.h"

namespace suture {
namespace {

class Enterer {
 public:
  explicit Enterer(const Function& function) : edit_(function), names_(function.code) {}

  Function run(std::vector<int>& origin) {
    find_stack_values();
    if (!pushes_.empty()) begin();
    return names_.put_into(edit_.result(origin));
  }

 private:
  bool is_stack_value(int i) const {
    if (!edit_.is(i, Opcode::LOAD_FAST)) return false;
    const auto slot = static_cast<size_t>(edit_.arg(i));
    const CodeView& view = edit_.old().code;
    if (edit_.arg(i) >= view.parameter_count() || slot >= view.local_names.size() ||
        !view.local_names[slot].starts_with(kStackValueName))
      return false;
    for (int other = 0; other < edit_.count(); ++other)
      if ((edit_.is(other, Opcode::STORE_FAST) || edit_.is(other, Opcode::DELETE_FAST)) &&
          edit_.arg(other) == edit_.arg(i))
        return false;  // a variable of the program's
    return true;
  }

  // The pushes at the beginning, the lowest first.
  void find_stack_values() {
    int i = 0;
    while (i < edit_.count() && !edit_.is(i, Opcode::RESUME)) ++i;
    for (++i; i < edit_.count() && !edit_.is_target(i); ++i) {
      if (!is_stack_value(i) && !edit_.is(i, Opcode::PUSH_NULL) && !edit_.is(i, Opcode::NOP)) break;
      if (!edit_.is(i, Opcode::NOP)) pushes_.push_back(i);
    }
    while (!pushes_.empty() && edit_.is(pushes_.back(), Opcode::PUSH_NULL))
      i = pushes_.back(), pushes_.pop_back();
    end_ = i;
  }

  void begin() {
    const bool jumps = edit_.is(end_, Opcode::JUMP_FORWARD);
    at_ = jumps ? edit_.at(end_).target : end_;
    count_ = static_cast<int>(pushes_.size());
    StackMarks marks;
    find_handler();
    around_ = handler_ ? regions_around_handler() : regions_around(edit_.old().region_at(at_));
    std::set<int> fixed;
    for (int slot = 0; slot < count_; ++slot)
      if (left_region(slot)) fixed.insert(slot);
    for (int slot = 0; slot < count_; ++slot) marks.push_back(fixed.contains(slot) ? kThere : slot);
    if (handler_) marks.resize(marks.size() + (handler_->push_last_instruction ? 2 : 1), kThere);
    StackSinker sinker(edit_, pushes_, fixed);
    sinker.run(at_, marks);
    for (auto& [place, instructions] : sinker.changes()) {
      if (place == at_ && !instructions.empty() && instructions.back().opcode == Opcode::RERAISE)
        instructions.back() = edit_.like(at_, Opcode::RAISE_VARARGS, 1);
      edit_.replace(place, std::move(instructions));
    }
    for (ExceptionRegion& region : edit_.regions()) region.depth -= sinker.waiting_below(region);
    write_beginning(sinker);
    for (const auto& [place, load] : sinker.loads_before())
      edit_.insert_behind(place == at_ ? last_of_beginning_ : place - 1, load);
  }

  // The code begins where an exception is handled: the exception is on top, below it the place where a with statement was.
  void find_handler() {
    if (!edit_.is(at_, Opcode::PUSH_EXC_INFO)) return;
    const bool with = edit_.is(at_ + 1, Opcode::WITH_EXCEPT_START);
    if (count_ < (with ? 2 : 1)) return;
    exception_ = pushes_.back();
    count_ -= with ? 2 : 1;
    handler_ = ExceptionRegion{0, 0, at_, count_, with};
  }

  // The statements around a place, the innermost first. Behind its exception, a handler has a cleanup of its own.
  std::vector<ExceptionRegion> regions_around(const ExceptionRegion* region) const {
    std::vector<ExceptionRegion> all;
    while (region != nullptr && all.size() < edit_.old().exception_regions.size()) {
      if (!edit_.is(region->target, Opcode::COPY)) all.push_back(*region);
      region = edit_.old().region_at(region->target);
    }
    return all;
  }
  std::vector<ExceptionRegion> regions_around_handler() const {
    std::vector<ExceptionRegion> all = regions_around(edit_.old().region_at(at_));
    all.insert(all.begin(), *handler_);
    return all;
  }

  // The region of the with statement whose exit is this stack value and that this function does not enter.
  std::optional<ExceptionRegion> left_region(int slot) const {
    const auto is_it = [&](const ExceptionRegion& region) {
      return region.depth == slot + 1 && region.push_last_instruction &&
             edit_.is(region.target, Opcode::PUSH_EXC_INFO) &&
             edit_.is(region.target + 1, Opcode::WITH_EXCEPT_START) && !is_entered_here(region.target);
    };
    for (const auto* regions : {&around_, &edit_.old().exception_regions})
      if (const auto found = std::ranges::find_if(*regions, is_it); found != regions->end()) return *found;
    return std::nullopt;
  }

  bool is_entered_here(int handler) const {
    return std::ranges::any_of(edit_.old().exception_regions, [&](const ExceptionRegion& region) {
      return region.target == handler && edit_.is(region.begin - 1, Opcode::BEFORE_WITH);
    });
  }

  // What begins with `depth` values below it is inside of the statements that keep no more than these.
  void cover(int first, int end, int depth, const StackSinker& sinker) {
    const auto region =
        std::ranges::find_if(around_, [&](const ExceptionRegion& each) { return each.depth <= depth; });
    if (region == around_.end()) return;
    ExceptionRegion part = *region;
    part.begin = first;
    part.end = end;
    for (int slot = 0; slot < region->depth && slot < count_; ++slot) part.depth -= sinker.waits(slot);
    edit_.regions().push_back(part);
  }

  void write_beginning(const StackSinker& sinker) {
    struct Part {
      int place, depth;
    };
    std::vector<Part> parts;
    for (int slot = 0; slot < count_; ++slot) {
      const int push = pushes_[static_cast<size_t>(slot)];
      if (const auto region = left_region(slot)) {
        if (std::ranges::find(around_, region->target, &ExceptionRegion::target) == around_.end())
          around_.push_back(*region);
        parts.push_back({push, slot});
        enter(push);
        parts.push_back({edit_.insert_behind(push, edit_.like(push, Opcode::POP_TOP)), slot + 1});
      } else if (sinker.waits(slot)) {
        edit_.remove(push);
      } else {
        parts.push_back({push, slot});
      }
    }
    std::ranges::stable_sort(around_, std::greater{}, &ExceptionRegion::depth);
    for (size_t slot = static_cast<size_t>(count_); slot < pushes_.size(); ++slot)
      if (exception_ && (pushes_[slot] != *exception_)) edit_.remove(pushes_[slot]);
    int end = end_ + (edit_.is(end_, Opcode::JUMP_FORWARD) ? 1 : 0);
    if (exception_) {
      if (edit_.is(end_, Opcode::JUMP_FORWARD)) edit_.remove(end_);
      parts.push_back({*exception_, count_});
      const int raised = edit_.insert_behind(*exception_, edit_.like(*exception_, Opcode::RAISE_VARARGS, 1));
      end = edit_.insert_behind(raised, edit_.like(*exception_, Opcode::NOP));
    }
    last_of_beginning_ = parts.empty() ? end_ - 1 : parts.back().place;
    for (size_t i = 0; i < parts.size(); ++i)
      cover(parts[i].place, i + 1 < parts.size() ? parts[i + 1].place : end, parts[i].depth, sinker);
  }

  void enter(int push) {
    edit_.replace(push, {edit_.like(push, Opcode::LOAD_GLOBAL, names_.global_to_call(kEnteredName)),
                         edit_.at(push), edit_.like(push, Opcode::PRECALL, 1),
                         edit_.like(push, Opcode::CALL, 1), edit_.like(push, Opcode::BEFORE_WITH)});
  }

  InstructionEditor edit_;
  AddedNames names_;
  std::vector<int> pushes_;
  int end_ = 0, at_ = 0;  // behind the pushes; where the code goes on
  int last_of_beginning_ = 0;
  int count_ = 0;                           // of the pushes, those that are below the exception
  std::optional<int> exception_;            // its push
  std::optional<ExceptionRegion> handler_;  // of the exception
  std::vector<ExceptionRegion> around_;     // the innermost first
};

}  // namespace

Function blocks_entered_elsewhere(const Function& continuation, std::vector<int>& origin) {
  return Enterer(continuation).run(origin);
}

}  // namespace suture
