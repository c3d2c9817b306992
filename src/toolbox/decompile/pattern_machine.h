// PatternMachine: runs the code of one pattern over holes (see match_patterns.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "toolbox/decompile/match_patterns.h"

namespace suture::toolbox {

// A place in the subject, and the pattern that stands there as far as it is known.
struct Hole {
  enum class Kind : uint8_t { kOpen, kWildcard, kValue, kSingleton, kSequence, kMapping, kClass, kOr };
  Kind kind = Kind::kOpen;
  bool finished = false;  // nothing more is done to it but to bind a name
  syntax::Expression* value = nullptr;
  std::vector<Hole*> parts;
  std::map<int, Hole*> indexed;  // of a sequence taken apart by index; negative: from the end
  int size = -1;
  bool at_least = false;
  int star = -1;
  syntax::Expressions keys;
  std::string rest;
  int positional = 0;
  std::vector<std::string> attributes;
  std::vector<bool> breaks;        // kOr: the alternatives that begin a line of the source
  std::vector<std::string> names;  // bound to it, the innermost first: `(0 as a) as b`
};

struct PatternItem {
  enum class Kind : uint8_t {
    kHole,
    kExpression,
    kTest,
    kLength,
    kFromEnd,
    kIndexable,
    kValues,
    kKeys,
    kKey,
    kRest
  };
  Kind kind = Kind::kHole;
  Hole* hole = nullptr;
  syntax::Expression* expr = nullptr;
  int number = 0;
  std::vector<Hole*> others;  // the same place in the other alternatives of an or-pattern
};

class PatternMachine {
 public:
  struct Failure {
    int at = -1;
    int depth = 0;  // values to be dropped there
  };

  // `steps`: how many may still be run by all machines together; alternatives are tried out before they are run.
  PatternMachine(Builder& builder, const Scope& scope, const LiftedCode& code, std::deque<Hole>& holes,
                 int64_t& steps)
      : builder_(builder), scope_(scope), code_(code), holes_(holes), steps_(steps) {}

  // Runs from an instruction with one open hole on the stack, until all is consumed or (for an alternative) until `stop`.
  bool run(int start, int stop);
  // Runs until the first test.
  bool run_to_failure(int start);
  // One by one, from a place inside a pattern: `stack` has its hole at the bottom.
  void begin(int start, std::vector<PatternItem> stack);
  bool step();
  int at() const { return at_; }
  Hole* root() const { return root_; }
  const std::vector<PatternItem>& stack() const { return stack_; }
  const std::vector<Failure>& failures() const { return failures_; }
  const std::vector<std::pair<Op, int>>& stores() const { return stores_; }
  const std::vector<int>& visited() const { return visited_; }  // instructions that have run
  // Where control is once the values of a failure are dropped; -1: elsewhere.
  static int behind_pops(const LiftedCode& code, const Failure& failure);

 private:
  bool begin(int start);
  bool step_load(const LiftedInstruction& it);
  bool step_test(const LiftedInstruction& it);
  bool step_parts(const LiftedInstruction& it);
  bool step_jump(const LiftedInstruction& it);
  bool step_store(const LiftedInstruction& it);
  bool copy(int depth);
  bool drop();
  bool unpack(int count, int star);
  bool match_or();
  std::vector<int> success_path(int start) const;
  int joint_of(int a, int b) const;
  void after_alternative(const PatternMachine& alternative, int& next, int& behind) const;
  bool compare(int arg);
  bool build(Op op, int arg);
  Hole* open_hole();
  PatternItem* top(size_t depth = 1) {
    return stack_.size() < depth ? nullptr : &stack_[stack_.size() - depth];
  }
  bool is(size_t depth, PatternItem::Kind kind) { return top(depth) && top(depth)->kind == kind; }
  std::optional<int> number_at(size_t depth);
  void go_on() { at_ = code_.at(at_).next < 0 ? -1 : code_.skip_empty(code_.at(at_).next); }
  bool name_of(const LiftedInstruction& it, std::string& name) const;

  Builder& builder_;
  const Scope& scope_;
  const LiftedCode& code_;
  std::deque<Hole>& holes_;
  int64_t& steps_;
  int at_ = -1;
  Hole* root_ = nullptr;
  std::vector<PatternItem> stack_;
  std::vector<Failure> failures_;
  std::vector<std::pair<Op, int>> stores_;
  std::vector<int> visited_;
  int nesting_ = 0;
  int line_ = 0;  // where the whole pattern begins
};

// The pattern that a hole has become.
syntax::Pattern* pattern_of(syntax::SyntaxTree& tree, const Hole& hole);

}  // namespace suture::toolbox
