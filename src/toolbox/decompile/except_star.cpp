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
// is left. A handler of another shape is not touched: what there is to change is collected from the code as it came, and done when every
// handler has been read.
#include <map>
#include <optional>
#include <tuple>

#include "toolbox/decompile/operand_numbers.h"
#include "toolbox/decompile/regions.h"

namespace suture::toolbox {
namespace {

class StarMarker {
 public:
  explicit StarMarker(LiftedCode& code)
      : code_(code),
        walked_(static_cast<size_t>(code.size()), 0),
        clause_seen_(static_cast<size_t>(code.size()), -1) {}

  void run() {
    find_clearings();
    for (int i = 0; i < code_.size(); ++i) {
      if (prepares(i) >= 0) appends_[prepares(i)].push_back(i);
      if (op(i) != Op::PushExcInfo) continue;
      if (std::optional<Handler> handler = read(i)) handlers_.push_back(std::move(*handler));
    }
    for (const Handler& handler : handlers_) mark(handler);
  }

 private:
  struct Clause {
    int check = -1, copy = -1, jump = -1;
    int unmatched = -1;     // the POP_TOP where the jump leads
    int first = -1;         // of the body: stores or drops the match
    int next = -1;          // where the next clause or the end begins
    int place_behind = -1;  // place(next)
  };
  struct Handler {
    std::vector<Clause> clauses;
    int end = -1, copy = -1, jump = -1;  // PREP_RERAISE_STAR and the test behind it
  };
  // `name = None; del name`: how it stores, the name, and the place behind it.
  using Clearing = std::tuple<Op, int, int>;

  Op op(int index) const { return index >= 0 ? code_.at(index).op : Op::Stop; }
  bool is(int index, Op op, int arg) const { return this->op(index) == op && code_.at(index).arg == arg; }
  int from(int index) const { return index >= 0 ? code_.skip_empty(index) : -1; }
  int after(int index) const { return code_.after(index); }

  std::optional<Handler> read(int handler) {
    const int first = after(handler), second = after(first), third = after(second);
    int at = -1;
    if (is(first, Op::Copy, 1) && is(second, Op::BuildList, 0) && is(third, Op::Swap, 2))
      at = after(third);  // 3.11
    else if (is(first, Op::BuildList, 0) && is(second, Op::Copy, 2))
      at = third;
    if (at < 0) return std::nullopt;
    Handler found;
    while (const std::optional<Clause> clause = clause_at(at)) {
      int& last_seen = clause_seen_[static_cast<size_t>(clause->check)];
      if (last_seen == handler) return std::nullopt;  // clauses that go round in circles
      last_seen = handler;
      found.clauses.push_back(*clause);
      at = clause->next;
    }
    found.end = prepares(at);
    found.copy = after(found.end);
    found.jump = after(found.copy);
    if (!is(found.copy, Op::Copy, 1) || op(found.jump) != Op::JumpIf) return std::nullopt;
    if (code_.at(found.jump).flag != static_cast<int>(JumpTest::kNotNone)) return std::nullopt;
    return found;
  }

  // The clause whose type is computed from `at` on. All ways through a type's expression meet where it is compared.
  std::optional<Clause> clause_at(int at) {
    Clause clause;
    clause.check = first_check(at);
    clause.copy = after(clause.check);
    clause.jump = after(clause.copy);
    if (!is(clause.copy, Op::Copy, 1) || op(clause.jump) != Op::JumpIf) return std::nullopt;
    if (code_.at(clause.jump).flag != static_cast<int>(JumpTest::kNone)) return std::nullopt;
    clause.unmatched = from(code_.at(clause.jump).target);
    clause.first = after(clause.jump);
    clause.next = after(clause.unmatched);
    clause.place_behind = place(clause.next);
    if (op(clause.unmatched) != Op::PopTop || clause.first < 0) return std::nullopt;
    return clause;
  }

  int first_check(int at) {
    ++walk_;
    std::vector<int> work = {at};
    while (!work.empty()) {
      const int index = work.back();
      work.pop_back();
      if (index < 0 || walked_[static_cast<size_t>(index)] == walk_ || prepares(index) >= 0) continue;
      walked_[static_cast<size_t>(index)] = walk_;
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
    return op(next) == Op::PrepReraiseStar || is(next, Op::Intrinsic2, kPrepareReraiseStar) ? next : -1;
  }
  int place(int index) const {
    index = from(index);
    const int end = prepares(index);
    return end >= 0 ? end : index;
  }

  void find_clearings() {
    for (int i = 0; i < code_.size(); ++i) {
      if (op(i) != Op::LoadConst) continue;
      const int store = after(i), remove = after(store);
      if (store < 0 || !deletes(op(store), op(remove)) || code_.at(remove).arg != code_.at(store).arg)
        continue;
      const Clearing what(op(store), code_.at(store).arg, place(code_.at(remove).next));
      for (const int cut : {i, store, remove}) clearings_[what].push_back(cut);
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

  void mark(const Handler& handler) {
    for (const Clause& clause : handler.clauses) {
      const LiftedInstruction& stored = code_.at(clause.first);
      // Where the body goes on to the next clause.
      const auto clearing = clearings_.find({stored.op, stored.arg, clause.place_behind});
      if (clearing != clearings_.end())
        for (const int cut : clearing->second) code_.at(cut).op = Op::Nop;
      code_.at(clause.copy).op = Op::Nop;
      code_.at(clause.unmatched).op = Op::Nop;
      code_.at(clause.jump).flag = static_cast<int>(JumpTest::kFalse);
    }
    for (const int append : appends_[handler.end]) code_.at(append).op = Op::PopTop;
    code_.at(handler.end).op = Op::PrepReraiseStar;
    for (const int cut : {handler.copy, handler.jump}) code_.at(cut).op = Op::Nop;
    code_.at(handler.jump).target = -1;
  }

  LiftedCode& code_;
  std::vector<Handler> handlers_;
  std::map<Clearing, std::vector<int>> clearings_;  // the instructions
  std::map<int, std::vector<int>> appends_;         // by the PREP_RERAISE_STAR behind them
  int walk_ = 0;
  std::vector<int> walked_;       // per instruction: the last walk that came by
  std::vector<int> clause_seen_;  // per CHECK_EG_MATCH: the handler whose clause it was last
};

}  // namespace

void mark_except_star(LiftedCode& code) { StarMarker(code).run(); }

}  // namespace suture::toolbox
