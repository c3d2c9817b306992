// A loop that stays in Python, with its body in an iteration function:
//
//   for item in iterator:
//       exit, y, n = __iteration_at_20_2(item, x, y, n)
//       if exit: break
//   else: return __resume_at_60_3(y)
//   return __resume_at_48_4(iterator, y)        # one per exit; two or more are told apart by their number
//
// Locals that the loop writes live in their own slots; all others are evaluated before the loop and passed
// every time. Inside a try or with, an exception of an iteration comes back as one more exit, together with
// the locals that the handler may read.
#include <fmt/format.h>

#include <algorithm>

#include "bytecode/analysis.h"
#include "capture/output_ends.h"
#include "cpython/code_object.h"
#include "cpython/objects.h"

namespace suture {
namespace {

// True when a function nested in these constants assigns its free variable `name` (or cannot be read).
bool assigned_by_inner_function(PyView constants, const std::string& name) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); ++i) {
    PyView inner = PyTuple_GET_ITEM(constants, i);
    if (!PyCode_Check(inner)) continue;
    auto view = code_view(inner);
    auto nested = view.ok() ? decode_function(*view) : Result<Function>(view.error());
    if (!nested.ok()) return true;
    for (const Instruction& step : nested->instructions) {
      const bool assigns = step.opcode == Opcode::STORE_DEREF || step.opcode == Opcode::DELETE_DEREF;
      if (assigns && nested->code.local_names[static_cast<size_t>(step.arg)] == name) return true;
    }
    if (assigned_by_inner_function(code_constants(inner).get(), name)) return true;
  }
  return false;
}

class LoopEmitter {
 public:
  LoopEmitter(OutputWriter& writer, Continuations& continuations)
      : writer_(writer),
        continuations_(continuations),
        code_(writer.code()),
        original_(writer.original()),
        end_(writer.capture().end) {}

  Status emit() {
    SUTURE_TRY_VOID(find_loop());
    SUTURE_TRY_VOID(make_iteration());
    choose_locals();
    SUTURE_TRY_VOID(make_plans());
    SUTURE_TRY_VOID(hold_all());
    SUTURE_TRY_VOID(initialise());
    return emit_loop();
  }

 private:
  const Instruction& header() const { return original_.instructions[static_cast<size_t>(loop_.header)]; }
  static bool contains(const std::vector<int>& list, int value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  }
  bool is_cell(int local) const {
    return original_.code.local_kinds[static_cast<size_t>(local)] & kLocalCell;
  }

  Status find_loop() {
    std::vector<LoopRegion> loops = find_loops(original_);
    const auto found =
        std::find_if(loops.begin(), loops.end(), [&](const LoopRegion& l) { return l.header == end_.at; });
    if (found == loops.end())
      return Error::internal("output", fmt::format("no loop starts at instruction {}", end_.at));
    loop_ = std::move(*found);
    SUTURE_TRY(depths, stack_depths(original_));
    if (depths[static_cast<size_t>(loop_.header)] != static_cast<int>(end_.stack.size()))
      return Error::internal("output", "stack at a loop has the wrong depth");
    outer_ = end_.stack.size() - (loop_.is_for ? 1 : 0);
    around_ = region_around(original_, loop_);
    return ok_status();
  }

  Status make_iteration() {
    name_ = continuations_.new_name(kIterationName, loop_.header);
    find_shared_cells();
    SUTURE_TRY(iteration, make_iteration_function(original_, loop_, name_, shared_cells_));
    iteration_ = std::move(iteration);
    SUTURE_TRY(callable,
               continuations_.make(iteration_.function, iteration_.added_constants, FrameKind::kIteration));
    callable_ = std::move(callable);
    return ok_status();
  }

  void choose_locals() {
    before_ = local_items(writer_, continuations_);
    inside_ = before_;
    // A variable that the loop binds anew does not hold its old object afterwards.
    for (size_t i = 0; i < loop_.contains.size(); ++i) {
      const Instruction& step = original_.instructions[i];
      const bool binds = step.opcode == Opcode::STORE_FAST || step.opcode == Opcode::DELETE_FAST;
      if (loop_.contains[i] && binds && end_.kept.contains(step.arg)) inside_.erase(step.arg);
    }
    for (int local : iteration_.locals_out) {
      writer_.overwrite(local);
      inside_[local] = {Item::Kind::kSlot, local, false,
                        contains(iteration_.maybe_unbound_out, local) || !before_.count(local)};
    }
    for (int local : shared_cells_) {
      if (auto found = before_.find(local); found != before_.end() && found->second.is_cell) continue;
      new_cells_.push_back(local);
      writer_.overwrite(local);
      writer_.use_as_cell(local);
      inside_[local] = {Item::Kind::kClosure, local, true};
    }
  }

  // A cell variable that may still be assigned exists once, before the loop, and is passed itself: functions
  // made in one iteration see what later ones assign. All others are passed by their contents.
  void find_shared_cells() {
    const std::vector<bool> live = live_locals_at(original_, loop_.header);
    const std::vector<bool> reached = reachable_from(original_, loop_.header);
    PyRef constants = code_constants(function_code(writer_.original_function()));
    for (size_t local = 0; local < live.size(); ++local) {
      if (!live[local] || !is_cell(static_cast<int>(local))) continue;
      // A function that exists already holds the cell: there is no other one to make.
      const auto item = continuations_.local_item(static_cast<int>(local));
      bool assigned = (item && item->is_cell) || holds_cell_at_entry(original_, static_cast<int>(local)) ||
                      assigned_by_inner_function(constants.get(), original_.code.local_names[local]);
      for (size_t i = 0; i < reached.size(); ++i) {
        const Instruction& instruction = original_.instructions[i];
        const bool assigns =
            instruction.opcode == Opcode::STORE_DEREF || instruction.opcode == Opcode::DELETE_DEREF;
        assigned = assigned || (reached[i] && assigns && instruction.arg == static_cast<int>(local));
      }
      if (assigned) shared_cells_.push_back(static_cast<int>(local));
    }
  }

  std::vector<Item> stack_at_exit(size_t exit) const {
    std::vector<Item> stack = stack_items(writer_, outer_);
    if (loop_.is_for) stack.push_back({Item::Kind::kSlot, iterator_});
    for (int i = 0; i < iteration_.exit_stack[exit]; ++i)
      stack.push_back({Item::Kind::kSlot, extra_[static_cast<size_t>(i)]});
    return stack;
  }

  Status make_plans() {
    if (loop_.is_for) iterator_ = writer_.new_temporary("iterator");
    if (loop_.is_for) item_ = writer_.new_temporary("item");
    exit_ = writer_.new_temporary("exit");
    for (int i = 0; i < iteration_.returned_stack; ++i)
      extra_.push_back(writer_.new_temporary(fmt::format("leaving_{}", i)));
    if (around_ != nullptr) {
      SUTURE_TRY(handler, plan_handler(writer_, continuations_, *around_, inside_));
      handler_ = std::move(handler);
    }
    if (loop_.is_for) {
      SUTURE_TRY(plan, continuations_.plan(header().target, stack_items(writer_, outer_), inside_));
      exhausted_ = std::move(plan);
    }
    for (size_t k = 0; k < iteration_.exits.size(); ++k) {
      SUTURE_TRY(plan, continuations_.plan(iteration_.exits[k], stack_at_exit(k), inside_));
      exits_.push_back(std::move(plan));
    }
    return ok_status();
  }

  Status hold_all() {
    if (handler_) SUTURE_TRY_VOID(continuations_.hold(handler_->plan));
    if (exhausted_) SUTURE_TRY_VOID(continuations_.hold(*exhausted_));
    for (const ContinuationPlan& plan : exits_) SUTURE_TRY_VOID(continuations_.hold(plan));
    for (int local : iteration_.locals_in) {
      if (auto found = inside_.find(local);
          found != inside_.end() && found->second.kind == Item::Kind::kRecipe)
        SUTURE_TRY_VOID(writer_.hold(found->second.id));
    }
    return ok_status();
  }

  void push_marker() { writer_.push_object(PyRef::borrow(unbound_marker()), "__unbound"); }

  // All pushes come before all stores: a store may overwrite the argument that a push reads. Nothing reads the iterator.
  Status initialise() {
    if (loop_.is_for) {
      SUTURE_TRY_VOID(writer_.push(end_.stack.back()));
      writer_.store(iterator_);
    }
    for (int local : iteration_.locals_out) {
      const auto found = before_.find(local);
      if (found != before_.end())
        SUTURE_TRY_VOID(continuations_.push(found->second));
      else
        push_marker();
    }
    for (int local : new_cells_) {
      if (auto found = before_.find(local); found != before_.end())
        SUTURE_TRY_VOID(continuations_.push(found->second));
    }
    for (auto local = new_cells_.rbegin(); local != new_cells_.rend(); ++local) make_cell(*local);
    for (auto local = iteration_.locals_out.rbegin(); local != iteration_.locals_out.rend(); ++local)
      writer_.store(*local);
    return ok_status();
  }

  void make_cell(int local) {
    if (before_.count(local))
      writer_.store(local);
    else if (local < code_.header().arg_count)
      code_.emit(Opcode::DELETE_FAST, local);
    code_.emit(Opcode::MAKE_CELL, local);
  }

  // One call of the iteration function; its results are unpacked into their slots.
  Status call_iteration() {
    code_.push_null();
    writer_.push_object(callable_, name_);
    int arguments = 0;
    if (loop_.is_for) {
      writer_.load(item_);
      ++arguments;
    }
    for (int local : iteration_.locals_in) {
      ++arguments;
      if (auto found = inside_.find(local); found != inside_.end()) {
        SUTURE_TRY_VOID(continuations_.push(found->second));
      } else if (contains(iteration_.maybe_unbound_in, local)) {
        push_marker();
      } else {
        return Error::internal("output", fmt::format("no value for {} at the loop",
                                                     original_.code.local_names[static_cast<size_t>(local)]));
      }
    }
    code_.call(arguments);
    code_.emit(Opcode::UNPACK_SEQUENCE,
               iteration_.returned_stack + 1 + static_cast<int>(iteration_.locals_out.size()));
    for (int slot : extra_) writer_.store(slot);
    writer_.store(exit_);
    for (int local : iteration_.locals_out) writer_.store(local);
    return ok_status();
  }

  Status emit_loop() {
    const auto top = code_.new_label(), exhausted = code_.new_label(), leave = code_.new_label();
    code_.set_position(header());
    if (loop_.is_for) writer_.load(iterator_);
    code_.set_region(handler_ ? handler_->region : CodeBuilder::kNoRegion);
    code_.bind(top);
    if (loop_.is_for) {
      code_.copy(header(), exhausted);
      writer_.store(item_);
    }
    SUTURE_TRY_VOID(call_iteration());
    if (leaves()) {
      writer_.load(exit_);
      code_.jump(Opcode::POP_JUMP_FORWARD_IF_TRUE, leave);
    }
    code_.jump(Opcode::JUMP_BACKWARD, top);
    code_.set_region(CodeBuilder::kNoRegion);
    if (exhausted_) {
      code_.bind(exhausted);
      SUTURE_TRY_VOID(continuations_.emit(*exhausted_));
    }
    if (leaves()) {
      code_.bind(leave);
      SUTURE_TRY_VOID(dispatch());
    }
    return handler_ ? emit_handler(writer_, continuations_, *handler_) : ok_status();
  }

  bool leaves() const { return !exits_.empty() || iteration_.exception_exit > 0; }

  Status dispatch() {
    if (loop_.is_for) code_.emit(Opcode::POP_TOP);
    for (size_t k = 0; k < exits_.size(); ++k) {
      const bool last = k + 1 == exits_.size() && iteration_.exception_exit == 0;
      const auto next = last ? CodeBuilder::Label(-1) : skip_unless_exit(static_cast<int>(k) + 1);
      SUTURE_TRY_VOID(continuations_.emit(exits_[k]));
      if (!last) code_.bind(next);
    }
    if (iteration_.exception_exit == 0) return ok_status();
    writer_.load(extra_[0]);
    writer_.store(handler_->exception_slot);
    return continuations_.emit(handler_->plan);
  }

  CodeBuilder::Label skip_unless_exit(int number) {
    constexpr int kEqual = 2;
    const auto next = code_.new_label();
    writer_.load(exit_);
    writer_.push_int(number);
    code_.emit(Opcode::COMPARE_OP, kEqual);
    code_.jump(Opcode::POP_JUMP_FORWARD_IF_FALSE, next);
    return next;
  }

  OutputWriter& writer_;
  Continuations& continuations_;
  CodeBuilder& code_;
  const Function& original_;
  const FrameEnd& end_;
  LoopRegion loop_;
  size_t outer_ = 0;  // stack values below the loop's own
  const ExceptionRegion* around_ = nullptr;
  IterationFunction iteration_;
  std::string name_;
  PyRef callable_;
  std::map<int, Item> before_, inside_;
  std::vector<int> shared_cells_, new_cells_, extra_;
  int iterator_ = -1, item_ = -1, exit_ = -1;
  std::optional<ContinuationPlan> exhausted_;
  std::vector<ContinuationPlan> exits_;
  std::optional<HandlerTail> handler_;
};

}  // namespace

Status emit_loop(OutputWriter& writer, Continuations& continuations) {
  return LoopEmitter(writer, continuations).emit();
}

}  // namespace suture
