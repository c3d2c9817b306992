#include "toolbox/verify/path_equivalence.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/escaped_text.h"
#include "bytecode/constant.h"
#include "toolbox/verify/constant_tests.h"
#include "toolbox/verify/frame_state.h"
#include "toolbox/verify/node_effect.h"
#include "toolbox/verify/synthetic_locals.h"

namespace suture::toolbox {
namespace {

using Kind = AbstractValue::Kind;

// One of the two frames: its graph, and what its locals stand for.
struct Side {
  const InstructionGraph& graph;
  std::vector<int> shared;     // local -> index into FrameState::locals, -1: none
  std::vector<int> constants;  // index into the tree's constants -> constant of the walk
  std::vector<int> unordered;  // the same, where the order of a tuple does not count; -1: not met yet
};

const AbstractValue& from_top(const std::vector<AbstractValue>& stack, int position) {
  return stack[stack.size() - static_cast<size_t>(position)];
}

const std::string& variable_name(const InstructionGraph& graph, const Node& node) {
  return node.operand == Node::Operand::kName ? graph.name(node)
                                              : graph.tree->view.local_names[static_cast<size_t>(node.index)];
}

// Where one side is between two silent steps.
struct Resting {
  int node;
  std::vector<AbstractValue> stack, synthetic;
  bool operator==(const Resting&) const = default;
};

Resting resting(int node, const FrameState& state, bool is_second) {
  return is_second ? Resting{node, state.second_stack, state.synthetic}
                   : Resting{node, state.first_stack, {}};
}

// Values in the states of all places together.
constexpr int64_t kMostValues = 60'000'000;

class PathWalk {
 public:
  PathWalk(const InstructionGraph& first, const InstructionGraph& second, SyntheticLocals synthetic,
           int step_limit)
      : first_{first, {}, {}, {}},
        second_{second, {}, {}, {}},
        synthetic_(std::move(synthetic)),
        steps_left_(step_limit) {}

  GraphComparison run();

 private:
  // Two nodes and the constants in the synthetic locals (-1: none).
  using Place = std::vector<int>;

  void share_locals();
  void intern_constants(Side& side);
  int constant_number(const Constant& constant);
  int loaded_constant(Side& side, const Node& node);

  // Where control goes on, and with what.
  void visit(int a, int b, FrameState state);
  void process(int a, int b, FrameState state);
  // Runs one side until its next operation; kForever: there is none, and `state` and here_first_ or here_second_ are on
  // the way round; -1 after fail().
  static constexpr int kForever = -2;
  int advance(Side& side, int node, FrameState& state, bool is_second);
  bool may_step(int node, bool is_second);
  bool step_silently(Side& side, const Node& node, FrameState& state, bool is_second, int& next);
  bool step_local(Side& side, const Node& node, FrameState& state, bool is_second);
  bool step_constants(const Node& node, std::vector<AbstractValue>& stack, int& next);
  void match(int a, int b, const FrameState& state);
  bool match_method(int a, int b, const FrameState& state);
  bool same_callee(const Node& call, int count, const FrameState& state) const;
  bool same_operands(int a, int b, const NodeEffect& one, const NodeEffect& other, const FrameState& state);
  void match_handlers(int a, int b, const FrameState& state);
  void match_endless(const FrameState& state);
  std::vector<Resting> resting_places(Side& side, int node, FrameState state, bool is_second);
  bool raises_again(const Node& x, const Node& y, const FrameState& state) const;
  void update_local(const Node& node, FrameState& state, const AbstractValue& stored);

  bool same_value(const AbstractValue& a, const AbstractValue& b);
  const Constant& constant_at(const AbstractValue& value) const {
    return *constants_[static_cast<size_t>(value.id)];
  }
  void fail(int a, int b, std::string why) {
    if (failed()) return;
    result_.difference = std::move(why);
    result_.first_node = a;
    result_.second_node = b;
  }
  bool failed() const { return !result_.difference.empty(); }

  Side first_, second_;
  SyntheticLocals synthetic_;
  int64_t steps_left_, values_left_ = kMostValues;
  size_t shared_count_ = 0;
  int here_first_ = 0, here_second_ = 0;  // for messages
  const Constant outcomes_[2] = {Constant::boolean(false), Constant::boolean(true)};
  std::vector<const Constant*> constants_;
  std::deque<Constant> unordered_;                // tuples whose order does not count, as frozensets
  std::unordered_map<std::string, int> numbers_;  // by constant_key
  std::map<Place, FrameState> states_;
  std::set<Place> work_;
  GraphComparison result_;
};

// Plain locals with the same name on both sides. Others are compared by name at every access.
void PathWalk::share_locals() {
  const CodeView &a = first_.graph.tree->view, &b = second_.graph.tree->view;
  constexpr uint8_t kNotPlain = kLocalCell | kLocalFree;
  first_.shared.assign(a.local_names.size(), -1);
  second_.shared.assign(b.local_names.size(), -1);
  std::map<std::string_view, size_t> plain;
  for (size_t i = 0; i < a.local_names.size(); ++i)
    if ((a.local_kinds[i] & kNotPlain) == 0) plain.emplace(a.local_names[i], i);
  for (size_t j = 0; j < b.local_names.size(); ++j) {
    const auto at = plain.find(b.local_names[j]);
    if (at == plain.end() || a.local_kinds[at->second] != b.local_kinds[j]) continue;
    first_.shared[at->second] = second_.shared[j] = static_cast<int>(shared_count_++);
  }
}

int PathWalk::constant_number(const Constant& constant) {
  const auto [at, fresh] = numbers_.try_emplace(constant_key(constant), static_cast<int>(constants_.size()));
  if (fresh) constants_.push_back(&constant);
  return at->second;
}

void PathWalk::intern_constants(Side& side) {
  for (const Constant& constant : side.graph.tree->constants)
    side.constants.push_back(constant_number(constant));
  for (const Constant& constant : side.graph.made) side.constants.push_back(constant_number(constant));
  side.unordered.assign(side.constants.size(), -1);
}

// What is layout counts as equal, whatever it is, but not to other constants.
int PathWalk::loaded_constant(Side& side, const Node& node) {
  static const Constant layout{.kind = Constant::Kind::kPlaceholder, .text = "layout"};
  if (node.operand == Node::Operand::kIgnored) return constant_number(layout);
  if (node.operand != Node::Operand::kConstantItems) return side.constants[static_cast<size_t>(node.index)];
  int& number = side.unordered[static_cast<size_t>(node.index)];
  if (number < 0) {
    unordered_.push_back(
        {.kind = Constant::Kind::kFrozenset, .text = "a tuple", .items = side.graph.constant(node).items});
    number = constant_number(unordered_.back());
  }
  return number;
}

bool PathWalk::same_value(const AbstractValue& a, const AbstractValue& b) {
  if (a.is(Kind::kUnbound) || a.is(Kind::kPlace) || a.is(Kind::kSelf) || b.is(Kind::kUnbound)) return false;
  if (a == b) return true;
  if (!a.is(Kind::kConstant) || !b.is(Kind::kConstant)) return false;
  const Constant &x = constant_at(a), &y = constant_at(b);
  if (!x.is(Constant::Kind::kCode) || !y.is(Constant::Kind::kCode)) return false;
  if (x.code->view.name != y.code->view.name) return false;
  result_.nested.emplace_back(x.code, y.code);
  return true;
}

// --- silent steps -----------------------------------------------------------------------------------------

// Tests of constants: what a dispatch loop does to find its next part.
bool PathWalk::step_constants(const Node& node, std::vector<AbstractValue>& stack, int& next) {
  const int count = constant_operands(node.opcode);
  if (count == 0 || stack.size() < static_cast<size_t>(count)) return false;
  std::vector<const Constant*> operands;
  for (size_t i = stack.size() - static_cast<size_t>(count); i < stack.size(); ++i) {
    if (!stack[i].is(Kind::kConstant)) return false;
    operands.push_back(&constant_at(stack[i]));
  }
  if (node.opcode == Opcode::POP_JUMP_IF_TRUE || node.opcode == Opcode::POP_JUMP_IF_NONE) {
    const std::optional<bool> taken = jump_is_taken(node.opcode, *operands[0]);
    if (!taken) return false;
    next = *taken ? node.taken : node.next;
    stack.pop_back();
    return true;
  }
  const std::optional<bool> result = constant_test(node.opcode, node.number, operands);
  if (!result) return false;
  stack.resize(stack.size() - static_cast<size_t>(count));
  stack.push_back({Kind::kConstant, constant_number(outcomes_[*result ? 1 : 0])});
  return true;
}

bool PathWalk::step_local(Side& side, const Node& node, FrameState& state, bool is_second) {
  auto& stack = is_second ? state.second_stack : state.first_stack;
  const int synthetic = is_second ? synthetic_.number_of(node) : -1;
  if (synthetic < 0) {
    if (node.opcode != Opcode::LOAD_FAST) return false;
    const int shared = side.shared[static_cast<size_t>(node.index)];
    if (shared < 0) return false;
    const AbstractValue& value = state.locals[static_cast<size_t>(shared)];
    if (value.is(Kind::kUnbound)) return false;
    stack.push_back(value);
    return true;
  }
  AbstractValue& held = state.synthetic[static_cast<size_t>(synthetic)];
  if (node.opcode == Opcode::STORE_FAST || node.opcode == Opcode::STORE_NAME) {
    held = stack.back();
    stack.pop_back();
    return true;
  }
  if (held.is(Kind::kUnbound)) {
    fail(here_first_, here_second_,
         fmt::format("the synthetic local {} may be unbound", escaped_line(variable_name(side.graph, node))));
    return true;
  }
  if (node.opcode == Opcode::LOAD_FAST || node.opcode == Opcode::LOAD_NAME)
    stack.push_back(held);
  else if (node.opcode == Opcode::DELETE_FAST || node.opcode == Opcode::DELETE_NAME)
    held = {};
  else
    return false;
  return true;
}

bool PathWalk::step_silently(Side& side, const Node& node, FrameState& state, bool is_second, int& next) {
  auto& stack = is_second ? state.second_stack : state.first_stack;
  const size_t depth = stack.size();
  next = node.next;
  switch (node.opcode) {
    case Opcode::JUMP_BACKWARD: return true;
    case Opcode::LOAD_CONST: stack.push_back({Kind::kConstant, loaded_constant(side, node)}); return true;
    case Opcode::PUSH_NULL: stack.push_back({Kind::kNull, 0}); return true;
    case Opcode::POP_TOP: stack.pop_back(); return true;
    case Opcode::COPY:
      stack.push_back(AbstractValue(stack[depth - static_cast<size_t>(node.number)]));
      return true;
    case Opcode::SWAP:
      std::swap(stack[depth - 1], stack[depth - static_cast<size_t>(node.number)]);
      return true;
    case Opcode::END_FOR:
      stack.resize(depth - (side.graph.tree->view.version == PythonVersion{3, 12} ? 2 : 1));
      return true;
    case Opcode::END_SEND: stack.erase(stack.end() - 2); return true;
    case Opcode::LOAD_FAST:
    case Opcode::STORE_FAST:
    case Opcode::DELETE_FAST:
    case Opcode::LOAD_NAME:
    case Opcode::STORE_NAME:
    case Opcode::DELETE_NAME: return step_local(side, node, state, is_second);
    default: return step_constants(node, stack, next);
  }
}

bool PathWalk::may_step(int node, bool is_second) {
  (is_second ? here_second_ : here_first_) = node;
  if (--steps_left_ < 0) fail(here_first_, here_second_, "they are too large to compare");
  return !failed();
}

// Silent steps make no values, so a run without an operation comes to a state again. (Brent: the state that is looked for is
// taken anew after 64, 128, 256, ... steps.)
int PathWalk::advance(Side& side, int node, FrameState& state, bool is_second) {
  Resting known{.node = -1};
  for (int64_t steps = 1, next_known = 64; may_step(node, is_second); ++steps) {
    int next = -1;
    if (!step_silently(side, side.graph.node(node), state, is_second, next)) return node;
    node = next;
    if (steps == next_known) {
      known = resting(node, state, is_second);
      next_known *= 2;
    } else if (node == known.node && resting(node, state, is_second) == known) {
      return may_step(node, is_second) ? kForever : -1;
    }
  }
  return -1;
}

// Where a signal may end a loop that does nothing.
std::vector<Resting> PathWalk::resting_places(Side& side, int node, FrameState state, bool is_second) {
  std::vector<Resting> places;
  const Resting start = resting(node, state, is_second);
  while (may_step(node, is_second)) {
    if (side.graph.node(node).opcode == Opcode::JUMP_BACKWARD)
      places.push_back(resting(node, state, is_second));
    step_silently(side, side.graph.node(node), state, is_second, node);
    if (node == start.node && resting(node, state, is_second) == start) break;
  }
  return places;
}

// --- operations -------------------------------------------------------------------------------------------

void PathWalk::update_local(const Node& node, FrameState& state, const AbstractValue& stored) {
  if (node.operand != Node::Operand::kLocal) return;
  const int shared = first_.shared[static_cast<size_t>(node.index)];
  if (shared < 0) return;
  AbstractValue& value = state.locals[static_cast<size_t>(shared)];
  switch (node.opcode) {
    case Opcode::STORE_FAST: value = stored.is(Kind::kMaybeNull) ? AbstractValue{} : stored; break;
    case Opcode::LOAD_FAST: value = state.first_stack.back(); break;
    case Opcode::DELETE_FAST: value = {}; break;
    case Opcode::LOAD_FAST_AND_CLEAR:
      if (value.is(Kind::kUnbound))
        state.first_stack.back().kind = state.second_stack.back().kind = Kind::kMaybeNull;
      else
        state.first_stack.back() = state.second_stack.back() = value;
      value = {};
      break;
    default: break;
  }
}

void push_results(const std::vector<int>& results, const std::vector<AbstractValue>& made,
                  const std::vector<AbstractValue>& before, int pops, std::vector<AbstractValue>& stack) {
  stack.resize(before.size() - static_cast<size_t>(pops));
  for (size_t i = 0; i < results.size(); ++i)
    stack.push_back(results[i] == NodeEffect::kNew ? made[i] : from_top(before, results[i]));
}

void PathWalk::match_handlers(int a, int b, const FrameState& state) {
  const Node &x = first_.graph.node(a), &y = second_.graph.node(b);
  if (!x.raises || !y.raises || (x.handler < 0 && y.handler < 0)) return;
  if (x.handler < 0 || y.handler < 0)
    return fail(
        a, b, fmt::format("only the {} has an exception handler there", x.handler < 0 ? "second" : "first"));
  const Handler& one = first_.graph.handlers[static_cast<size_t>(x.handler)];
  const Handler& other = second_.graph.handlers[static_cast<size_t>(y.handler)];
  FrameState raised = state;
  raised.first_stack.resize(static_cast<size_t>(one.depth));
  raised.second_stack.resize(static_cast<size_t>(other.depth));
  if (one.push_last_instruction) raised.first_stack.push_back({Kind::kPlace, 0});
  if (other.push_last_instruction) raised.second_stack.push_back({Kind::kPlace, 0});
  const AbstractValue exception = raised.fresh();
  raised.first_stack.push_back(exception);
  raised.second_stack.push_back(exception);
  visit(one.target, other.target, std::move(raised));
}

// Both do nothing for ever. Each may be anywhere when a signal comes.
void PathWalk::match_endless(const FrameState& state) {
  const int a = here_first_, b = here_second_;
  const std::vector<Resting> first = resting_places(first_, a, state, false),
                             second = resting_places(second_, b, state, true);
  if (first.empty() != second.empty())
    return fail(a, b, fmt::format("no signal ends the {}", first.empty() ? "first" : "second"));
  for (const Resting& one : first) {
    for (const Resting& other : second) {
      if (!may_step(one.node, false)) return;
      FrameState both = state;
      both.first_stack = one.stack;
      both.second_stack = other.stack;
      both.synthetic = other.synthetic;
      match_handlers(one.node, other.node, both);
    }
  }
}

// RERAISE with a number takes the place of the exception from the stack; the interpreter raises SystemError when something
// else is there.
bool finds_its_place(const Node& node, const std::vector<AbstractValue>& stack) {
  return node.opcode != Opcode::RERAISE || node.number == 0 ||
         from_top(stack, node.number + 1).is(Kind::kPlace);
}

// RERAISE of the exception being handled, and `raise` without an exception.
bool PathWalk::raises_again(const Node& x, const Node& y, const FrameState& state) const {
  if (x.opcode != Opcode::RERAISE || y.opcode != Opcode::RAISE_VARARGS || y.number != 0) return false;
  return !state.handled.empty() && state.handled.back().is(Kind::kSome) &&
         state.first_stack.back() == state.handled.back();
}

// A method and its object in the first, an attribute in the second.
bool PathWalk::match_method(int a, int b, const FrameState& state) {
  const Node &x = first_.graph.node(a), &y = second_.graph.node(b);
  const bool plain = x.opcode == Opcode::LOAD_METHOD && y.opcode == Opcode::LOAD_ATTR;
  const bool of_super = x.opcode == Opcode::LOAD_SUPER_ATTR && y.opcode == x.opcode && (x.number & 1) != 0 &&
                        y.number == (x.number & ~1);
  if (!plain && !of_super) return false;
  if (first_.graph.name(x) != second_.graph.name(y)) return false;
  const size_t pops = of_super ? 3 : 1;
  for (size_t i = 1; i <= pops; ++i)
    if (!same_value(from_top(state.first_stack, static_cast<int>(i)),
                    from_top(state.second_stack, static_cast<int>(i))))
      return false;
  match_handlers(a, b, state);
  FrameState after = state;
  const AbstractValue method = after.fresh();
  after.first_stack.resize(after.first_stack.size() - pops);
  after.second_stack.resize(after.second_stack.size() - pops);
  after.first_stack.push_back(method);
  after.first_stack.push_back({Kind::kSelf, method.id});
  after.second_stack.push_back(method);
  visit(x.next, y.next, std::move(after));
  return true;
}

// What is called, below `count` other operands: a method and its object in the first, the same attribute and an empty slot in
// the second.
bool PathWalk::same_callee(const Node& call, int count, const FrameState& state) const {
  if (call.opcode != Opcode::CALL && call.opcode != Opcode::CALL_KW) return false;
  const AbstractValue &method = from_top(state.first_stack, count + 2),
                      &self = from_top(state.first_stack, count + 1);
  if (!self.is(Kind::kSelf) || !method.is(Kind::kSome) || method.id != self.id) return false;
  const bool null_first = first_.graph.tree->view.version <= PythonVersion{3, 12};
  const AbstractValue &null = from_top(state.second_stack, count + (null_first ? 2 : 1)),
                      &called = from_top(state.second_stack, count + (null_first ? 1 : 2));
  return null.is(Kind::kNull) && called == method;
}

bool PathWalk::same_operands(int a, int b, const NodeEffect& one, const NodeEffect& other,
                             const FrameState& state) {
  std::span<const int> positions = one.compared;
  if (one.pops >= 2 && same_callee(first_.graph.node(a), one.pops - 2, state))
    positions = positions.first(positions.size() - 2);
  for (size_t i = 0; i < positions.size(); ++i) {
    if (same_value(from_top(state.first_stack, positions[i]),
                   from_top(state.second_stack, other.compared[i])))
      continue;
    fail(a, b, fmt::format("operand {} from the top of the stack differs", positions[i]));
    return false;
  }
  return true;
}

void PathWalk::match(int a, int b, const FrameState& state) {
  const Node &x = first_.graph.node(a), &y = second_.graph.node(b);
  if (!finds_its_place(x, state.first_stack) || !finds_its_place(y, state.second_stack))
    return fail(a, b, "an exception is raised again at a place that is none");
  if (raises_again(x, y, state)) return match_handlers(a, b, state);
  if (match_method(a, b, state)) return;
  const PythonVersion version = first_.graph.tree->view.version;
  const NodeEffect one = node_effect(version, x), other = node_effect(version, y);
  Node y_with_number = y;
  if (x.opcode == y.opcode && !one.number_counts) y_with_number.number = x.number;
  if (!same_operation(first_.graph, x, second_.graph, y_with_number)) return fail(a, b, "they differ");
  if (!same_operands(a, b, one, other, state)) return;
  match_handlers(a, b, state);
  for (const bool jump : {false, true}) {
    const int next = jump ? x.taken : x.next, second_next = jump ? y.taken : y.next;
    if (failed() || (next < 0 && second_next < 0)) continue;
    FrameState after = state;
    const auto& results = jump ? one.results_on_jump : one.results;
    std::vector<AbstractValue> made(results.size());
    for (AbstractValue& value : made) value = after.fresh();
    push_results(results, made, state.first_stack, one.pops, after.first_stack);
    push_results(jump ? other.results_on_jump : other.results, made, state.second_stack, other.pops,
                 after.second_stack);
    if (x.opcode == Opcode::PUSH_EXC_INFO) after.handled.push_back(state.first_stack.back());
    if (x.opcode == Opcode::POP_EXCEPT && !after.handled.empty()) after.handled.pop_back();
    update_local(x, after, state.first_stack.empty() ? AbstractValue{} : state.first_stack.back());
    visit(next, second_next, std::move(after));
  }
}

void PathWalk::process(int a, int b, FrameState state) {
  here_first_ = a;
  here_second_ = b;
  const int first = advance(first_, a, state, false);
  if (failed()) return;
  const int second = advance(second_, b, state, true);
  if (failed()) return;
  if (first == kForever && second == kForever) return match_endless(state);
  if (first == kForever || second == kForever)
    return fail(
        here_first_, here_second_,
        fmt::format("the {} does nothing observable for ever", first == kForever ? "first" : "second"));
  match(first, second, state);
}

// --- the walk ---------------------------------------------------------------------------------------------

void PathWalk::visit(int a, int b, FrameState state) {
  synthetic_.forget_dead(b, state.synthetic);
  state.normalize();
  Place place{a, b};
  for (const AbstractValue& value : state.synthetic)
    place.push_back(value.is(Kind::kConstant) ? value.id : -1);
  values_left_ -= static_cast<int64_t>(state.locals.size() + state.synthetic.size() +
                                       state.first_stack.size() + state.second_stack.size());
  if (values_left_ < 0) return fail(a, b, "so many variables are not followed through so many instructions");
  const auto [at, fresh] = states_.try_emplace(place, state);
  if (!fresh) {
    FrameState common = common_state(at->second, state);
    if (common == at->second) return;
    at->second = std::move(common);
  }
  work_.insert(std::move(place));
}

GraphComparison PathWalk::run() {
  share_locals();
  intern_constants(first_);
  intern_constants(second_);
  FrameState start;
  start.synthetic.resize(static_cast<size_t>(synthetic_.count));
  start.locals.resize(shared_count_);
  for (int i = 0; i < first_.graph.tree->view.parameter_count(); ++i)
    if (const int shared = first_.shared[static_cast<size_t>(i)]; shared >= 0)
      start.locals[static_cast<size_t>(shared)] = start.fresh();
  visit(first_.graph.entry, second_.graph.entry, std::move(start));
  while (!work_.empty() && !failed()) {
    const Place place = std::move(work_.extract(work_.begin()).value());
    process(place[0], place[1], states_.at(place));
  }
  return std::move(result_);
}

}  // namespace

GraphComparison compare_paths(const InstructionGraph& first, const InstructionGraph& second,
                              const std::vector<std::string>& synthetic_locals, bool may_show,
                              int step_limit) {
  auto synthetic = find_synthetic_locals(first, second, synthetic_locals, may_show);
  if (!synthetic.ok()) return {.difference = synthetic.error().message};
  const std::string seen_by = synthetic->seen_by;
  GraphComparison result = PathWalk(first, second, std::move(*synthetic), step_limit).run();
  result.seen_by = seen_by;
  return result;
}

}  // namespace suture::toolbox
