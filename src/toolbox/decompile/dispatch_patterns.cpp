// Patterns in a dispatch loop: a `match` statement with one pattern, which leaves what it has taken apart in `_s` locals.
//
// From MATCH_SEQUENCE, MATCH_MAPPING or MATCH_CLASS on, the code of the pattern is run over holes (pattern_machine.h) as far as it is
// one, up to the last place where only parts of the subject are on the stack. They become captures:
//     match _s0:
//         case [0, *_s7]: _pc = 3
//         case _: _pc = 4
// What comes behind (stores, a guard, another alternative, the next case) is code like any other.
#include <deque>
#include <optional>

#include "toolbox/decompile/dispatch_machine.h"
#include "toolbox/decompile/pattern_machine.h"
#include "toolbox/decompile/scope.h"

namespace suture::toolbox::dispatch {

using namespace syntax;  // NOLINT: makes nodes

namespace {

constexpr int kLongestPattern = 4000;
constexpr int64_t kMostSteps = 1'000'000;  // those of alternatives that are tried out included

// Where the tests of a pattern end that begins in the middle of the code.
class PatternReader {
 public:
  PatternReader(SyntaxTree& tree, const CodeTree& code, const std::string& class_name,
                const LiftedCode& lifted, const Regions& regions, int& steps_left)
      : builder_{tree, options_},
        lifted_(lifted),
        regions_(regions),
        steps_left_(steps_left),
        scope_{.code = &code, .kind = CodeKind::kFunction, .class_name = class_name} {}

  // What stands on the stack above the subject when the pattern begins: the class and the names of its attributes.
  PatternMachine* read(int start, const Expressions& above) {
    const int stop = find_stop(start, above);
    if (stop < 0) return nullptr;
    begin(start, above);
    while (machine_->at() != stop || !is_between_parts()) machine_->step();
    return &*machine_;
  }

  // Where control goes when a test fails, and whether the subject has been dropped on the way.
  struct Failure {
    int at = -1;
    bool dropped = true;
  };
  std::optional<Failure> failure() const {
    const auto& all = machine_->failures();
    if (all.empty()) return std::nullopt;
    const int behind = PatternMachine::behind_pops(lifted_, all.front());
    bool same = behind >= 0, plain = true;
    for (const PatternMachine::Failure& each : all) {
      same = same && PatternMachine::behind_pops(lifted_, each) == behind;
      plain = plain && each.depth == 1 && lifted_.skip_empty(each.at) == lifted_.skip_empty(all.front().at);
    }
    if (same) return Failure{behind, true};
    if (plain) return Failure{lifted_.skip_empty(all.front().at), false};
    return std::nullopt;
  }

 private:
  void begin(int start, const Expressions& above) {
    std::vector<PatternItem> stack = {{.kind = PatternItem::Kind::kHole, .hole = &holes_.emplace_back()}};
    for (Expression* each : above) stack.push_back({.kind = PatternItem::Kind::kExpression, .expr = each});
    steps_ = kMostSteps;
    machine_.emplace(builder_, scope_, lifted_, holes_, steps_);
    machine_->begin(start, std::move(stack));
  }

  int find_stop(int start, const Expressions& above) {
    int stop = -1;
    begin(start, above);
    size_t failures = 0;  // that have been looked at
    bool fails_to_one_place = false;
    for (int steps = 0; steps < kLongestPattern && --steps_left_ > 0; ++steps) {
      const int at = machine_->at();
      if (at < 0 || regions_.region_of(at) != regions_.region_of(start)) break;
      if (failures != machine_->failures().size()) {
        failures = machine_->failures().size();
        fails_to_one_place = failure().has_value();
      }
      if (fails_to_one_place && is_between_parts()) stop = at;
      if (is_store(lifted_.at(at).op) || machine_->stack().empty() || !machine_->step()) break;
    }
    return stop;
  }

  bool is_between_parts() const {
    for (const PatternItem& item : machine_->stack()) {
      const bool is_rest = item.kind == PatternItem::Kind::kRest && item.hole;
      if (is_rest || item.kind == PatternItem::Kind::kKeys) continue;
      if (item.kind != PatternItem::Kind::kHole) return false;
      // The length of a mapping is tested together with its keys.
      const bool only_length = item.hole->kind == Hole::Kind::kMapping && item.hole->size >= 0;
      if (only_length && item.hole->keys.empty()) return false;
    }
    return true;
  }

  const StructureOptions options_;
  Builder builder_;
  const LiftedCode& lifted_;
  const Regions& regions_;
  int& steps_left_;  // of the whole code
  const Scope scope_;
  std::deque<Hole> holes_;
  int64_t steps_ = 0;
  std::optional<PatternMachine> machine_;
};

bool is_dotted_name(const Expression* expr) {
  while (const auto* attribute = as<Attribute>(expr)) expr = attribute->value;
  return as<Name>(expr) != nullptr;
}

}  // namespace

// False: what begins here is no pattern.
bool Machine::match_statement(const LiftedInstruction& it) {
  const size_t parts = it.op == Op::MatchClass ? 3 : 1;
  if (slots_.size() < parts) return false;
  const size_t subject = slots_.size() - parts;
  for (size_t i = subject; i < slots_.size(); ++i)
    if (slots_[i].kind != SlotKind::kValue) return false;
  std::set<int> uses;
  Expressions above;
  if (parts == 3) {
    if (!is_dotted_name(slots_[subject + 1].expr)) spill_all();
    uses = slots_[subject + 1].uses;
    above = {slots_[subject + 1].expr, slots_[subject + 2].expr};
  }
  PatternReader reader(tree_, code_, class_name_, lifted_, regions_, steps_left_);
  const PatternMachine* machine = reader.read(at_, above);
  if (!machine) return false;
  slots_.resize(subject + 1);
  spill_all(uses);
  for (const int at : machine->visited()) {
    const Op op = lifted_.at(at).op;
    if (op == Op::LoadFast || op == Op::LoadDeref) local_name(lifted_.at(at).arg);  // uses it
  }
  Expression* matched = slots_.back().expr;
  Slots failing = slots_;
  if (reader.failure()->dropped) failing.pop_back();
  const Slot whole = pop();
  for (const PatternItem& item : machine->stack()) {
    if (item.kind == PatternItem::Kind::kHole && item.hole == machine->root()) {
      slots_.push_back(whole);
      continue;
    }
    if (item.kind == PatternItem::Kind::kKeys) {  // only dropped
      push_kind(SlotKind::kNothing);
      continue;
    }
    const int local = next_spare_++;
    push(slot_name(local), {local}, false);
    if (item.kind == PatternItem::Kind::kRest) {
      item.hole->rest = synthetic("_s" + std::to_string(local));
      continue;
    }
    item.hole->names.push_back(synthetic("_s" + std::to_string(local)));
    for (Hole* other : item.others) other->names.push_back(item.hole->names.back());
  }
  Context* context = nodes_[static_cast<size_t>(node_)].context;
  MatchCase yes{pattern_of(tree_, *machine->root()), nullptr, {}};
  MatchCase no{make<MatchAs>(nullptr, std::string()), nullptr, {}};
  go(machine->at(), slots_, context, yes.body);
  go(reader.failure()->at, failing, context, no.body);
  out_->push_back(make<Match>(matched, std::vector<MatchCase>{yes, no}));
  return true;
}

// MATCH_SEQUENCE and MATCH_MAPPING whose result is used as a value.
void Machine::match_alone(const LiftedInstruction& it) {
  if (slots_.empty() || slots_.back().kind != SlotKind::kValue)
    return fail("a value that no expression gives");
  spill_all();
  const int local = next_spare_++;
  const auto gives = [&](Pattern* pattern, bool value) {
    Expression* result = make<syntax::Constant>(suture::Constant::boolean(value));
    return MatchCase{pattern, nullptr, {make<Assign>(Expressions{slot_name(local)}, result)}};
  };
  Pattern* any = it.op == Op::MatchMapping ? static_cast<Pattern*>(make<MatchMapping>())
                                           : make<MatchSequence>(Patterns{make<MatchStar>(std::string())});
  out_->push_back(make<Match>(
      slots_.back().expr,
      std::vector<MatchCase>{gives(any, true), gives(make<MatchAs>(nullptr, std::string()), false)}));
  push(slot_name(local), {local}, false);
}

}  // namespace suture::toolbox::dispatch
