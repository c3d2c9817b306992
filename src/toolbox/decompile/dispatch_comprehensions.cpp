// Comprehensions that the compiler of 3.12 and later puts into the code around them, as expressions of a dispatch loop.
//
//     iterable; LOAD_FAST_AND_CLEAR x; SWAP; BUILD_LIST; SWAP; loop; SWAP; STORE_FAST x
// The stretch is taken out as code of its own, which takes its iterable from a variable and returns the result, and read like
// code of the first tier; what comes of it must be one comprehension.
#include "toolbox/decompile/dispatch_machine.h"
#include "toolbox/decompile/lift.h"

namespace suture::toolbox::dispatch {

using namespace syntax;  // NOLINT: makes nodes

namespace {

// The instructions of a comprehension.
struct Stretch {
  int first = 0;
  int loop = -1;
  int last = -1;           // the store that restores the last variable; -1: this is no comprehension
  int result_store = -1;   // a store of the result that stands before it: the compiler saves a SWAP
  bool dropped = false;    // or what drops the result
  std::vector<int> saved;  // variables
};

class StretchFinder {
 public:
  explicit StretchFinder(const LiftedCode& code) : code_(code) {}

  Stretch find(int first) {
    found_.first = first;
    int at = first;
    for (int steps = 0; at >= 0 && !is_loop(at); at = code_.after(at)) {
      const LiftedInstruction& it = code_.at(at);
      if (it.target >= 0 || ++steps > code_.size()) return found_;
      if (it.op == Op::LoadFastAndClear) {
        found_.saved.push_back(it.arg);
        stack_.push_back(it.arg);
      }
      if (it.op == Op::BuildList || it.op == Op::BuildSet || it.op == Op::BuildMap) stack_.push_back(kResult);
      if (it.op == Op::Swap) swap(it.arg);
    }
    if (at < 0 || code_.at(at).target < 0 || stack_.back() != kIterable) return found_;
    stack_.pop_back();
    found_.loop = at;
    find_restores(code_.skip_empty(code_.at(at).target));
    return found_;
  }

 private:
  static constexpr int kResult = -1, kIterable = -2;

  bool is_loop(int index) const {
    return code_.at(index).op == Op::ForIter || code_.at(index).op == Op::AsyncForIter;
  }
  void swap(int depth) {
    if (depth >= 1 && depth <= static_cast<int>(stack_.size()))
      std::swap(stack_.back(), stack_[stack_.size() - static_cast<size_t>(depth)]);
  }
  // Swaps and stores go on until no saved value is left.
  void find_restores(int at) {
    size_t left = found_.saved.size();
    for (; at >= 0 && left > 0 && !stack_.empty(); at = code_.after(at)) {
      const LiftedInstruction& it = code_.at(at);
      if (it.op == Op::Swap) {
        swap(it.arg);
        continue;
      }
      if (it.op == Op::PopTop && stack_.back() == kResult) {
        found_.dropped = true;
        stack_.pop_back();
        continue;
      }
      if (it.op != Op::StoreFast) return;
      if (stack_.back() == kResult) {
        found_.result_store = at;
      } else if (stack_.back() != it.arg) {
        return;
      } else if (--left == 0) {
        found_.last = at;
      }
      stack_.pop_back();
    }
  }

  const LiftedCode& code_;
  Stretch found_;
  std::vector<int> stack_ = {kIterable};  // saved variables, and what else there is
};

std::vector<Comprehension>* generators_of(Expression* expr) {
  if (auto* list = as<ListComp>(expr)) return &list->generators;
  if (auto* set = as<SetComp>(expr)) return &set->generators;
  if (auto* dict = as<DictComp>(expr)) return &dict->generators;
  return nullptr;
}

}  // namespace

void Machine::inlined_comprehension() {
  const Stretch stretch = StretchFinder(lifted_).find(at_);
  if (stretch.last < 0) return fail("a variable that is saved outside of a comprehension");
  Slot iterable = pop();
  if (iterable.kind != SlotKind::kIterable) return fail("a comprehension without an iterable");
  CodeTree with_iterable = code_;
  with_iterable.view.local_names.emplace_back(".iterable");
  with_iterable.view.local_kinds.push_back(kLocalPlain);
  // What restores the variables is left out.
  LiftedCode code = cut_out(stretch.first, lifted_.skip_empty(lifted_.at(stretch.loop).target));
  code.tree = &with_iterable;
  const bool is_async = lifted_.at(stretch.loop).op == Op::AsyncForIter;
  put_in_front(code, {.op = is_async ? Op::GetAiter : Op::GetIter});
  put_in_front(code, {.op = Op::LoadFast, .arg = static_cast<int>(code_.view.local_names.size())});
  auto value = returned_value(code, with_iterable, {});
  if (!value) return fail(value.error().message);
  auto* generators = generators_of(*value);
  if (!generators || generators->empty()) return fail("a comprehension that is none");
  generators->front().iter = iterable.expr;
  for (int saved : stretch.saved) hidden_.insert(code_.view.local_names[static_cast<size_t>(saved)]);
  push(*value, iterable.uses);
  slots_.back().restores = static_cast<int>(stretch.saved.size());
  if (stretch.dropped) drop(pop());
  if (stretch.result_store >= 0) store(make<Name>(stored_name(lifted_.at(stretch.result_store))), {}, pop());
  at_ = stretch.last;
}

}  // namespace suture::toolbox::dispatch
