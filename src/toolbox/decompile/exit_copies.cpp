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

  // LOAD_CONST None; RETURN_VALUE of one place: a `return`, or what the compiler adds at the end. Its RETURN_VALUE may share its
  // place with that of another value, and stays with its constant.
  bool returns_implicitly(int i) const {
    return i > 0 && code_.at(i).op == Op::Return && code_.at(i - 1).op == Op::LoadConst &&
           code_.at(i - 1).next == i && code_.at(i).same_position(code_.at(i - 1));
  }
  // `name = None; del name` of a handler stays with the POP_EXCEPT before it.
  bool clears_name(int i) const {
    const Op op = code_.at(i).op;
    return i >= 2 &&
           (op == Op::DeleteFast || op == Op::DeleteName || op == Op::DeleteGlobal ||
            op == Op::DeleteDeref) &&
           code_.at(i - 1).arg == code_.at(i).arg && code_.at(i - 2).op == Op::LoadConst;
  }
  // exit(None, None, None) has the place of the with statement however control leaves it.
  bool leaves_with(int i) const {
    if (code_.at(i).op != Op::Call || code_.at(i).arg != 2) return false;
    int constants = 0;
    for (--i; i >= 0 && constants < 3 && (code_.at(i).op == Op::LoadConst || code_.at(i).op == Op::Nop); --i)
      constants += code_.at(i).op == Op::LoadConst;
    return constants == 3;
  }
  static constexpr int kImplicitReturn = -2;
  static constexpr int kLongestCopy = 4;  // the compiler repeats no longer blocks

  void merge(int i) {
    const LiftedInstruction& it = code_.at(i);
    const bool exits = it.op == Op::Return || it.op == Op::Raise || it.op == Op::Reraise;
    if (!exits && (it.next < 0 || it.target >= 0 || it.op == Op::Nop || it.op == Op::Jump)) return;
    if (it.column < 0 || leaves_with(i) || clears_name(i)) return;
    int next = -1, length = 1;
    if (it.op == Op::Return && returns_implicitly(i)) return;
    if (it.op == Op::LoadConst && it.next == i + 1 && returns_implicitly(i + 1)) {
      next = kImplicitReturn;
    } else if (!exits) {
      next = representative(code_.skip_empty(it.next));
      const auto behind = straight_.find(next);
      if (next < 0 || behind == straight_.end() || behind->second >= kLongestCopy) return;
      length = behind->second + 1;
    }
    // A copy may load a variable alone where the other one loads two at once, for both of which it has one place.
    const bool placed = it.op != Op::LoadFast;
    const Key key{it.op,
                  it.arg,
                  it.flag,
                  it.constant,
                  placed ? it.line : 0,
                  placed ? it.column : 0,
                  placed ? it.end_line : 0,
                  placed ? it.end_column : 0,
                  it.handler,
                  next};
    const auto [known, fresh] = known_.try_emplace(key, i);
    canonical_[static_cast<size_t>(i)] = known->second;
    straight_.emplace(i, length);
  }

  LiftedCode& code_;
  std::vector<int> canonical_;
  std::map<Key, int> known_;
  std::map<int, int> straight_;  // instruction -> instructions up to the return
};

}  // namespace

void merge_exit_copies(LiftedCode& code) { ExitMerger(code).run(); }

}  // namespace suture::toolbox
