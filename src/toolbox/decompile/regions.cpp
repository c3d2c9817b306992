// Regions from the exception table: classification of handlers, and the tree.
#include "toolbox/decompile/regions.h"

#include <fmt/format.h>

#include <map>
#include <optional>

namespace suture::toolbox {
namespace {

// What statement a handler is of; nullopt: the compiler has added it on its own.
using HandlerKind = std::optional<RegionKind>;

class RegionFinder {
 public:
  explicit RegionFinder(const LiftedCode& code) : code_(code) {}

  Result<Regions> run() {
    result_.of.assign(static_cast<size_t>(code_.size()), -1);
    for (int i = 0; i < code_.size(); ++i) {
      SUTURE_TRY(region, innermost(i));
      result_.of[static_cast<size_t>(i)] = region;
      for (int around = region; around >= 0; around = result_.at(around).parent) {
        int& first = result_.all[static_cast<size_t>(around)].first;
        if (first < 0) first = i;
      }
    }
    return std::move(result_);
  }

 private:
  Op op(int index) const { return index >= 0 ? code_.at(index).op : Op::Stop; }

  // The region of an instruction: its handler, or, when that is dropped, the one of the handler's first instruction.
  Result<int> innermost(int instruction) {
    int at = instruction;
    for (int steps = 0; steps <= code_.size(); ++steps) {
      const LiftedInstruction& it = code_.at(at);
      if (it.handler < 0) return -1;
      const auto [known, fresh] = kinds_.try_emplace(it.handler, std::nullopt);
      if (fresh) known->second = classify(it.handler);
      if (known->second) return region_for(it, *known->second);
      at = it.handler;
    }
    return Error::unsupported("decompile", "an exception handler handles itself");
  }

  Result<int> region_for(const LiftedInstruction& covered, RegionKind kind) {
    const auto known = region_of_handler_.find(covered.handler);
    if (known != region_of_handler_.end()) return known->second;
    if (++nesting_ > kMaxNesting)
      return Error::unsupported("decompile", fmt::format("more than {} nested handlers", kMaxNesting));
    SUTURE_TRY(parent, innermost(covered.handler));
    --nesting_;
    const int index = static_cast<int>(result_.all.size());
    Region region{.kind = kind,
                  .handler = covered.handler,
                  .depth = covered.handler_depth,
                  .lasti = covered.handler_lasti,
                  .parent = parent,
                  .level = parent < 0 ? 0 : result_.at(parent).level + 1};
    if (kind == RegionKind::kWith) {
      SUTURE_TRY(suppressing, last_of_suppression(covered.handler));
      region.suppressing = suppressing;
    }
    result_.all.push_back(region);
    region_of_handler_[covered.handler] = index;
    return index;
  }

  HandlerKind classify(int handler) const {
    const int first = code_.skip_empty(handler);
    if (op(first) != Op::PushExcInfo) return std::nullopt;
    int second = code_.after(first);
    if (op(second) == Op::WithExceptStart) return RegionKind::kWith;
    if (op(second) == Op::PopTop) return RegionKind::kExcept;
    return reaches_match(first);
  }

  // A handler with CHECK_EXC_MATCH on a path that leaves no handler is an `except`; otherwise it holds a `finally` body,
  // whose own handlers are only reached by exceptions.
  RegionKind reaches_match(int first) const {
    std::vector<bool> seen(static_cast<size_t>(code_.size()), false);
    std::vector<int> work = {first};
    while (!work.empty()) {
      const int at = work.back();
      work.pop_back();
      if (at < 0 || seen[static_cast<size_t>(at)]) continue;
      seen[static_cast<size_t>(at)] = true;
      const LiftedInstruction& it = code_.at(at);
      if (it.op == Op::CheckExcMatch) return RegionKind::kExcept;
      if (it.op == Op::CheckEgMatch) return RegionKind::kExceptStar;
      if (it.op == Op::PopExcept) continue;
      work.push_back(it.next);
      work.push_back(it.target);
    }
    return RegionKind::kFinally;
  }

  // WITH_EXCEPT_START [await] POP_JUMP_IF_TRUE s; RERAISE; s: POP_TOP; POP_EXCEPT; POP_TOP; POP_TOP
  Result<int> last_of_suppression(int handler) const {
    int at = code_.after(code_.after(code_.skip_empty(handler)));
    if (op(at) == Op::Await) at = code_.after(at);
    const auto wrong = [&] {
      return Error::unsupported(
          "decompile", fmt::format("offset {}: a with statement whose handler the compiler emits nowhere",
                                   code_.at(handler).offset));
    };
    if (op(at) != Op::JumpIf) return wrong();
    at = code_.skip_empty(code_.at(at).target);
    int last = at;
    for (const Op expected : {Op::PopTop, Op::PopExcept, Op::PopTop, Op::PopTop}) {
      if (op(at) != expected) return wrong();
      last = at;
      at = code_.after(at);
    }
    return last;
  }

  static constexpr int kMaxNesting = 200;
  const LiftedCode& code_;
  Regions result_;
  std::map<int, HandlerKind> kinds_;
  std::map<int, int> region_of_handler_;
  int nesting_ = 0;
};

}  // namespace

bool Regions::inside(int region, int outer) const {
  while (region >= 0 && region != outer) region = at(region).parent;
  return region == outer;
}

Result<Regions> find_regions(const LiftedCode& code) { return RegionFinder(code).run(); }

}  // namespace suture::toolbox
