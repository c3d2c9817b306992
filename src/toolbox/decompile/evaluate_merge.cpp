// Where several ways meet: their stacks agree, or they have computed one value that the ways decide about.
#include <fmt/format.h>

#include <algorithm>

#include "toolbox/decompile/comprehensions.h"
#include "toolbox/decompile/conditions.h"
#include "toolbox/decompile/evaluate.h"

namespace suture::toolbox {

namespace {

const Stack& stack_of(const FlowGraph& graph, const std::pair<int, bool>& edge) {
  return edge.second ? graph.at(edge.first).no.stack : graph.at(edge.first).yes.stack;
}

bool same_for_all(const Value* a, const Value* b) {
  return a == b || (a->kind == ValueKind::kNothing && b->kind == ValueKind::kNothing);
}

}  // namespace

bool Evaluator::merge_stacks(int block) {
  FlowNode& node = graph_.at(block);
  if (node.in.size() == 1 && node.in.front().second && graph_.at(node.in.front().first).end == End::kFor) {
    const std::string problem =
        fold_filling_loop(builder_.tree, graph_, result_.values, node.in.front().first, block);
    if (!problem.empty()) {
      fail(problem);
      return false;
    }
  }
  const std::vector<int>& instructions = blocks_.at(block).instructions;
  if (node.in.size() > 1 && !instructions.empty() && code_.at(instructions.front()).op == Op::Stop) {
    run_separately(block);
    return false;
  }
  stack_ = stack_of(graph_, node.in.front());
  std::vector<size_t> different;
  for (const auto& edge : node.in) {
    const Stack& other = stack_of(graph_, edge);
    if (other.size() != stack_.size()) {
      fail(fmt::format("two ways lead here with {} and {} values on the stack", stack_.size(), other.size()));
      return false;
    }
    for (size_t i = 0; i < other.size(); ++i)
      if (!same_for_all(other[i], stack_[i]) &&
          std::find(different.begin(), different.end(), i) == different.end())
        different.push_back(i);
  }
  const Block& it = blocks_.at(block);
  // SWAP 2; POP_TOP: the operand of a chained comparison that its next part would have used is dropped.
  const auto begins = [&](size_t at, Op op) {
    return at < it.instructions.size() && code_.at(it.instructions[at]).op == op;
  };
  if (different.size() == 2 && stack_.size() >= 2 && begins(0, Op::Swap) && begins(1, Op::PopTop))
    std::erase(different, stack_.size() - 2);
  if (different.empty()) return true;
  // Tested values that are only dropped: no way needs them.
  if (different.size() == 1 && different.front() + 1 == stack_.size() && begins(0, Op::PopTop)) {
    bool all_used = true;
    for (const auto& edge : node.in) all_used = all_used && stack_of(graph_, edge).back()->used;
    if (all_used) {
      stack_.back() = make_value(ValueKind::kNothing);
      return true;
    }
  }
  if (different.size() == 1)
    for (const auto& edge : node.in)
      if (Value* value = stack_of(graph_, edge)[different.front()]; value->kind == ValueKind::kFunction)
        as_expression(value);  // a lambda
  ConditionFolder folder(graph_, builder_.tree, result_.values);
  if (different.size() == 1 && folder.fold_value(block, different.front())) {
    stack_ = stack_of(graph_, node.in.front());
    return true;
  }
  if (ends_soon(block))
    run_separately(block);
  else
    fail("ways that meet here bring different values, and no conditional expression makes them");
  return false;
}

// A few instructions up to a return, with nothing to decide.
bool Evaluator::ends_soon(int block) const {
  size_t instructions = 0;
  for (int steps = 0; steps < 4; ++steps) {
    const Block& it = blocks_.at(block);
    instructions += it.instructions.size();
    if (it.second >= 0 || it.entered_region >= 0 || instructions > 12 ||
        blocks_.is_header[static_cast<size_t>(block)])
      return false;
    if (it.first < 0) return true;
    block = it.first;
  }
  return false;
}

// The end of several ways, once for each: the compiler uses one place in the source for what it repeats.
void Evaluator::run_separately(int block) {
  const auto ways = graph_.at(block).in;
  graph_.at(block).in.clear();
  graph_.at(block).dead = true;
  for (const auto& way : ways) {
    const int fresh = graph_.size();
    graph_.nodes.emplace_back();
    Edge& edge = way.second ? graph_.at(way.first).no : graph_.at(way.first).yes;
    edge.to = fresh;
    graph_.at(fresh).in = {way};
    stack_ = edge.stack;
    begin_node(fresh, block);
    run_instructions(blocks_.at(block));
    if (failed()) return;
  }
}

}  // namespace suture::toolbox
