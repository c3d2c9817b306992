// fold_finally_bodies: copies of `finally` bodies are proved equal to the body in the handler, then cut out.
//
// The compiler emits the body once per way out of the statement (falling off the end, return, break, continue) and once in the
// handler, where it ends with RERAISE. For every edge that leaves the region, a walk over both copies at once compares
// instruction by instruction, through jumps and nested handlers, until the handler's copy reaches that RERAISE: the place the
// other copy has reached is where control goes on. When the body itself leaves (return, break, continue inside `finally`),
// the handler's copy first drops the exception and the other one a pending return value; behind that both do the same.
//
// Regions are handled from the last to the first: what is nested in a body then has the same, already folded shape in all copies.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "toolbox/decompile/regions.h"

namespace suture::toolbox {
namespace {

class CopyComparison {
 public:
  CopyComparison(const LiftedCode& code, const Regions& regions, const Region& region)
      : code_(code), regions_(regions), cleanup_(code.at(code.skip_empty(region.handler)).handler) {}

  // Where control goes on behind the copy that starts at `copy`; kEndless: nowhere, the body always leaves.
  static constexpr int kEndless = -2, kDifferent = -1;
  int behind(int body, int copy) {
    pairs_.clear();
    work_.clear();
    continuation_ = kEndless;
    push(body, copy);
    while (!work_.empty()) {
      const auto [a, b] = work_.back();
      work_.pop_back();
      if (!compare(a, b)) return kDifferent;
    }
    return continuation_;
  }

 private:
  void push(int a, int b) {
    if (a < 0 && b < 0) return;
    if (pairs_.insert({a, b}).second) work_.push_back({a, b});
  }

  bool compare(int a, int b) {
    if (a < 0 || b < 0) return false;
    a = code_.skip_empty(a);
    b = code_.skip_empty(b);
    if (a == b) return true;
    if (a < 0) return false;
    const LiftedInstruction& x = code_.at(a);
    if (x.op == Op::Reraise && x.arg == 0 && x.handler == cleanup_) return reached_end(b);
    if (b < 0) return false;
    if (leaves(a)) return compare_behind_leaving(a, b);
    const LiftedInstruction& y = code_.at(b);
    if (x.op != y.op || x.arg != y.arg || x.constant != y.constant) return false;
    if (x.flag != y.flag && x.op != Op::JumpIf) return false;
    const bool flipped = x.op == Op::JumpIf && x.flag != y.flag;
    if (flipped && (x.flag ^ 1) != y.flag) return false;
    push(x.next, flipped ? y.target : y.next);
    push(x.target, flipped ? y.next : y.target);
    // Handlers of the compiler's own, which restore or clear a name, say nothing.
    const bool nested = x.handler >= 0 && x.handler != cleanup_;
    if (nested && op(code_.skip_empty(x.handler)) == Op::PushExcInfo) push(x.handler, y.handler);
    return true;
  }

  bool reached_end(int b) {
    if (continuation_ == kEndless) continuation_ = b;
    return continuation_ == b || same_tail(continuation_, b);
  }

  // The same few instructions up to a return: the compiler repeats short exits.
  bool same_tail(int a, int b) const {
    for (int steps = 0; steps < 8; ++steps) {
      if (a == b) return true;
      if (a < 0 || b < 0) return false;
      const LiftedInstruction &x = code_.at(a), &y = code_.at(b);
      if (x.op != y.op || x.arg != y.arg || x.flag != y.flag || x.target >= 0 || y.target >= 0) return false;
      if (x.op == Op::Return) return true;
      a = code_.skip_empty(x.next);
      b = code_.skip_empty(y.next);
    }
    return false;
  }

  Op op(int index) const { return index >= 0 ? code_.at(index).op : Op::Stop; }
  int behind_swap(int index) const {
    return op(index) == Op::Swap && code_.at(index).arg == 2 ? code_.after(index) : index;
  }

  // [SWAP 2] POP_TOP [SWAP 2] POP_EXCEPT: a body that returns, breaks or continues drops the exception.
  bool leaves(int a) const {
    const int pop = behind_swap(a);
    return op(pop) == Op::PopTop && code_.at(pop).handler == cleanup_ &&
           op(behind_swap(code_.after(pop))) == Op::PopExcept;
  }
  bool compare_behind_leaving(int a, int b) {
    const bool has_value = op(a) == Op::Swap;
    a = code_.after(behind_swap(code_.after(behind_swap(a))));
    // Both drop the iterators of the loops they leave; the other copy first drops a return value that was waiting.
    for (int more = drops(b, has_value) - drops(a, has_value); more > 0; --more)
      b = code_.after(has_value ? behind_swap(b) : b);
    push(a, b);
    return true;
  }
  // Values that are dropped from an instruction on, below a value that stays or on top.
  int drops(int index, bool below) const {
    int count = 0;
    while (op(index) == (below ? Op::Swap : Op::PopTop)) {
      const int pop = below ? behind_swap(index) : index;
      if (pop < 0 || op(pop) != Op::PopTop) break;
      index = code_.after(pop);
      ++count;
    }
    return count;
  }

  const LiftedCode& code_;
  const Regions& regions_;
  const int cleanup_;
  std::set<std::pair<int, int>> pairs_;
  std::vector<std::pair<int, int>> work_;
  int continuation_ = kEndless;
};

class FinallyFolder {
 public:
  FinallyFolder(LiftedCode& code, Regions& regions) : code_(code), regions_(regions) {}

  Status run() {
    std::vector<int> order;
    for (int i = 0; i < static_cast<int>(regions_.all.size()); ++i)
      if (regions_.at(i).kind == RegionKind::kFinally) order.push_back(i);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      const Region &x = regions_.at(a), &y = regions_.at(b);
      return x.first != y.first ? x.first > y.first : x.level > y.level;
    });
    for (const int region : order) SUTURE_TRY_VOID(fold(region));
    return ok_status();
  }

 private:
  Status fold(int region) {
    CopyComparison comparison(code_, regions_, regions_.at(region));
    const int body = code_.at(code_.skip_empty(regions_.at(region).handler)).next;
    const int count = code_.size();
    for (int i = regions_.at(region).first; i < count; ++i) {
      if (!regions_.inside(regions_.region_of(i), region)) continue;
      const Op op = code_.at(i).op;
      if (op == Op::Nop || op == Op::Jump) continue;  // edges are looked at where they begin
      SUTURE_TRY(next, behind(comparison, region, body, code_.at(i).next, i));
      code_.at(i).next = next;
      SUTURE_TRY(target, behind(comparison, region, body, code_.at(i).target, i));
      code_.at(i).target = target;
    }
    return ok_status();
  }

  Result<int> behind(CopyComparison& comparison, int region, int body, int to, int from) {
    if (to < 0) return to;
    const int target = code_.skip_empty(to);
    if (target < 0) return Error::unsupported("decompile", "control runs off the end of the code");
    if (regions_.inside(regions_.region_of(target), region) || code_.at(target).op == Op::Stop) return to;
    const int continuation = comparison.behind(body, target);
    if (continuation == CopyComparison::kDifferent)
      return Error::unsupported(
          "decompile",
          fmt::format("offset {}: control leaves a try statement at offset {} without its finally body",
                      code_.at(from).offset, code_.at(target).offset));
    return continuation == CopyComparison::kEndless ? stop() : continuation;
  }

  int stop() {
    if (stop_ < 0) {
      stop_ = code_.size();
      code_.instructions.push_back({.op = Op::Stop});
      regions_.of.push_back(-1);
    }
    return stop_;
  }

  LiftedCode& code_;
  Regions& regions_;
  int stop_ = -1;
};

}  // namespace

Status fold_finally_bodies(LiftedCode& code, Regions& regions) { return FinallyFolder(code, regions).run(); }

}  // namespace suture::toolbox
