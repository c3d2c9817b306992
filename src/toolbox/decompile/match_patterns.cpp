#include "toolbox/decompile/match_patterns.h"

#include <algorithm>
#include <optional>
#include <set>

#include "toolbox/decompile/pattern_machine.h"

namespace suture::toolbox {

using namespace syntax;

namespace {

// Holes to patterns.
class PatternMaker {
 public:
  explicit PatternMaker(SyntaxTree& tree) : tree_(tree) {}

  Pattern* make(const Hole& hole, bool star = false) {
    if (star) return tree_.make<MatchStar>(hole.names.empty() ? std::string() : hole.names.front());
    Pattern* pattern = inner(hole);
    for (const std::string& name : hole.names) pattern = tree_.make<MatchAs>(pattern, name);
    return pattern;
  }

 private:
  Pattern* inner(const Hole& hole) {
    switch (hole.kind) {
      case Hole::Kind::kValue: return tree_.make<MatchValue>(hole.value);
      case Hole::Kind::kSingleton: return singleton(hole);
      case Hole::Kind::kSequence: return sequence(hole);
      case Hole::Kind::kMapping: return tree_.make<MatchMapping>(hole.keys, patterns(hole.parts), hole.rest);
      case Hole::Kind::kClass: return class_pattern(hole);
      case Hole::Kind::kOr: return tree_.make<MatchOr>(patterns(hole.parts), hole.breaks);
      default: return hole.names.empty() ? tree_.make<MatchAs>(nullptr, std::string()) : nullptr;
    }
  }

  Pattern* singleton(const Hole& hole) {
    const auto* constant = as<syntax::Constant>(hole.value);
    if (!constant) return tree_.make<MatchValue>(hole.value);
    return tree_.make<MatchSingleton>(constant->value);
  }

  Patterns patterns(const std::vector<Hole*>& holes) {
    Patterns result;
    for (const Hole* hole : holes) result.push_back(make(*hole));
    return result;
  }

  Pattern* class_pattern(const Hole& hole) {
    Patterns all = patterns(hole.parts);
    const auto positional = static_cast<std::ptrdiff_t>(
        std::min<size_t>(all.size(), static_cast<size_t>(std::max(hole.positional, 0))));
    return tree_.make<MatchClass>(hole.value, Patterns(all.begin(), all.begin() + positional),
                                  hole.attributes, Patterns(all.begin() + positional, all.end()));
  }

  Pattern* sequence(const Hole& hole) {
    Patterns result;
    if (!hole.parts.empty() || (hole.indexed.empty() && hole.size == 0 && !hole.at_least)) {
      for (size_t i = 0; i < hole.parts.size(); ++i)
        result.push_back(make(*hole.parts[i], static_cast<int>(i) == hole.star));
      return tree_.make<MatchSequence>(std::move(result));
    }
    // Taken apart by index, or not at all: what nothing is done to is `_`, and a star stands between both ends.
    const bool has_star = hole.at_least || hole.size < 0;
    const int size = std::max(hole.size, 0);
    int front = 0;
    for (const auto& [index, part] : hole.indexed)
      if (index >= 0) front = std::max(front, index + 1);
    if (!has_star) front = size;
    for (int i = 0; i < front; ++i) result.push_back(at(hole, i));
    if (has_star) result.push_back(tree_.make<MatchStar>(std::string()));
    for (int i = size - front; has_star && i > 0; --i) result.push_back(at(hole, -i));
    return tree_.make<MatchSequence>(std::move(result));
  }

  Pattern* at(const Hole& hole, int index) {
    const auto part = hole.indexed.find(index);
    return part == hole.indexed.end() ? tree_.make<MatchAs>(nullptr, std::string()) : make(*part->second);
  }

  SyntaxTree& tree_;
};

class CaseFinder {
 public:
  CaseFinder(Builder& builder, const Scope& scope, LiftedCode& code, Regions& regions)
      : builder_(builder),
        scope_(scope),
        code_(code),
        regions_(regions),
        steps_(kStepsAtLeast + kStepsPerInstruction * code.size()) {}

  std::vector<MatchedCase> run() {
    if (!worth_looking()) return {};
    for (int at = 0; at < code_.size(); ++at)
      if (!consumed_.contains(at) && begins_pattern(at) && !starts_.contains(at)) chain(at);
    find_leading_captures();
    return std::move(cases_);
  }

 private:
  struct Found {
    int start = -1, success = -1, failure = -1;
    MatchedCase matched;
    std::vector<int> visited;
    bool bound_and_dropped = false;  // a copy was bound: the subject is none of the pattern's
  };

  bool worth_looking() const {
    return std::any_of(code_.instructions.begin(), code_.instructions.end(), [](const LiftedInstruction& it) {
      return (it.op == Op::Copy && it.arg == 1) || it.op == Op::MatchSequence || it.op == Op::MatchMapping ||
             it.op == Op::MatchClass;
    });
  }

  // Where the code of a pattern may begin. A class pattern begins with the name of its class.
  bool begins_pattern(int at) const {
    const LiftedInstruction& it = code_.at(at);
    if (it.op == Op::MatchSequence || it.op == Op::MatchMapping) return true;
    if (it.op == Op::Copy && it.arg == 1)  // not the one that tests what MATCH_CLASS gave
      return at == 0 || (code_.at(at - 1).op != Op::MatchClass && code_.at(at - 1).op != Op::MatchKeys);
    if (it.op != Op::LoadGlobal && it.op != Op::LoadName && it.op != Op::LoadFast && it.op != Op::LoadDeref)
      return false;
    int next = at;
    do next = code_.after(next);
    while (next >= 0 && code_.at(next).op == Op::LoadAttr && !code_.at(next).flag);
    if (next < 0 || code_.at(next).op != Op::LoadConst || code_.at(next).next < 0) return false;
    return code_.at(code_.skip_empty(code_.at(next).next)).op == Op::MatchClass;
  }

  std::optional<Found> parse(int at, bool copied) {
    const size_t known = holes_.size();
    std::optional<Found> found = parse_into_holes(at, copied);
    holes_.resize(known);  // the pattern is made
    return found;
  }

  std::optional<Found> parse_into_holes(int at, bool copied) {
    PatternMachine machine(builder_, scope_, code_, holes_, steps_);
    if (!machine.run(copied ? code_.at(at).next : at, -1) || machine.at() < 0) return std::nullopt;
    Found found{.start = at, .success = machine.at()};
    for (const PatternMachine::Failure& failure : machine.failures()) {
      const int behind = PatternMachine::behind_pops(code_, failure);
      if (behind < 0 || (found.failure >= 0 && !same_place(found.failure, behind))) return std::nullopt;
      found.failure = behind;
    }
    found.matched = {.pattern = PatternMaker(builder_.tree).make(*machine.root()),
                     .copied = copied,
                     .stores = machine.stores()};
    found.visited = machine.visited();
    found.bound_and_dropped = machine.root()->kind == Hole::Kind::kWildcard && !machine.root()->names.empty();
    // Nothing is left of a guard that the compiler knows to hold, nor of the cases behind it.
    found.matched.guarded_by_true = copied && found.failure < 0 && code_.at(found.success).op == Op::PopTop;
    return found;
  }

  // A return of a constant stands wherever control jumps to it.
  bool same_place(int a, int b) const {
    const LiftedInstruction &x = code_.at(a), &y = code_.at(b);
    const auto returns = [&](int at) { return at >= 0 && code_.at(at).op == Op::Return; };
    return a == b || (x.op == Op::LoadConst && y.op == Op::LoadConst && x.arg == y.arg &&
                      x.handler == y.handler && returns(code_.after(a)) && returns(code_.after(b)));
  }

  // The cases of one statement: each one that leaves the subject is followed by another.
  void chain(int at) {
    std::vector<Found> found;
    for (bool more = true; more;) {
      if (at < 0 || starts_.contains(at)) return;
      std::optional<Found> next = parse(at, false);
      // Alone, what matches everything is a plain store, but for alternatives.
      const auto plain = [&] {
        return next->failure < 0 && found.empty() && !as<MatchOr>(next->matched.pattern);
      };
      if (next && plain()) next.reset();
      if (next && next->bound_and_dropped) next.reset();
      if (!next && code_.at(at).op == Op::Copy) next = parse(at, true);
      if (!next && !found.empty()) next = bare_guard(at);
      if (!next || plain()) return;
      more = next->matched.copied && !next->matched.guarded_by_true;
      if (more && next->failure < 0) next->failure = next_behind_guard(next->success);
      at = next->failure;
      found.push_back(std::move(*next));
      if (found.size() > 10000) return;
    }
    for (Found& it : found) apply(it);
  }

  // `case _ if guard` between others: the optimizer leaves nothing of the pattern.
  std::optional<Found> bare_guard(int at) {
    if (next_behind_guard(at) < 0) return std::nullopt;
    Found found{.start = at, .success = at};
    found.matched = {
        .pattern = builder_.tree.make<MatchAs>(nullptr, std::string()), .copied = true, .stores = {}};
    return found;
  }

  // A new instruction that all ways to `at` lead to.
  int insert_before(int at) {
    const int fresh = code_.size();
    for (LiftedInstruction& it : code_.instructions) {
      if (it.next >= 0 && code_.skip_empty(it.next) == at) it.next = fresh;
      if (it.target >= 0 && code_.skip_empty(it.target) == at) it.target = fresh;
    }
    code_.instructions.push_back(code_.at(at));
    regions_.of.push_back(regions_.region_of(at));
    return fresh;
  }

  // `case name if guard`: the next case begins where the guard leads when it fails.
  int next_behind_guard(int success) const {
    int at = success;
    for (int steps = 0; at >= 0 && steps < kLongestGuard; ++steps) {
      const LiftedInstruction& it = code_.at(at);
      if (it.op == Op::JumpIf)
        return code_.skip_empty(static_cast<JumpTest>(it.flag) == JumpTest::kTrue ? it.next : it.target);
      at = it.next < 0 ? -1 : code_.skip_empty(it.next);
    }
    return -1;
  }

  void apply(Found& found) {
    if (found.start == found.success) found.start = insert_before(found.start);
    starts_.insert(found.start);
    LiftedInstruction& it = code_.at(found.start);
    it.op = Op::MatchCase;
    it.arg = static_cast<int>(cases_.size());
    it.next = found.success;
    it.target = found.failure;
    if (found.matched.pattern->kind == PatternKind::MatchAs && !as<MatchAs>(found.matched.pattern)->pattern)
      it.target = -1;  // matches everything; its guard leads on
    consumed_.insert(found.visited.begin(), found.visited.end());
    cases_.push_back(std::move(found.matched));
  }

  // COPY 1; STORE name; guard: a first case that binds everything shows by where its guard leads, the subject still on the stack.
  void find_leading_captures() {
    for (int at = code_.size() - 1; at >= 0; --at) {
      const LiftedInstruction& it = code_.at(at);
      if (it.op != Op::Copy || it.arg != 1) continue;
      const int store = code_.after(at);
      if (store < 0 || !is_store(code_.at(store).op)) continue;
      const int jump = jump_of_guard(store);
      if (jump < 0 || !tests_something_else(store, jump)) continue;
      // The guard fails where the subject is still needed.
      for (const auto& [fails, succeeds] : {std::pair(code_.at(jump).target, code_.at(jump).next),
                                            std::pair(code_.at(jump).next, code_.at(jump).target)}) {
        const int next = fails < 0 ? -1 : code_.skip_empty(fails);
        if (next < 0 || succeeds < 0) continue;
        if (!starts_.contains(next) && !find_last_case(next, code_.skip_empty(succeeds))) continue;
        if (std::optional<Found> found = parse(at, true)) apply(*found);
        break;
      }
    }
  }

  int jump_of_guard(int at) const {
    for (int steps = 0; at >= 0 && steps < kLongestGuard && code_.at(at).op != Op::JumpIf; ++steps)
      at = code_.after(at);
    return at >= 0 && code_.at(at).op == Op::JumpIf ? at : -1;
  }

  // `(name := x)` and `(name := x) < y and z` look alike, but for what is tested.
  bool tests_something_else(int store, int jump) const {
    int before = store;
    for (int at = store; at != jump; at = code_.skip_empty(code_.at(at).next)) before = at;
    return before != store && code_.at(before).op != Op::Copy;
  }

  // The last case, behind a guard that fails: where that one succeeds, the subject is dropped.
  bool find_last_case(int next, int succeeds) {
    if (succeeds < 0 || code_.at(succeeds).op != Op::PopTop) return false;
    std::optional<Found> last = parse(next, false);
    if (last) apply(*last);
    return last.has_value();
  }

  static constexpr int kLongestGuard = 200;
  static constexpr int64_t kStepsPerInstruction = 100, kStepsAtLeast = 100'000;

  Builder& builder_;
  const Scope& scope_;
  LiftedCode& code_;
  Regions& regions_;
  int64_t steps_;
  std::deque<Hole> holes_;
  std::vector<MatchedCase> cases_;
  std::set<int> starts_, consumed_;
};

}  // namespace

Pattern* pattern_of(SyntaxTree& tree, const Hole& hole) { return PatternMaker(tree).make(hole); }

std::vector<MatchedCase> find_match_cases(Builder& builder, const Scope& scope, LiftedCode& code,
                                          Regions& regions) {
  return CaseFinder(builder, scope, code, regions).run();
}

}  // namespace suture::toolbox
