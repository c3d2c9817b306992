#include "toolbox/decompile/conditions.h"

#include <algorithm>
#include <set>

#include "toolbox/decompile/expressions.h"

namespace suture::toolbox {

using namespace syntax;

bool ConditionFolder::is_pure(const FlowNode& node) const {
  return !node.dead && node.has_no_statements() && node.clause_name.empty();
}

int ConditionFolder::destination(int to, const Context* context) const {
  for (int steps = 0; steps < 64 && to >= 0; ++steps) {
    const FlowNode& node = graph_.at(to);
    if (to == merge_ || node.end != End::kGoto || !is_pure(node) || node.is_header || node.context != context)
      break;
    to = node.yes.to;
  }
  return to;
}

// Follows an edge to where it matters. At the merge, the value in the slot comes from the last edge on the way.
ConditionFolder::Arrival ConditionFolder::arrive(int from, bool no_edge) const {
  const FlowNode& begin = graph_.at(from);
  const Edge* edge = no_edge ? &begin.no : &begin.yes;
  Arrival result;
  for (int steps = 0; steps < 64; ++steps) {
    if (edge->to == merge_ || edge->to < 0) break;
    const FlowNode& node = graph_.at(edge->to);
    if (node.end != End::kGoto || !is_pure(node) || node.is_header || node.context != begin.context) break;
    if (node.in.size() > 1) result.single = false;
    edge = &node.yes;
  }
  result.node = edge->to;
  result.stack = &edge->stack;
  if (result.node == merge_ && merge_ >= 0 && slot_ < edge->stack.size()) {
    result.value = edge->stack[slot_];
    result.itself = result.value == begin.test;
  }
  return result;
}

bool ConditionFolder::same_arrival(int a, bool a_no, int b, bool b_no) const {
  const Arrival x = arrive(a, a_no), y = arrive(b, b_no);
  if (x.node < 0 || x.node != y.node) return false;
  if (x.node != merge_) return true;
  return (x.itself && y.itself) || x.value == y.value;
}

bool ConditionFolder::can_take_in(int branch, int other) const {
  if (other < 0 || other == branch) return false;
  const FlowNode &a = graph_.at(branch), &b = graph_.at(other);
  return b.end == End::kBranch && is_pure(b) && b.in.size() == 1 && !b.is_header && a.context == b.context &&
         (!allowed_ || allowed_(a, b));
}

void ConditionFolder::detach(int from, bool no_edge) {
  FlowNode& node = graph_.at(from);
  Edge& edge = no_edge ? node.no : node.yes;
  const int to = edge.to;
  edge = {};
  if (to < 0) return;
  auto& in = graph_.at(to).in;
  in.erase(std::remove(in.begin(), in.end(), std::pair<int, bool>{from, no_edge}), in.end());
  if (!in.empty() || graph_.at(to).end != End::kGoto || graph_.at(to).dead) return;
  graph_.at(to).dead = true;  // a node that did nothing
  detach(to, false);
}

Value* ConditionFolder::value_of(Expression* expr, int order) {
  Value value;
  value.expr = expr;
  value.order = order;
  values_.push_back(std::move(value));
  return &values_.back();
}

// `node` becomes a branch on `test` with the edges of `source`, which it takes in.
void ConditionFolder::replace(int node, Expression* test, int source, bool self_yes, bool self_no) {
  Value* value = value_of(test, graph_.at(node).test->order);
  value->used = true;
  detach(node, false);
  detach(node, true);
  for (const bool no_edge : {false, true}) {
    Edge& taken = no_edge ? graph_.at(source).no : graph_.at(source).yes;
    Edge edge = taken;
    const Arrival arrival = arrive(source, no_edge);
    if ((no_edge ? self_no : self_yes) && merge_ >= 0 && arrival.node == merge_) {
      edge = {merge_, *arrival.stack, edge.falls};
      edge.stack[slot_] = value;
      detach(source, no_edge);
      graph_.at(merge_).in.emplace_back(node, no_edge);
    } else if (edge.to >= 0) {
      for (auto& in : graph_.at(edge.to).in)
        if (in == std::pair<int, bool>{source, no_edge}) in.first = node;
      taken = {};
    }
    (no_edge ? graph_.at(node).no : graph_.at(node).yes) = std::move(edge);
  }
  graph_.at(node).test = value;
  graph_.at(source).dead = true;
}

// After the edges of a branch have changed places: the same in the list of the node one leads to.
void ConditionFolder::flip_ways_in(int node) {
  const int yes = graph_.at(node).yes.to, no = graph_.at(node).no.to;
  for (const int to : {yes, no}) {
    if (to < 0) continue;
    std::erase_if(graph_.at(to).in, [&](const auto& way) { return way.first == node; });
  }
  if (yes >= 0) graph_.at(yes).in.emplace_back(node, false);
  if (no >= 0) graph_.at(no).in.emplace_back(node, true);
}

// What this folder has made belongs to the branch or value that it has made it for, both of which are taken in here.
Expression* ConditionFolder::join(BoolOperator op, Expression* a, Expression* b) {
  if (made_.contains(b) && add_in_front(op, a, b)) return b;
  if (op == BoolOperator::And && made_.contains(a) && add_comparison(a, b)) return a;
  Expression* both = op == BoolOperator::And ? make_and(tree_, a, b) : make_or(tree_, a, b);
  made_.insert(both);
  return both;
}

bool ConditionFolder::take_in_one(int node, bool no_side) {
  const FlowNode& it = graph_.at(node);
  const int other = destination(no_side ? it.no.to : it.yes.to, it.context);
  if (other != (no_side ? it.no.to : it.yes.to)) return false;
  if (!can_take_in(node, other)) return false;
  Expression* a = it.test->expr;
  Expression* b = graph_.at(other).test->expr;
  // The other edge of `node` and the edge of `other` that leads to the same place.
  for (const bool other_no : {!no_side, no_side}) {
    if (!same_arrival(node, !no_side, other, other_no)) continue;
    const Arrival shared = arrive(node, !no_side);
    const bool negated = other_no == no_side;
    if (negated && shared.node == merge_ && shared.itself) continue;
    // `a and not b` rather than `not a or b` when the body is where b is false.
    Expression* left = negated ? make_not(tree_, a) : a;
    const bool body_where_false = other_no ? graph_.at(other).yes.falls : graph_.at(other).no.falls;
    if (negated && merge_ < 0 && (body_where_false || !left)) {
      if (Expression* right = make_not(tree_, b)) {
        Expression* both = no_side ? join(BoolOperator::Or, a, right) : join(BoolOperator::And, a, right);
        std::swap(graph_.at(other).yes, graph_.at(other).no);
        flip_ways_in(other);
        replace(node, both, other, false, false);
        return true;
      }
    }
    if (!left) continue;
    // yes side taken in: `a and b` when the shared place is b's no; `not a or b` when it is b's yes.
    Expression* test = join(other_no ? BoolOperator::And : BoolOperator::Or, left, b);
    const bool self_yes = arrive(other, false).itself, self_no = arrive(other, true).itself;
    replace(node, test, other, self_yes, self_no);
    return true;
  }
  return false;
}

bool ConditionFolder::take_in_both(int node) {
  const FlowNode& it = graph_.at(node);
  const int b = it.yes.to, c = it.no.to;
  if (b == c || !can_take_in(node, b) || !can_take_in(node, c)) return false;
  if (!same_arrival(b, false, c, false) || !same_arrival(b, true, c, true)) return false;
  Expression* test = tree_.make<IfExp>(it.test->expr, graph_.at(b).test->expr, graph_.at(c).test->expr);
  const bool self_yes = arrive(b, false).itself, self_no = arrive(b, true).itself;
  detach(c, false);
  detach(c, true);
  graph_.at(c).dead = true;
  replace(node, test, b, self_yes, self_no);
  return true;
}

// Both ways bring a value to the merge: the branch is an expression.
bool ConditionFolder::both_arrive(int node) {
  const Arrival yes = arrive(node, false), no = arrive(node, true);
  if (merge_ < 0 || yes.node != merge_ || no.node != merge_ || !yes.single || !no.single) return false;
  if (!yes.value || !no.value || !yes.value->expr || !no.value->expr) return false;
  FlowNode& it = graph_.at(node);
  Expression* test = it.test->expr;
  Expression* value = no.itself    ? join(BoolOperator::And, test, yes.value->expr)
                      : yes.itself ? join(BoolOperator::Or, test, no.value->expr)
                                   : tree_.make<IfExp>(test, yes.value->expr, no.value->expr);
  if (BoolOp* both = as<BoolOp>(value)) both->whole = true;
  Edge edge{merge_, *yes.stack, false};
  edge.stack[slot_] = value_of(value, std::min(yes.value->order, no.value->order));
  detach(node, false);
  detach(node, true);
  it.end = End::kGoto;
  it.test = nullptr;
  it.yes = std::move(edge);
  graph_.at(merge_).in.emplace_back(node, false);
  return true;
}

// The second comparison of `a < b < c` waits for the first one, which takes it in.
bool ConditionFolder::continues_comparison(int node) const {
  const FlowNode& it = graph_.at(node);
  const Compare* second = as<Compare>(it.test->expr);
  if (!second || it.in.size() != 1) return false;
  const FlowNode& before = graph_.at(it.in.front().first);
  const Compare* first = before.end == End::kBranch && is_pure(it) ? as<Compare>(before.test->expr) : nullptr;
  return first && first->comparators.back() == second->left;
}

bool ConditionFolder::step(int node) {
  if (graph_.at(node).dead || graph_.at(node).end != End::kBranch || continues_comparison(node)) return false;
  return both_arrive(node) || take_in_one(node, false) || take_in_one(node, true) || take_in_both(node);
}

void ConditionFolder::fold_branch(int node) {
  while (step(node)) {
  }
}

void ConditionFolder::fold_branches(const std::function<bool(const FlowNode&, const FlowNode&)>& allowed) {
  allowed_ = allowed;
  std::vector<int> order;
  for (int i = 0; i < graph_.size(); ++i)
    if (!graph_.at(i).dead && graph_.at(i).end == End::kBranch) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return graph_.at(a).sequence > graph_.at(b).sequence; });
  for (const int node : order) fold_branch(node);
  allowed_ = {};
}

bool ConditionFolder::fold_value(int merge, size_t slot) {
  merge_ = merge;
  slot_ = slot;
  // Branches that reach the merge through nodes without statements.
  std::set<int> seen;
  std::vector<int> work = {merge}, branches;
  while (!work.empty() && seen.size() < 4000) {
    const int at = work.back();
    work.pop_back();
    for (const auto& [from, no_edge] : graph_.at(at).in) {
      if (!seen.insert(from).second) continue;
      if (graph_.at(from).end == End::kBranch) branches.push_back(from);
      if (is_pure(graph_.at(from))) work.push_back(from);
    }
  }
  std::sort(branches.begin(), branches.end(),
            [&](int a, int b) { return graph_.at(a).sequence > graph_.at(b).sequence; });
  for (const int branch : branches) {
    fold_branch(branch);
    if (graph_.at(merge).in.size() == 1) break;
  }
  merge_ = -1;
  return graph_.at(merge).in.size() == 1;
}

}  // namespace suture::toolbox
