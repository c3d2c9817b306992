// merge_exit_copies: the compiler repeats short blocks that end with a return wherever control jumps to them. Instructions of
// straight code up to a return that agree in everything, source position included, are one again.
#include <map>
#include <tuple>

#include "toolbox/decompile/blocks.h"

namespace suture::toolbox {
namespace {

using Key = std::tuple<Op, int, int, int, int, int, int, int, int, int>;

class ExitMerger {
 public:
  explicit ExitMerger(LiftedCode& code) : code_(code), canonical_(static_cast<size_t>(code.size())) {
    for (int i = 0; i < code.size(); ++i) canonical_[static_cast<size_t>(i)] = i;
  }

  void run() {
    // Straight code runs forwards, so that successors are done first when going backwards; where the compiler jumps
    // backwards to an exit, the copy is simply kept.
    for (int i = code_.size() - 1; i >= 0; --i) merge(i);
    for (LiftedInstruction& it : code_.instructions) {
      it.next = representative(it.next);
      it.target = representative(it.target);
    }
  }

 private:
  int representative(int index) const { return index < 0 ? index : canonical_[static_cast<size_t>(index)]; }

  void merge(int i) {
    const LiftedInstruction& it = code_.at(i);
    const bool exits = it.op == Op::Return || it.op == Op::Raise;
    if (!exits && (it.next < 0 || it.target >= 0 || it.op == Op::Nop || it.op == Op::Jump)) return;
    if (it.column < 0) return;
    int next = -1;
    if (!exits) {
      next = representative(code_.skip_empty(it.next));
      if (next < 0 || !straight_.contains(next)) return;
    }
    const Key key{it.op,     it.arg,      it.flag,       it.constant, it.line,
                  it.column, it.end_line, it.end_column, it.handler,  next};
    const auto [known, fresh] = known_.try_emplace(key, i);
    canonical_[static_cast<size_t>(i)] = known->second;
    straight_.emplace(i, true);
  }

  LiftedCode& code_;
  std::vector<int> canonical_;
  std::map<Key, int> known_;
  std::map<int, bool> straight_;
};

}  // namespace

void merge_exit_copies(LiftedCode& code) { ExitMerger(code).run(); }

}  // namespace suture::toolbox
