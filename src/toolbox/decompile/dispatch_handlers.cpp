// Handlers of a dispatch loop: the clauses of `except` and `except*`.
#include <algorithm>

#include "toolbox/decompile/dispatch_machine.h"

namespace suture::toolbox::dispatch {

using namespace syntax;  // NOLINT: makes nodes

// Clause by clause: `type; CHECK_EXC_MATCH; POP_JUMP_IF_FALSE next` again and again, then what runs for every exception.
// mark_except_star() has brought `except*` into the same shape, with two values more on the stack (a list of what the clauses
// raise, and what no clause has matched yet).
void Machine::explore_handler(Context* context, int region, const Slots& slots) {
  const Region& it = regions_.at(region);
  clauses_[context];
  if (it.depth > static_cast<int>(slots.size()))
    return fail("a handler that needs more values than there are");
  const Slots saved_slots = slots_;
  const int saved_at = at_;
  slots_.assign(slots.begin(), slots.begin() + it.depth);
  if (it.lasti) push_kind(SlotKind::kLasti);
  const size_t previous = slots_.size();
  at_ = reach(it.handler);
  if (lifted_.at(at_).op != Op::PushExcInfo) fail("a handler that does not save the exception");
  int begin = lifted_.after(at_);
  const bool star = it.kind == RegionKind::kExceptStar;
  if (star) begin = behind_list(begin);
  if (begin < 0) fail("a handler that is none");
  push_kind(SlotKind::kPrevious);
  if (star) slots_.insert(slots_.end(), 2, {.kind = SlotKind::kNothing});
  push_kind(SlotKind::kException);
  const Slots entry = slots_;
  for (int steps = 0; !failed() && begin >= 0; ++steps) {
    slots_ = entry;
    begin = explore_clause(context, begin, previous, star);
    if (steps > lifted_.size()) fail("a handler whose clauses go round in circles");
  }
  if (star && !failed()) end_star_clauses(context, slots, static_cast<size_t>(it.depth));
  slots_ = saved_slots;
  at_ = saved_at;
}

// Where the clauses of `except*` begin: the compiler makes the list before.
int Machine::behind_list(int at) const {
  const auto is = [&](int one, Op op) { return one >= 0 && lifted_.at(one).op == op; };
  const int second = lifted_.after(at), third = lifted_.after(second);
  if (is(at, Op::Copy) && is(second, Op::BuildList) && is(third, Op::Swap)) return lifted_.after(third);
  return is(at, Op::BuildList) && is(second, Op::Copy) ? third : -1;
}

// Reads the type of the clause that begins there. Returns the type test, or -1: it is the clause for all exceptions.
int Machine::read_clause_type(int begin, Op check) {
  Statements* const saved_out = out_;
  Statements evaluated;  // must stay empty: a type is one expression
  out_ = &evaluated;
  const size_t depth = slots_.size();
  int at = begin, joined = begin;
  while (!failed() && at >= 0 && lifted_.at(at).op != check &&
         (at == joined || !is_leader_[static_cast<size_t>(at)])) {
    at_ = at;
    if (slots_.size() > depth && fold_branches(true)) {
      at = joined = at_;
      continue;
    }
    // Whatever does not lead to a type test belongs to the clause for all exceptions.
    const Op op = lifted_.at(at).op;
    if (op == Op::JumpIf || op == Op::Reraise || op == Op::PopTop || op == Op::PopExcept ||
        lifted_.at(at).target >= 0)
      break;
    if (!execute(lifted_.at(at))) break;
    at = lifted_.after(at);
  }
  out_ = saved_out;
  const bool typed =
      !failed() && at >= 0 && lifted_.at(at).op == check && slots_.size() == depth + 1 && evaluated.empty();
  if (!typed) error_.clear();  // of the attempt to read a type
  return typed ? at : -1;
}

// Returns where the next clause begins; -1: this was the last one.
int Machine::explore_clause(Context* context, int begin, size_t previous, bool star) {
  Slots entry = slots_;
  const int check = read_clause_type(begin, star ? Op::CheckEgMatch : Op::CheckExcMatch);
  if (check < 0 && star) return star_end(begin) >= 0 ? -1 : (fail("clauses of `except*` without an end"), -1);
  Clause clause;
  const int id = next_clause_++;
  entry[previous].id = id;
  int body = begin, next = -1;
  if (check >= 0) {
    const int jump = reach(lifted_.at(check).next);
    if (lifted_.at(jump).op != Op::JumpIf || lifted_.at(jump).flag != static_cast<int>(JumpTest::kFalse))
      return fail("a type test that no except clause makes"), -1;
    clause.type = pop().expr;
    body = reach(lifted_.at(jump).next);
    next = reach(lifted_.at(jump).target);
    if (star) {  // what no clause has matched stays below the match
      entry.back().kind = SlotKind::kNothing;
      entry.push_back({.kind = SlotKind::kException});
    }
  } else if (lifted_.at(begin).op == Op::Reraise && !clauses_[context].empty()) {
    return -1;  // what no clause has matched
  }
  const LiftedInstruction& first = lifted_.at(body);
  if (check >= 0 && is_store(first.op)) {
    clause.name = stored_name(first);
    entry[previous].name = star ? "" : clause.name;  // mark_except_star() has cut out what clears it
    body = reach(first.next);
    entry.pop_back();
  }
  at_ = body;
  if (star) star_clauses_[id] = {.next = next, .previous = previous};
  clause.node = node_at(body, entry);
  // The body may begin inside a try statement of its own.
  clause.context = failed() ? nullptr : nodes_[static_cast<size_t>(clause.node)].context;
  while (clause.context && (clause.context->kind != Context::Kind::kHandler || clause.context->id != id))
    clause.context = clause.context->parent;
  if (!clause.context) fail("a handler that is left before it begins");
  clauses_[context].push_back(clause);
  return next;
}

// PREP_RERAISE_STAR, when it is what the instruction leads to.
int Machine::star_end(int at) const {
  if (at >= 0 && lifted_.at(at).op == Op::PopTop) at = lifted_.after(at);  // LIST_APPEND
  return at >= 0 && lifted_.at(at).op == Op::PrepReraiseStar ? at : -1;
}

// Behind the last clause: PREP_RERAISE_STAR; POP_TOP; POP_EXCEPT.
void Machine::end_star_clauses(Context* context, const Slots& slots, size_t depth) {
  const std::vector<Clause>& clauses = clauses_[context];
  const int end = clauses.empty() ? -1 : star_end(star_clauses_[clauses.back().context->id].next);
  const int drop = lifted_.after(end), leave = lifted_.after(drop);
  if (leave < 0 || lifted_.at(drop).op != Op::PopTop || lifted_.at(leave).op != Op::PopExcept)
    return fail("clauses of `except*` without an end");
  for (const Clause& clause : clauses) {
    StarClause& star = star_clauses_[clause.context->id];
    star.depth = depth;
    star.end = end;
    star.behind = lifted_.at(leave).next;
  }
  go(lifted_.at(leave).next, Slots(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(depth)),
     context->parent, behind_star_[context]);
}

// A clause of `except*` is over where the next one begins, and all of them go on behind the statement.
const Machine::StarClause* Machine::end_of_clause(int at, const Slots& slots) const {
  if (star_clauses_.empty()) return nullptr;
  const auto previous = std::find_if(slots.rbegin(), slots.rend(),
                                     [](const Slot& one) { return one.kind == SlotKind::kPrevious; });
  if (previous == slots.rend()) return nullptr;
  const auto known = star_clauses_.find(previous->id);
  constexpr size_t kHeld = 4;  // the previous exception, this one, the list, and what is not matched
  if (known == star_clauses_.end() || slots.size() != known->second.previous + kHeld) return nullptr;
  const int end = star_end(at);
  const bool over = at == known->second.next || (end >= 0 && end == known->second.end);
  return over ? &known->second : nullptr;
}

}  // namespace suture::toolbox::dispatch
