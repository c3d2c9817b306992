#include "toolbox/decompile/flow_analysis.h"

#include <algorithm>

namespace suture::toolbox {

FlowAnalysis::FlowAnalysis(const FlowGraph& graph) {
  find_order(graph);
  find_dominators(graph);
  find_loops(graph);
  find_exits(graph);
  find_usual(graph);
}

std::vector<int> FlowAnalysis::successors(const FlowNode& node) {
  std::vector<int> result;
  if (node.yes.to >= 0) result.push_back(node.yes.to);
  if (node.no.to >= 0 && node.no.to != node.yes.to) result.push_back(node.no.to);
  return result;
}

void FlowAnalysis::find_order(const FlowGraph& graph) {
  const auto count = static_cast<size_t>(graph.size());
  number_.assign(count, -1);
  predecessors_.resize(count);
  std::vector<bool> seen(count, false);
  std::vector<std::pair<int, size_t>> path = {{graph.entry, 0}};
  seen[static_cast<size_t>(graph.entry)] = true;
  while (!path.empty()) {
    auto& [node, step] = path.back();
    const std::vector<int> next = successors(graph.at(node));
    if (step < next.size()) {
      const int to = next[next.size() - 1 - step++];
      predecessors_[static_cast<size_t>(to)].push_back(node);
      if (!seen[static_cast<size_t>(to)]) {
        seen[static_cast<size_t>(to)] = true;
        path.push_back({to, 0});
      }
    } else {
      order_.push_back(node);
      path.pop_back();
    }
  }
  std::reverse(order_.begin(), order_.end());
  for (size_t i = 0; i < order_.size(); ++i) number_[static_cast<size_t>(order_[i])] = static_cast<int>(i);
}

// Cooper, Harvey and Kennedy: intersect along the dominators known so far until nothing changes.
void FlowAnalysis::find_dominators(const FlowGraph& graph) {
  const auto count = static_cast<size_t>(graph.size());
  dominator_.assign(count, -1);
  children_.resize(count);
  // By node: the join whose ways have been followed up to here. What is below the dominator found so far needs no second walk.
  std::vector<int> followed(count, -1);
  const auto number = [&](int node) { return number_[static_cast<size_t>(node)]; };
  const auto parent = [&](int node) -> int& { return dominator_[static_cast<size_t>(node)]; };
  parent(graph.entry) = graph.entry;
  for (bool changed = true; changed;) {
    changed = false;
    for (const int node : order_) {
      if (node == graph.entry) continue;
      int found = -1;
      for (const int before : predecessors_[static_cast<size_t>(node)]) {
        if (parent(before) < 0) continue;
        int a = found < 0 ? before : found, b = before;
        while (a != b) {
          while (number(a) > number(b)) a = parent(a);
          while (number(b) > number(a)) {
            int& join = followed[static_cast<size_t>(b)];
            b = join == node ? a : parent(b);
            join = node;
          }
        }
        found = a;
      }
      if (found >= 0 && parent(node) != found) {
        parent(node) = found;
        changed = true;
      }
    }
  }
  for (const int node : order_) {
    if (node == graph.entry) continue;
    children_[static_cast<size_t>(parent(node))].push_back(node);
  }
  number_tree(graph.entry);
}

// Numbers what each node dominates from enter_ to leave_.
void FlowAnalysis::number_tree(int root) {
  enter_.assign(number_.size(), -1);
  leave_.assign(number_.size(), -1);
  int next = 0;
  std::vector<std::pair<int, size_t>> path = {{root, 0}};
  while (!path.empty()) {
    auto& [node, step] = path.back();
    if (step == 0) enter_[static_cast<size_t>(node)] = next++;
    const std::vector<int>& below = children_[static_cast<size_t>(node)];
    if (step < below.size()) {
      path.emplace_back(below[step++], 0);
    } else {
      leave_[static_cast<size_t>(node)] = next;
      path.pop_back();
    }
  }
}

bool FlowAnalysis::dominates(int a, int b) const {
  const int inside = enter_[static_cast<size_t>(b)];
  return inside >= enter_[static_cast<size_t>(a)] && inside < leave_[static_cast<size_t>(a)];
}

void FlowAnalysis::find_loops(const FlowGraph& graph) {
  forward_.assign(static_cast<size_t>(graph.size()), 0);
  for (const int node : order_) {
    for (const int before : predecessors_[static_cast<size_t>(node)]) {
      if (!dominates(node, before)) {
        ++forward_[static_cast<size_t>(node)];
        continue;
      }
      std::set<int>& loop = loops_[node];
      loop.insert(node);
      std::vector<int> work = {before};
      while (!work.empty()) {
        const int at = work.back();
        work.pop_back();
        if (!loop.insert(at).second) continue;
        for (const int earlier : predecessors_[static_cast<size_t>(at)]) work.push_back(earlier);
      }
    }
  }
}

void FlowAnalysis::find_exits(const FlowGraph& graph) {
  for (const int node : order_)
    for (const int to : successors(graph.at(node)))
      for (const Context* context = graph.at(node).context; context && !graph.at(to).context->inside(context);
           context = context->parent)
        exits_[context].insert(to);
}

void FlowAnalysis::find_usual(const FlowGraph& graph) {
  usual_.assign(static_cast<size_t>(graph.size()), false);
  std::vector<int> work = {graph.entry};
  while (!work.empty()) {
    const int at = work.back();
    work.pop_back();
    if (at < 0 || usual_[static_cast<size_t>(at)]) continue;
    usual_[static_cast<size_t>(at)] = true;
    const FlowNode& node = graph.at(at);
    work.push_back(node.yes.to);
    if (node.end != End::kTry && node.end != End::kWith) work.push_back(node.no.to);
  }
}

const std::set<int>& FlowAnalysis::exits(const Context* context) const {
  static const std::set<int> kNone;
  const auto found = exits_.find(context);
  return found == exits_.end() ? kNone : found->second;
}

}  // namespace suture::toolbox
