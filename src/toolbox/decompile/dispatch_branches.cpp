// Expressions of a dispatch loop that branch in the middle of a display, an f-string, a call or a definition:
//     [*rows, x if test else y]
// Control cannot leave the loop's block there, as what is under construction has no name. The stretch from the branch to the place
// where all its ways join is taken out as code of its own, which takes what is tested from variables and returns the result, and
// read like code of the first tier; what comes of it must be one expression.
#include <set>

#include "toolbox/decompile/blocks.h"
#include "toolbox/decompile/dispatch_machine.h"
#include "toolbox/decompile/evaluate.h"
#include "toolbox/decompile/scope.h"

namespace suture::toolbox::dispatch {

using namespace syntax;  // NOLINT: makes nodes

// The expression that a stretch of the code returns; `arguments`: of variables that it loads.
Result<Expression*> Machine::returned_value(const LiftedCode& stretch, const CodeTree& code,
                                            const std::map<std::string, Expression*>& arguments) {
  std::vector<FailedCode> failed;
  const StructureOptions options{.failed = &failed};
  Builder builder{tree_, options};
  Scope scope{.code = &code, .kind = CodeKind::kFunction, .arguments = arguments};
  scope.class_name = class_name_;
  SUTURE_TRY(regions, find_regions(stretch));
  SUTURE_TRY(blocks, find_blocks(stretch, regions));
  SUTURE_TRY(evaluated, Evaluator(builder, scope, stretch, regions, blocks, {}).run());
  const FlowNode& entry = evaluated.graph.at(evaluated.graph.entry);
  const bool is_value =
      entry.end == End::kReturn && entry.statements.empty() && entry.test && entry.test->expr;
  if (!failed.empty()) return Error::unsupported("decompile", failed.front().reason);
  if (!is_value) return Error::unsupported("decompile", "a stretch of code that is no expression");
  globals_.insert(evaluated.globals.begin(), evaluated.globals.end());
  nonlocals_.insert(evaluated.nonlocals.begin(), evaluated.nonlocals.end());
  return entry.test->expr;
}

// Has what no block can leave behind for another one.
bool Machine::is_under_construction(const Slot& slot) const {
  switch (slot.kind) {
    case SlotKind::kBuildClass:
    case SlotKind::kGeneric:
    case SlotKind::kLate: return true;
    case SlotKind::kAssertion:
    case SlotKind::kDefinition:
    case SlotKind::kComprehension: return true;
    case SlotKind::kValue:
      return slot.conversion >= 0 ||
             (slot.waits && (slot.display || slot.expr->kind == ExpressionKind::JoinedStr));
    default: return false;
  }
}

// How many values on the stack the branch looks at that begins here; 0: none does.
int Machine::tested_values(int at) const {
  const Op op = lifted_.at(at).op;
  if (op == Op::JumpIf || op == Op::JumpIfOrPop) return 1;
  const int next = lifted_.after(at);
  if (next < 0) return 0;
  const LiftedInstruction& it = lifted_.at(at);
  if (op == Op::Copy && it.arg == 1 && lifted_.at(next).op == Op::JumpIf) return 1;
  const bool chain = op == Op::Swap && it.arg == 2 && lifted_.at(next).op == Op::Copy;  // a < b < c
  return chain && lifted_.at(next).arg == 2 ? 2 : 0;
}

// Where all ways from an instruction join; -1: nowhere near. `last` becomes the last instruction before.
int Machine::join_of(int start, int& last) {
  std::set<int> ways = {start}, seen;
  bool branched = false;
  last = start;
  while (!ways.empty() && --steps_left_ > 0) {
    const int at = *ways.begin();
    if (branched && ways.size() == 1) return at;
    ways.erase(ways.begin());
    const LiftedInstruction& it = lifted_.at(at);
    if (!seen.insert(at).second || it.op == Op::Return || it.op == Op::Raise || it.op == Op::Reraise ||
        it.op == Op::Stop || regions_.region_of(at) != regions_.region_of(start))
      return -1;
    last = at;
    branched = branched || it.target >= 0;
    for (const int to : {it.next, it.target}) {
      const int next = to < 0 ? -1 : lifted_.skip_empty(to);
      if (next < 0 || seen.contains(next)) continue;  // the next turn of a loop
      if (next < start) return -1;
      ways.insert(next);
    }
  }
  return -1;
}

// True: the expression stands on the stack, and control is where its ways join. `needed`: although nothing is under construction.
bool Machine::fold_branches(bool needed) {
  const auto count = static_cast<size_t>(tested_values(at_));
  if (count == 0 || slots_.size() < count) return false;
  const size_t below = slots_.size() - count;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (i < below) needed = needed || is_under_construction(slots_[i]);
    if (i >= below && slots_[i].kind != SlotKind::kValue) return false;
  }
  int last = -1;
  const int join = needed ? join_of(at_, last) : -1;
  if (join < 0) return false;
  CodeTree with_values = code_;
  std::map<std::string, Expression*> arguments;
  std::set<int> uses;
  LiftedCode stretch = cut_out(at_, join);
  for (size_t i = count; i-- > 0;) {
    put_in_front(stretch, {.op = Op::LoadFast, .arg = static_cast<int>(with_values.view.local_names.size())});
    with_values.view.local_names.push_back(".value" + std::to_string(i));
    with_values.view.local_kinds.push_back(kLocalPlain);
    arguments[with_values.view.local_names.back()] = slots_[below + i].expr;
    uses.insert(slots_[below + i].uses.begin(), slots_[below + i].uses.end());
  }
  stretch.tree = &with_values;
  auto value = returned_value(stretch, with_values, arguments);
  if (!value) return false;
  for (int at = at_; at <= last; ++at) {
    const Op op = lifted_.at(at).op;
    if (op == Op::LoadFast || op == Op::StoreFast) local_name(lifted_.at(at).arg);  // uses it
  }
  slots_.resize(below);
  push(*value, std::move(uses));
  at_ = join;
  return true;
}

// What runs from `first` on, with a return in the place of `join`. Regions around it are not its business.
LiftedCode Machine::cut_out(int first, int join) const {
  std::map<int, int> place;  // in the order of the code
  std::vector<int> work = {first};
  const auto landing = [&](int to) { return to < 0 ? -1 : lifted_.skip_empty(to); };
  while (!work.empty()) {
    const int at = work.back();
    work.pop_back();
    if (at < 0 || at == join || !place.emplace(at, 0).second) continue;
    work.push_back(landing(lifted_.at(at).next));
    work.push_back(landing(lifted_.at(at).target));
  }
  LiftedCode out;
  for (auto& [at, index] : place) {
    index = out.size();
    out.instructions.push_back(lifted_.at(at));
  }
  place[join] = out.size();
  for (LiftedInstruction& each : out.instructions) {
    const int next = landing(each.next), target = landing(each.target);
    each.next = next < 0 ? -1 : place.at(next);
    each.target = target < 0 ? -1 : place.at(target);
    each.handler = -1;
  }
  out.instructions.push_back({.op = Op::Return});
  out.entry = place.at(first);
  return out;
}

void Machine::put_in_front(LiftedCode& code, LiftedInstruction instruction) {
  instruction.next = code.entry;
  code.entry = code.size();
  code.instructions.push_back(instruction);
}

}  // namespace suture::toolbox::dispatch
