// Conditions: branches that decide together become one test or one value.
//
//   a ? b : X,  b ? Y : X                =>  (a and b) ? Y : X
//   a ? Y : b,  b ? Y : X                =>  (a or b) ? Y : X
//   a ? b : c,  b ? Y : X,  c ? Y : X    =>  (b if a else c) ? Y : X
//   a ? value : a  (both to one merge)   =>  a and value;  likewise `or` and conditional expressions
//
// Only nodes without statements and with a single way in are taken in, so nothing is run more or less often than before. An
// edge that brings the tested value itself to a merge is what makes `and` and `or` of values.
#pragma once

#include <deque>
#include <functional>
#include <unordered_set>

#include "toolbox/decompile/flow_graph.h"

namespace suture::toolbox {

class ConditionFolder {
 public:
  ConditionFolder(FlowGraph& graph, syntax::SyntaxTree& tree, std::deque<Value>& values)
      : graph_(graph), tree_(tree), values_(values) {}

  // Takes in what decides together with this branch.
  void fold_branch(int node);
  // All branches, last ones first. `allowed` may refuse pairs: (branch, the branch it would take in).
  void fold_branches(const std::function<bool(const FlowNode&, const FlowNode&)>& allowed = {});
  // Ways into `merge` that differ in one stack slot become one way with one value. False: they are no expression.
  bool fold_value(int merge, size_t slot);

  // Where an edge leads, nodes that do nothing passed.
  int destination(int to, const Context* context) const;
  void detach(int from, bool no_edge);  // drops an edge, and nodes nothing leads to any more

 private:
  struct Arrival {
    int node = -1;
    Value* value = nullptr;  // at the merge
    const Stack* stack = nullptr;
    bool itself = false;  // the value is the test of the branch it comes from
    bool single = true;   // nothing else takes this way
  };
  bool is_pure(const FlowNode& node) const;
  bool can_take_in(int branch, int other) const;
  Arrival arrive(int from, bool no_edge) const;
  bool same_arrival(int a, bool a_no, int b, bool b_no) const;
  bool continues_comparison(int node) const;
  bool step(int node);
  bool both_arrive(int node);
  bool take_in_one(int node, bool no_side);
  void flip_ways_in(int node);
  bool take_in_both(int node);
  void replace(int node, syntax::Expression* test, int source, bool keep_self_yes, bool keep_self_no);
  syntax::Expression* join(syntax::BoolOperator op, syntax::Expression* a, syntax::Expression* b);
  Value* value_of(syntax::Expression* expr, int line_order);

  FlowGraph& graph_;
  syntax::SyntaxTree& tree_;
  std::deque<Value>& values_;
  std::function<bool(const FlowNode&, const FlowNode&)> allowed_;
  std::unordered_set<const syntax::Expression*> made_;
  int merge_ = -1;
  size_t slot_ = 0;
};

}  // namespace suture::toolbox
