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
int Machine::join_of(int start, int& last) const {
  std::set<int> ways = {start}, seen;
  bool branched = false;
  last = start;
  while (!ways.empty()) {
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

// True: the expression stands on the stack, and control is where its ways join.
bool Machine::fold_branches() {
  const auto count = static_cast<size_t>(tested_values(at_));
  if (count == 0 || slots_.size() < count) return false;
  const size_t below = slots_.size() - count;
  bool needed = false;
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
  LiftedCode stretch = cut_out(at_, last, join);
  for (size_t i = count; i-- > 0;) {
    LiftedInstruction load = lifted_.at(at_);
    load.op = Op::LoadFast;
    load.arg = static_cast<int>(with_values.view.local_names.size());
    load.target = load.handler = -1;
    load.next = stretch.entry;
    stretch.entry = stretch.size();
    stretch.instructions.push_back(load);
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

// The instructions from `first` to `last`, with a return in the place of `join`.
LiftedCode Machine::cut_out(int first, int last, int join) const {
  LiftedCode out;
  const auto begin = lifted_.instructions.begin();
  out.instructions.assign(begin + first, begin + last + 1);
  const int end = out.size();
  const auto moved = [&](int index) {
    const int at = index < 0 ? -1 : lifted_.skip_empty(index);
    return at == join ? end : at >= first && at <= last ? at - first : -1;
  };
  for (LiftedInstruction& each : out.instructions) {
    each.next = moved(each.next);
    each.target = moved(each.target);
    each.handler = -1;
  }
  LiftedInstruction result = lifted_.at(last);
  result.op = Op::Return;
  result.next = result.target = result.handler = -1;
  out.instructions.push_back(result);
  out.entry = 0;
  return out;
}

}  // namespace suture::toolbox::dispatch
