// mark_except_star: a handler of `except*` clauses becomes one that the later steps read like any other.
//
// The compiler keeps two values more than for `except`: a list of what the clauses raise, and what no clause has matched yet.
//
//   PUSH_EXC_INFO; the list and a copy of the exception   [previous, exception, list, rest]
//   each clause: its type; CHECK_EG_MATCH; COPY 1; POP_JUMP_IF_NONE next; store the match | POP_TOP; the body
//     the body has a handler that adds what it raises to the list: LIST_APPEND 3; POP_TOP; next
//     with a name, the body ends with `name = None; del name`
//   last: LIST_APPEND 1; PREP_RERAISE_STAR; COPY 1; POP_JUMP_IF_NOT_NONE raise; POP_TOP; POP_EXCEPT
//
// Values stay where they are on the stack, since the exception table counts them. Only what has no place in the source goes: the jump
// is told to test the match as in `except`, the copies it needs and the clearing of names are cut out, and of the end only the way on
// is left. A handler of another shape is not touched.
#include <optional>

#include "toolbox/decompile/regions.h"

namespace suture::toolbox {
namespace {

class StarMarker {
 public:
  explicit StarMarker(LiftedCode& code) : code_(code) {}

  void run() {
    for (int i = 0; i < code_.size(); ++i)
      if (op(i) == Op::PushExcInfo) mark(i);
  }

 private:
  struct Clause {
    int check = -1, copy = -1, jump = -1;
    int unmatched = -1;  // the POP_TOP where the jump leads
    int first = -1;      // of the body: stores or drops the match
    int next = -1;       // where the next clause or the end begins
  };

  Op op(int index) const { return index >= 0 ? code_.at(index).op : Op::Stop; }
  bool is(int index, Op op, int arg) const { return this->op(index) == op && code_.at(index).arg == arg; }
  int from(int index) const { return index >= 0 ? code_.skip_empty(index) : -1; }
  int after(int index) const { return index >= 0 ? from(code_.at(index).next) : -1; }

  void mark(int handler) {
    const int first = after(handler), second = after(first), third = after(second);
    int at = -1;
    if (is(first, Op::Copy, 1) && is(second, Op::BuildList, 0) && is(third, Op::Swap, 2))
      at = after(third);  // 3.11
    else if (is(first, Op::BuildList, 0) && is(second, Op::Copy, 2))
      at = third;
    if (at < 0) return;
    while (const std::optional<Clause> clause = clause_at(at)) {
      clear_no_name(*clause);
      code_.at(clause->copy).op = Op::Nop;
      code_.at(clause->unmatched).op = Op::Nop;
      code_.at(clause->jump).flag = static_cast<int>(JumpTest::kFalse);
      at = clause->next;
    }
    mark_end(at);
  }

  // The clause whose type is computed from `at` on. All ways through a type's expression meet where it is compared.
  std::optional<Clause> clause_at(int at) const {
    Clause clause;
    clause.check = first_check(at);
    clause.copy = after(clause.check);
    clause.jump = after(clause.copy);
    if (!is(clause.copy, Op::Copy, 1) || op(clause.jump) != Op::JumpIf) return std::nullopt;
    if (code_.at(clause.jump).flag != static_cast<int>(JumpTest::kNone)) return std::nullopt;
    clause.unmatched = from(code_.at(clause.jump).target);
    clause.first = after(clause.jump);
    clause.next = after(clause.unmatched);
    if (op(clause.unmatched) != Op::PopTop || clause.first < 0) return std::nullopt;
    return clause;
  }

  int first_check(int at) const {
    std::vector<bool> seen(static_cast<size_t>(code_.size()), false);
    std::vector<int> work = {at};
    while (!work.empty()) {
      const int index = work.back();
      work.pop_back();
      if (index < 0 || seen[static_cast<size_t>(index)] || prepares(index) >= 0) continue;
      seen[static_cast<size_t>(index)] = true;
      if (op(index) == Op::CheckEgMatch) return index;
      work.push_back(from(code_.at(index).next));
      work.push_back(from(code_.at(index).target));
    }
    return -1;
  }

  // PREP_RERAISE_STAR behind a LIST_APPEND, which the compiler may repeat; else -1.
  int prepares(int index) const {
    if (!is(index, Op::ListAppend, 1)) return -1;
    const int next = after(index);
    return op(next) == Op::PrepReraiseStar || is(next, Op::Intrinsic2, kPrepareReraise) ? next : -1;
  }
  int place(int index) const {
    index = from(index);
    const int end = prepares(index);
    return end >= 0 ? end : index;
  }

  // `name = None; del name`, where the body goes on to the next clause.
  void clear_no_name(const Clause& clause) {
    const LiftedInstruction& stored = code_.at(clause.first);
    for (int i = 0; i < code_.size(); ++i) {
      if (op(i) != Op::LoadConst) continue;
      const int store = after(i), remove = after(store);
      if (!is(store, stored.op, stored.arg) || !deletes(stored.op, op(remove)) ||
          code_.at(remove).arg != stored.arg || place(code_.at(remove).next) != place(clause.next))
        continue;
      for (const int cut : {i, store, remove}) code_.at(cut).op = Op::Nop;
    }
  }
  static bool deletes(Op store, Op remove) {
    switch (store) {
      case Op::StoreFast: return remove == Op::DeleteFast;
      case Op::StoreDeref: return remove == Op::DeleteDeref;
      case Op::StoreGlobal: return remove == Op::DeleteGlobal;
      case Op::StoreName: return remove == Op::DeleteName;
      default: return false;
    }
  }

  void mark_end(int at) {
    const int end = prepares(at);
    const int copy = after(end), jump = after(copy);
    if (!is(copy, Op::Copy, 1) || op(jump) != Op::JumpIf) return;
    if (code_.at(jump).flag != static_cast<int>(JumpTest::kNotNone)) return;
    for (int i = 0; i < code_.size(); ++i)
      if (prepares(i) == end) code_.at(i).op = Op::PopTop;
    code_.at(end).op = Op::PrepReraiseStar;
    for (const int cut : {copy, jump}) code_.at(cut).op = Op::Nop;
    code_.at(jump).target = -1;
  }

  static constexpr int kPrepareReraise = 1;  // of CALL_INTRINSIC_2
  LiftedCode& code_;
};

}  // namespace

void mark_except_star(LiftedCode& code) { StarMarker(code).run(); }

}  // namespace suture::toolbox
