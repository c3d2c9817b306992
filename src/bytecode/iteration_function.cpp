// make_iteration_function.
//
// Overview
//   Kept are the instructions of the loop, plus code behind it that still runs inside an exception handler (a
//   handler that re-raises or leaves the loop) or ends a with or try statement of its body (unfinished_blocks.h).
//   Every other edge out of the loop is an exit: the function returns its number, the written locals, and what
//   lies on the stack above the loop's own values. Back edges to the header are exit 0.
// Stack
//   The caller keeps what is on the stack at the header (below the item); the code of the iteration must not
//   reach it.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bytecode/analysis.h"
#include "bytecode/continuation.h"
#include "bytecode/continuation_frame.h"
#include "bytecode/unfinished_blocks.h"

namespace suture {

const ExceptionRegion* region_around(const Function& function, const LoopRegion& loop) {
  const ExceptionRegion* region = function.region_at(loop.header);
  if (region == nullptr || loop.contains[static_cast<size_t>(region->target)]) return nullptr;
  // A try inside the loop leaves at least the jump back uncovered; a try around the loop covers everything.
  for (size_t i = 0; i < loop.contains.size(); ++i) {
    if (loop.contains[i] && function.region_at(static_cast<int>(i)) == nullptr) return nullptr;
  }
  return region;
}

namespace {

using Bits = std::vector<bool>;

class IterationMaker {
 public:
  IterationMaker(const Function& original, const LoopRegion& loop, const std::vector<int>& passed_cells)
      : original_(original), loop_(loop), passed_cells_(passed_cells) {}

  Result<IterationFunction> make(const std::string& name) {
    SUTURE_TRY_VOID(check());
    SUTURE_TRY_VOID(walk());
    SUTURE_TRY_VOID(check_cells());
    choose_locals();
    ContinuationFrame frame(original_, name, keep_);
    frame_ = &frame;
    return emit();
  }

 private:
  const Instruction& at(int index) const { return original_.instructions[static_cast<size_t>(index)]; }
  bool is_plain(size_t local) const { return original_.code.local_kinds[local] == kLocalPlain; }

  Status check() {
    SUTURE_TRY_VOID(check_continuable(original_));
    SUTURE_TRY(depths, stack_depths(original_));
    depths_ = std::move(depths);
    handlers_ = handler_depths(original_);
    around_ = region_around(original_, loop_);
    base_ = depths_[static_cast<size_t>(loop_.header)];
    start_ = loop_.is_for ? loop_.header + 1 : loop_.header;
    if (base_ < 0) return Error::internal("continuation", "the loop is not reachable");
    if (handlers_[static_cast<size_t>(loop_.header)] > 0)
      return Error::unsupported("continuation", "the loop is inside an exception handler");
    return ok_status();
  }

  bool passes_cell(int local) const {
    const bool wanted = std::find(passed_cells_.begin(), passed_cells_.end(), local) != passed_cells_.end();
    return wanted || holds_cell_at_entry(original_, local);
  }

  // A cell that the loop assigns has to be the caller's: its contents do not come back.
  Status check_cells() const {
    for (size_t i = 0; i < keep_.size(); ++i) {
      const Instruction& instruction = original_.instructions[i];
      const bool assigns =
          instruction.opcode == Opcode::STORE_DEREF || instruction.opcode == Opcode::DELETE_DEREF;
      if (!keep_[i] || !assigns ||
          original_.code.local_kinds[static_cast<size_t>(instruction.arg)] & kLocalFree)
        continue;
      if (!passes_cell(instruction.arg))
        return Error::internal("continuation", "the loop assigns a cell that is not passed");
    }
    return ok_status();
  }

  bool in_region_around(int index) const {
    const ExceptionRegion* region = original_.region_at(index);
    return around_ != nullptr && region != nullptr && region->target == around_->target;
  }

  bool is_exit(int target) const {
    const size_t t = static_cast<size_t>(target);
    return !loop_.contains[t] && handlers_[t] == 0 && depths_[t] >= base_;
  }

  // Collects kept_ and exits_. What a statement of the body still runs shows once its handlers are kept.
  Status walk() {
    keep_.assign(original_.instructions.size(), false);
    const UnfinishedBlocks unfinished(original_, loop_, depths_, handlers_);
    std::vector<int> work{start_};
    while (!work.empty()) {
      SUTURE_TRY_VOID(walk_from(std::move(work)));
      work.clear();
      for (const int exit : exits_)
        if (unfinished.holds(exit, keep_)) work.push_back(exit);
      std::erase_if(exits_, [&](int exit) { return std::ranges::find(work, exit) != work.end(); });
    }
    describe_exits();
    return ok_status();
  }

  Status walk_from(std::vector<int> work) {
    for (const int start : work) keep_[static_cast<size_t>(start)] = true;
    const auto reach = [&](int target) {
      if (keep_[static_cast<size_t>(target)]) return;
      keep_[static_cast<size_t>(target)] = true;
      work.push_back(target);
    };
    while (!work.empty()) {
      const int index = work.back();
      work.pop_back();
      if (depths_[static_cast<size_t>(index)] - stack_use(original_, index).pops < base_)
        return Error::unsupported("continuation",
                                  fmt::format("{} in the loop body uses a value that lies below the loop",
                                              opcode_name(at(index).opcode)));
      for (int next : successors(original_, index)) {
        const ExceptionRegion* region = original_.region_at(index);
        const bool follows = next == index + 1 && !ends_block(at(index).opcode);
        const bool exception_edge =
            region != nullptr && next == region->target && !follows && next != at(index).target;
        if (next == loop_.header || (exception_edge && in_region_around(index))) continue;
        if (!exception_edge && is_exit(next) && !keep_[static_cast<size_t>(next)])
          exits_.push_back(next);
        else
          reach(next);
      }
    }
    std::sort(exits_.begin(), exits_.end());
    exits_.erase(std::unique(exits_.begin(), exits_.end()), exits_.end());
    return ok_status();
  }

  void describe_exits() {
    for (int exit : exits_) {
      out_.exit_stack.push_back(depths_[static_cast<size_t>(exit)] - base_);
      out_.returned_stack = std::max(out_.returned_stack, out_.exit_stack.back());
    }
    out_.exits = exits_;
    if (around_ != nullptr) {
      out_.exception_exit = static_cast<int>(exits_.size()) + 1;
      out_.returned_stack = std::max(out_.returned_stack, 1);
    }
  }

  Bits written_locals() const {
    Bits written(original_.code.local_names.size(), false);
    for (size_t i = 0; i < keep_.size(); ++i) {
      const Opcode opcode = original_.instructions[i].opcode;
      if (keep_[i] && (opcode == Opcode::STORE_FAST || opcode == Opcode::DELETE_FAST))
        written[static_cast<size_t>(original_.instructions[i].arg)] = true;
    }
    return written;
  }

  void choose_locals() {
    const auto live = live_locals(original_);
    const Bits written = written_locals();
    Bits bound_at_entry(original_.code.local_names.size(), false);
    for (int i = 0; i < original_.code.parameter_count(); ++i) bound_at_entry[static_cast<size_t>(i)] = true;
    const Bits bound = bound_locals(original_, 0, bound_at_entry)[static_cast<size_t>(loop_.header)];
    Bits bound_at_start(bound.size(), false);
    for (size_t local = 0; local < bound.size(); ++local) {
      const int id = static_cast<int>(local);
      if (live[static_cast<size_t>(start_)][local]) {
        out_.locals_in.push_back(id);
        if (is_plain(local) && !bound[local]) out_.maybe_unbound_in.push_back(id);
        bound_at_start[local] = bound[local] || !is_plain(local);
      }
      bool leaves = false;
      for (int end : ends()) leaves = leaves || live[static_cast<size_t>(end)][local];
      if (leaves && written[local] && is_plain(local)) out_.locals_out.push_back(id);
    }
    bound_ = bound_locals(original_, start_, bound_at_start);
    for (int local : out_.locals_out) {
      bool certain = true;
      for (int end : ends())
        certain = certain && bound_[static_cast<size_t>(end)][static_cast<size_t>(local)];
      if (!certain) out_.maybe_unbound_out.push_back(local);
    }
  }

  // Where the code goes on after the function: the next iteration, the exits, the handler around the loop.
  std::vector<int> ends() const {
    std::vector<int> all = exits_;
    all.push_back(loop_.header);
    if (around_ != nullptr) all.push_back(around_->target);
    return all;
  }

  Result<IterationFunction> emit() {
    out_.takes_item = loop_.is_for;
    if (out_.takes_item) frame_->add_parameter("item");
    for (int local : out_.locals_in) frame_->add_local_parameter(local, passes_cell(local));
    const Instruction& place = at(loop_.header);
    frame_->lay_out(place.line > 0 ? place.line : original_.code.first_line);
    frame_->begin(place, out_.maybe_unbound_in);
    if (out_.takes_item) frame_->code().emit(Opcode::LOAD_FAST, 0);
    if (std::find(keep_.begin(), keep_.end(), true) - keep_.begin() != start_)
      frame_->code().jump(Opcode::JUMP_FORWARD, frame_->label(start_));
    copy_body();
    SUTURE_TRY(function, frame_->code().finish());
    out_.function = std::move(function);
    out_.added_constants = frame_->take_constants();
    return std::move(out_);
  }

  void copy_body() {
    next_ = frame_->code().new_label();
    for (int exit : exits_) exit_labels_[exit] = frame_->code().new_label();
    const auto raised = frame_->code().new_label();
    const auto around =
        around_ == nullptr ? CodeBuilder::kNoRegion : frame_->code().new_region(raised, 0, false);
    const auto region_of = [&](int index) {
      return in_region_around(index) ? std::optional<CodeBuilder::Region>(around) : std::nullopt;
    };
    frame_->copy_kept([this](int target) { return redirect(target); }, region_of, base_);
    frame_->code().bind(next_);
    emit_exit(0, loop_.header, 0);
    for (size_t k = 0; k < exits_.size(); ++k) {
      frame_->code().bind(exit_labels_[exits_[k]]);
      emit_exit(static_cast<int>(k) + 1, exits_[k], out_.exit_stack[k]);
    }
    if (around_ == nullptr) return;
    frame_->code().bind(raised);
    emit_exit(out_.exception_exit, around_->target, 1);
  }

  CodeBuilder::Label redirect(int target) const {
    if (target == loop_.header) return next_;
    const auto found = exit_labels_.find(target);
    return found == exit_labels_.end() ? -1 : found->second;
  }

  // On the stack: the exit's own values.
  void emit_exit(int number, int target, int depth) {
    frame_->code().set_position(at(target));
    for (; depth < out_.returned_stack; ++depth) frame_->push_marker();
    frame_->push_int(number);
    ++depth;
    for (int local : out_.locals_out)
      push_local(local, bound_[static_cast<size_t>(target)][static_cast<size_t>(local)], depth++);
    frame_->code().emit(Opcode::BUILD_TUPLE, depth);
    frame_->code().emit(Opcode::RETURN_VALUE);
  }

  // A local that may be unbound is read under a handler that pushes the marker instead.
  void push_local(int local, bool certainly_bound, int depth) {
    CodeBuilder& code = frame_->code();
    if (certainly_bound) return code.emit(Opcode::LOAD_FAST, frame_->slot(local));
    const auto unbound = code.new_label(), done = code.new_label();
    code.set_region(code.new_region(unbound, depth, false));
    code.emit(Opcode::LOAD_FAST, frame_->slot(local));
    code.set_region(CodeBuilder::kNoRegion);
    code.jump(Opcode::JUMP_FORWARD, done);
    code.bind(unbound);
    code.emit(Opcode::POP_TOP);
    frame_->push_marker();
    code.bind(done);
  }

  const Function& original_;
  const LoopRegion& loop_;
  const std::vector<int>& passed_cells_;
  std::vector<int> depths_, handlers_;
  const ExceptionRegion* around_ = nullptr;
  int base_ = 0, start_ = 0;
  Bits keep_;
  std::vector<int> exits_;
  std::vector<Bits> bound_;
  ContinuationFrame* frame_ = nullptr;
  CodeBuilder::Label next_ = -1;
  std::map<int, CodeBuilder::Label> exit_labels_;
  IterationFunction out_;
};

}  // namespace

Result<IterationFunction> make_iteration_function(const Function& original, const LoopRegion& loop,
                                                  const std::string& name,
                                                  const std::vector<int>& passed_cells) {
  return IterationMaker(original, loop, passed_cells).make(name);
}

}  // namespace suture
