#include "toolbox/decompile/pattern_machine.h"

#include <algorithm>
#include <set>

#include "toolbox/decompile/expressions.h"

namespace suture::toolbox {

using namespace syntax;
using Kind = PatternItem::Kind;

namespace {

constexpr int kLongestPattern = 4000;
constexpr int kDeepestPattern = 40;

const suture::Constant* constant_of(const Expression* expr) {
  const auto* constant = as<syntax::Constant>(expr);
  return constant ? &constant->value : nullptr;
}

}  // namespace

Hole* PatternMachine::open_hole() {
  holes_.emplace_back();
  return &holes_.back();
}

bool PatternMachine::begin(int start) {
  at_ = start < 0 ? -1 : code_.skip_empty(start);
  if (nesting_ == 0 && at_ >= 0) line_ = code_.at(at_).line;
  root_ = open_hole();
  stack_ = {{.kind = Kind::kHole, .hole = root_}};
  failures_.clear();
  stores_.clear();
  return at_ >= 0;
}

void PatternMachine::begin(int start, std::vector<PatternItem> stack) {
  at_ = start;
  root_ = stack.front().hole;
  stack_ = std::move(stack);
}

bool PatternMachine::run(int start, int stop) {
  if (!begin(start)) return false;
  for (int steps = 0; steps < kLongestPattern; ++steps) {
    if (stop >= 0 ? at_ == stop : stack_.empty()) return true;
    if (at_ < 0 || stack_.empty() || !step()) return false;
  }
  return false;
}

bool PatternMachine::run_to_failure(int start) {
  if (!begin(start)) return false;
  for (int steps = 0; steps < kLongestPattern; ++steps) {
    if (!failures_.empty()) return true;
    if (at_ < 0 || stack_.empty() || !step()) return false;
  }
  return false;
}

int PatternMachine::behind_pops(const LiftedCode& code, const Failure& failure) {
  int at = failure.at < 0 ? -1 : code.skip_empty(failure.at);
  for (int i = 0; i < failure.depth; ++i) {
    if (at < 0 || code.at(at).op != Op::PopTop || code.at(at).next < 0) return -1;
    at = code.skip_empty(code.at(at).next);
  }
  return at;
}

bool PatternMachine::step() {
  if (--steps_ < 0) return false;
  visited_.push_back(at_);
  const LiftedInstruction& it = code_.at(at_);
  return step_load(it) || step_test(it) || step_parts(it) || step_jump(it) || step_store(it);
}

bool PatternMachine::name_of(const LiftedInstruction& it, std::string& name) const {
  const bool local =
      it.op == Op::LoadFast || it.op == Op::LoadDeref || it.op == Op::StoreFast || it.op == Op::StoreDeref;
  const auto& names = local ? scope_.view().local_names : scope_.view().names;
  if (it.arg < 0 || it.arg >= static_cast<int>(names.size())) return false;
  name = unmangled(scope_, names[static_cast<size_t>(it.arg)]);
  return true;
}

// Values that patterns compare with: constants and dotted names.
bool PatternMachine::step_load(const LiftedInstruction& it) {
  Expression* expr = nullptr;
  std::string name;
  switch (it.op) {
    case Op::LoadConst: {
      const suture::Constant* constant = scope_.code->constant(it.arg);
      if (!constant) return false;
      expr = builder_.tree.make<syntax::Constant>(*constant);
      break;
    }
    case Op::LoadGlobal:
      if (it.flag) return false;
      [[fallthrough]];
    case Op::LoadFast:
    case Op::LoadDeref:
    case Op::LoadName:
      if (!name_of(it, name)) return false;
      expr = builder_.tree.make<Name>(name);
      break;
    case Op::LoadAttr:
      if (it.flag || !is(1, Kind::kExpression) || !name_of(it, name)) return false;
      expr = builder_.tree.make<Attribute>(top()->expr, name);
      stack_.pop_back();
      break;
    case Op::BuildTuple: {
      Expressions elements;
      for (int i = it.arg; i > 0; --i) {
        if (!is(static_cast<size_t>(i), Kind::kExpression)) return false;
        elements.push_back(top(static_cast<size_t>(i))->expr);
      }
      stack_.resize(stack_.size() - elements.size());
      expr = builder_.tree.make<Tuple>(std::move(elements));
      break;
    }
    default: return false;
  }
  stack_.push_back({.kind = Kind::kExpression, .expr = expr});
  go_on();
  return true;
}

std::optional<int> PatternMachine::number_at(size_t depth) {
  const suture::Constant* constant = is(depth, Kind::kExpression) ? constant_of(top(depth)->expr) : nullptr;
  if (!constant || !constant->is(suture::Constant::Kind::kInt)) return std::nullopt;
  return static_cast<int>(constant->integer);
}

bool PatternMachine::compare(int arg) {
  const auto op = compare_operator(arg);
  if (is(2, Kind::kLength)) {
    const auto number = number_at(1);
    if (!number || (op != CompareOperator::Eq && op != CompareOperator::GtE)) return false;
    Hole* hole = top(2)->hole;
    hole->size = *number;
    hole->at_least = op == CompareOperator::GtE;
  } else {
    if (op != CompareOperator::Eq || !is(2, Kind::kHole) || !is(1, Kind::kExpression)) return false;
    Hole* hole = top(2)->hole;
    if (hole->kind != Hole::Kind::kOpen) return false;
    hole->kind = Hole::Kind::kValue;
    hole->value = top(1)->expr;
    hole->finished = true;
  }
  stack_.resize(stack_.size() - 2);
  stack_.push_back({.kind = Kind::kTest});
  return true;
}

bool PatternMachine::step_test(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::Compare:
      if (!compare(it.arg)) return false;
      break;
    case Op::Is: {
      if (!is(1, Kind::kExpression) || !top(2)) return false;
      if (it.arg == 0) {
        Hole* hole = top(2)->hole;
        if (!is(2, Kind::kHole) || hole->kind != Hole::Kind::kOpen) return false;
        hole->kind = Hole::Kind::kSingleton;
        hole->value = top(1)->expr;
        hole->finished = true;
      } else if (!is(2, Kind::kValues)) {
        return false;
      }
      stack_.resize(stack_.size() - 2);
      stack_.push_back({.kind = Kind::kTest});
      break;
    }
    case Op::MatchSequence:
    case Op::MatchMapping: {
      if (!is(1, Kind::kHole) || top()->hole->kind != Hole::Kind::kOpen) return false;
      top()->hole->kind = it.op == Op::MatchSequence ? Hole::Kind::kSequence : Hole::Kind::kMapping;
      stack_.push_back({.kind = Kind::kTest});
      break;
    }
    case Op::GetLen:
      if (!is(1, Kind::kHole) && !is(1, Kind::kIndexable)) return false;
      stack_.push_back({.kind = Kind::kLength, .hole = top()->hole});
      break;
    default: return false;
  }
  go_on();
  return true;
}

bool PatternMachine::step_parts(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::MatchClass: {
      if (!is(1, Kind::kExpression) || !is(2, Kind::kExpression) || !is(3, Kind::kHole)) return false;
      const suture::Constant* names = constant_of(top(1)->expr);
      Hole* hole = top(3)->hole;
      if (!names || !names->is(suture::Constant::Kind::kTuple) || hole->kind != Hole::Kind::kOpen)
        return false;
      hole->kind = Hole::Kind::kClass;
      hole->finished = true;
      hole->value = top(2)->expr;
      hole->positional = it.arg;
      for (const suture::Constant& attribute : *names->items) hole->attributes.push_back(attribute.text);
      stack_.resize(stack_.size() - 3);
      stack_.push_back({.kind = Kind::kValues, .hole = hole});
      break;
    }
    case Op::MatchKeys: {
      if (!is(1, Kind::kExpression) || !is(2, Kind::kHole)) return false;
      Hole* hole = top(2)->hole;
      if (hole->kind != Hole::Kind::kMapping) return false;
      if (const Tuple* keys = as<Tuple>(top()->expr)) {
        hole->keys = keys->elts;
      } else if (const suture::Constant* constant = constant_of(top()->expr);
                 constant && constant->is(suture::Constant::Kind::kTuple)) {
        for (const suture::Constant& key : *constant->items)
          hole->keys.push_back(builder_.tree.make<syntax::Constant>(key));
      } else {
        return false;
      }
      stack_.back() = {.kind = Kind::kKeys, .hole = hole};
      stack_.push_back({.kind = Kind::kValues, .hole = hole});
      break;
    }
    case Op::UnpackSequence:
      if (!unpack(it.arg, -1)) return false;
      break;
    case Op::UnpackEx:
      if (!unpack((it.arg & 255) + (it.arg >> 8) + 1, it.arg & 255)) return false;
      break;
    case Op::Binary:
    case Op::LoadItem:
    case Op::BuildMap:
    case Op::DictUpdate:
    case Op::DeleteItem:
      if (!build(it.op, it.arg)) return false;
      break;
    default: return false;
  }
  go_on();
  return true;
}

bool PatternMachine::unpack(int count, int star) {
  if (!top()) return false;
  const PatternItem item = *top();
  Hole* hole = item.hole;
  const bool sequence = item.kind == Kind::kHole && hole->kind == Hole::Kind::kSequence && !hole->finished;
  if (item.kind == Kind::kKeys) {
    stack_.pop_back();
    for (int i = 0; i < count; ++i) stack_.push_back({.kind = Kind::kKey, .hole = hole});
    return true;
  }
  if (!sequence && item.kind != Kind::kValues) return false;
  stack_.pop_back();
  if (sequence) hole->finished = true;
  hole->star = star;
  hole->parts.clear();
  for (int i = 0; i < count; ++i) hole->parts.push_back(open_hole());
  for (int i = count - 1; i >= 0; --i)
    stack_.push_back({.kind = Kind::kHole, .hole = hole->parts[static_cast<size_t>(i)]});
  return true;
}

bool PatternMachine::build(Op op, int arg) {
  switch (op) {
    case Op::Binary: {  // length - number
      const auto number = number_at(1);
      if (arg != 10 || !number || !is(2, Kind::kLength)) return false;
      Hole* hole = top(2)->hole;
      stack_.resize(stack_.size() - 2);
      stack_.push_back({.kind = Kind::kFromEnd, .hole = hole, .number = *number});
      return true;
    }
    case Op::LoadItem: {
      if (!is(2, Kind::kIndexable)) return false;
      Hole* hole = top(2)->hole;
      const auto number = number_at(1);
      if (!number && !is(1, Kind::kFromEnd)) return false;
      const int index = number ? *number : -top()->number;
      stack_.resize(stack_.size() - 2);
      Hole* part = open_hole();
      hole->indexed[index] = part;
      stack_.push_back({.kind = Kind::kHole, .hole = part});
      return true;
    }
    case Op::BuildMap: stack_.push_back({.kind = Kind::kRest}); return arg == 0;
    case Op::DictUpdate: {  // {**subject}
      if (arg != 2 || !is(1, Kind::kHole) || !is(3, Kind::kRest)) return false;
      top(3)->hole = top()->hole;
      top()->hole->finished = true;
      stack_.pop_back();
      return true;
    }
    case Op::DeleteItem:
      if (!is(1, Kind::kKey) || !is(2, Kind::kRest)) return false;
      stack_.resize(stack_.size() - 2);
      return true;
    default: return false;
  }
}

bool PatternMachine::step_jump(const LiftedInstruction& it) {
  if (it.op != Op::JumpIf || !top() || !stores_.empty()) return false;  // names are bound behind the tests
  const auto test = static_cast<JumpTest>(it.flag);
  const PatternItem item = *top();
  bool fails_by_jump = false;
  if (item.kind == Kind::kTest) {
    if (test != JumpTest::kFalse && test != JumpTest::kTrue) return false;
    fails_by_jump = test == JumpTest::kFalse;
  } else if (item.kind == Kind::kValues) {
    if (test != JumpTest::kNone && test != JumpTest::kNotNone) return false;
    fails_by_jump = test == JumpTest::kNone;
  } else if (item.kind == Kind::kHole && item.hole->kind == Hole::Kind::kOpen) {
    if (test != JumpTest::kNone && test != JumpTest::kNotNone) return false;
    fails_by_jump = test == JumpTest::kNotNone;
    item.hole->kind = Hole::Kind::kSingleton;
    item.hole->value = builder_.tree.make<syntax::Constant>(suture::Constant::none());
    item.hole->finished = true;
  } else {
    return false;
  }
  stack_.pop_back();
  failures_.push_back({fails_by_jump ? it.target : it.next, static_cast<int>(stack_.size())});
  const int next = fails_by_jump ? it.next : it.target;
  at_ = next < 0 ? -1 : code_.skip_empty(next);
  return true;
}

bool PatternMachine::drop() {
  if (!top()) return false;
  const PatternItem item = *top();
  if (item.kind == Kind::kHole) {
    if (item.hole->finished) return false;
    if (item.hole->kind == Hole::Kind::kOpen) item.hole->kind = Hole::Kind::kWildcard;
    item.hole->finished = true;
    for (Hole* other : item.others) {
      if (other->kind == Hole::Kind::kOpen) other->kind = Hole::Kind::kWildcard;
      other->finished = true;
    }
  } else if (item.kind != Kind::kKeys) {
    return false;
  }
  stack_.pop_back();
  return true;
}

bool PatternMachine::copy(int depth) {
  if (depth < 1 || static_cast<size_t>(depth) > stack_.size()) return false;
  const PatternItem item = stack_[stack_.size() - static_cast<size_t>(depth)];
  if (depth == 1 && item.kind == Kind::kHole && item.hole->kind == Hole::Kind::kOpen) {
    if (match_or()) return true;
    stack_.push_back(item);
  } else if (depth == 1 && item.kind == Kind::kHole && item.hole->kind == Hole::Kind::kSequence) {
    stack_.push_back({.kind = Kind::kIndexable, .hole = item.hole});
  } else if ((depth == 1 && item.kind == Kind::kValues) || item.kind == Kind::kRest) {
    stack_.push_back(item);
  } else {
    return false;
  }
  go_on();
  return true;
}

bool PatternMachine::step_store(const LiftedInstruction& it) {
  switch (it.op) {
    case Op::Copy: return copy(it.arg);
    case Op::Swap:
      if (it.arg < 1 || static_cast<size_t>(it.arg) > stack_.size()) return false;
      std::swap(stack_.back(), stack_[stack_.size() - static_cast<size_t>(it.arg)]);
      break;
    case Op::PopTop:
      if (!drop()) return false;
      break;
    case Op::StoreFast:
    case Op::StoreDeref:
    case Op::StoreGlobal:
    case Op::StoreName: {
      if (!top()) return false;
      std::string name;
      if (!name_of(it, name)) return false;
      const PatternItem item = *top();
      if (item.kind == Kind::kRest && item.hole) {
        item.hole->rest = name;
      } else if (item.kind == Kind::kHole) {
        item.hole->names.push_back(name);
        for (Hole* other : item.others) other->names.push_back(name);
      } else {
        return false;
      }
      stores_.emplace_back(it.op, it.arg);
      stack_.pop_back();
      break;
    }
    default: return false;
  }
  go_on();
  return true;
}

// The instructions that run when every test succeeds.
std::vector<int> PatternMachine::success_path(int start) const {
  std::vector<int> path;
  int at = start < 0 ? -1 : code_.skip_empty(start);
  bool of_values =
      false;  // a test for None comes behind MATCH_CLASS or MATCH_KEYS, and succeeds when it is not None
  while (at >= 0 && path.size() < 600) {
    path.push_back(at);
    const LiftedInstruction& it = code_.at(at);
    int next = it.next;
    if (it.op == Op::JumpIf) {
      const auto test = static_cast<JumpTest>(it.flag);
      const bool by_next =
          test == JumpTest::kFalse || test == (of_values ? JumpTest::kNone : JumpTest::kNotNone);
      next = by_next ? it.next : it.target;
    } else if (it.target >= 0) {
      break;
    }
    if (it.op == Op::MatchClass || it.op == Op::MatchKeys)
      of_values = true;
    else if (it.op != Op::Copy)
      of_values = false;
    next = next < 0 ? -1 : code_.skip_empty(next);
    if (next <= at) break;  // back to the head of a loop: not in a pattern
    at = next;
  }
  return path;
}

// The first instruction that two alternatives have in common when both succeed; -1: none.
int PatternMachine::joint_of(int a, int b) const {
  const std::vector<int> first = success_path(a), second = success_path(b);
  const std::set<int> in_second(second.begin(), second.end());
  const auto joint = std::find_if(first.begin(), first.end(), [&](int at) { return in_second.contains(at); });
  return joint == first.end() ? -1 : *joint;
}

// Where an alternative leads when it fails: `next` becomes the start of the next one, or -1, and then `behind` where the pattern as
// a whole fails (-1: it cannot).
void PatternMachine::after_alternative(const PatternMachine& alternative, int& next, int& behind) const {
  next = behind = -1;
  if (alternative.failures().empty()) return;
  behind = behind_pops(code_, alternative.failures().front());
  if (behind < 0 || code_.at(behind).op != Op::Copy || code_.at(behind).arg != 1) return;
  next = code_.at(behind).next;
  behind = -1;
}

// COPY; alternative; ... where an alternative that fails leads to the COPY of the next one.
bool PatternMachine::match_or() {
  if (nesting_ > kDeepestPattern) return false;
  const auto machine = [&] {
    PatternMachine made(builder_, scope_, code_, holes_, steps_);
    made.nesting_ = nesting_ + 1;
    made.line_ = line_;
    return made;
  };
  std::vector<int> starts = {code_.at(at_).next};
  int next = -1, last_failure = -1;
  PatternMachine probe = machine();
  if (probe.run_to_failure(starts.back())) after_alternative(probe, next, last_failure);
  const int joint = next < 0 ? -1 : joint_of(starts[0], next);
  if (joint < 0) return false;
  std::vector<PatternItem> bound;
  std::vector<Hole*> alternatives;
  for (size_t i = 0; i < starts.size(); ++i) {
    PatternMachine alternative = machine();
    if (!alternative.run(starts[i], joint)) return false;
    visited_.insert(visited_.end(), alternative.visited().begin(), alternative.visited().end());
    alternatives.push_back(alternative.root());
    after_alternative(alternative, next, last_failure);
    if (next >= 0) starts.push_back(next);
    if (alternatives.size() == 1) {
      bound = alternative.stack();
      continue;
    }
    if (alternative.stack().size() != bound.size()) return false;
    for (size_t k = 0; k < bound.size(); ++k) {
      bound[k].others.push_back(alternative.stack()[k].hole);
      const auto& others = alternative.stack()[k].others;
      bound[k].others.insert(bound[k].others.end(), others.begin(), others.end());
    }
  }
  for (const PatternItem& item : bound)
    if (item.kind != Kind::kHole) return false;
  Hole* hole = top()->hole;
  hole->kind = Hole::Kind::kOr;
  hole->parts = std::move(alternatives);
  int line = line_;
  for (const int start : starts) {
    const int begins = code_.at(code_.skip_empty(start)).line;
    hole->breaks.push_back(begins != line);
    line = begins;
  }
  if (last_failure >= 0) {  // drops the subject, then fails as a whole
    if (code_.at(last_failure).op != Op::PopTop) return false;
    failures_.push_back({code_.at(last_failure).next, static_cast<int>(stack_.size()) - 1});
  }
  stack_.insert(stack_.end(), bound.begin(), bound.end());
  at_ = joint;
  return true;
}

}  // namespace suture::toolbox
