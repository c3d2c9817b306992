// Natural loops.
//
// Overview
//   Dominators over instructions (the iterative algorithm on reverse postorder); an edge a -> h with h
//   dominating a is a back edge; the natural loop of header h is everything that reaches one of its back
//   edges without passing h. Back edges with the same header make one loop.
#include <algorithm>
#include <map>

#include "bytecode/analysis.h"

namespace suture {
namespace {

struct Dominators {
  std::vector<int> order;      // position in reverse postorder, -1 when unreachable
  std::vector<int> immediate;  // immediate dominator, -1 when unreachable

  bool dominates(int a, int b) const {
    if (immediate[static_cast<size_t>(b)] < 0) return false;
    while (order[static_cast<size_t>(b)] > order[static_cast<size_t>(a)])
      b = immediate[static_cast<size_t>(b)];
    return a == b;
  }
};

std::vector<int> reverse_postorder(const std::vector<std::vector<int>>& next) {
  std::vector<int> postorder;
  std::vector<size_t> progress(next.size(), 0);
  std::vector<bool> seen(next.size(), false);
  std::vector<int> stack;
  if (!next.empty()) {
    stack.push_back(0);
    seen[0] = true;
  }
  while (!stack.empty()) {
    const size_t at = static_cast<size_t>(stack.back());
    if (progress[at] == next[at].size()) {
      postorder.push_back(stack.back());
      stack.pop_back();
      continue;
    }
    const int child = next[at][progress[at]++];
    if (seen[static_cast<size_t>(child)]) continue;
    seen[static_cast<size_t>(child)] = true;
    stack.push_back(child);
  }
  std::reverse(postorder.begin(), postorder.end());
  return postorder;
}

Dominators dominators(const std::vector<std::vector<int>>& next,
                      const std::vector<std::vector<int>>& previous) {
  Dominators d{std::vector<int>(next.size(), -1), std::vector<int>(next.size(), -1)};
  const std::vector<int> order = reverse_postorder(next);
  for (size_t i = 0; i < order.size(); ++i) d.order[static_cast<size_t>(order[i])] = static_cast<int>(i);
  const auto meet = [&](int a, int b) {
    while (a != b) {
      while (d.order[static_cast<size_t>(a)] > d.order[static_cast<size_t>(b)])
        a = d.immediate[static_cast<size_t>(a)];
      while (d.order[static_cast<size_t>(b)] > d.order[static_cast<size_t>(a)])
        b = d.immediate[static_cast<size_t>(b)];
    }
    return a;
  };
  if (!order.empty()) d.immediate[0] = 0;
  for (bool changed = !order.empty(); changed;) {
    changed = false;
    for (size_t i = 1; i < order.size(); ++i) {
      const int node = order[i];
      int best = -1;
      for (int p : previous[static_cast<size_t>(node)]) {
        if (d.immediate[static_cast<size_t>(p)] < 0) continue;
        best = best < 0 ? p : meet(best, p);
      }
      if (d.immediate[static_cast<size_t>(node)] == best) continue;
      d.immediate[static_cast<size_t>(node)] = best;
      changed = true;
    }
  }
  return d;
}

void add_body(LoopRegion& loop, int latch, const std::vector<std::vector<int>>& previous,
              const Dominators& d) {
  std::vector<int> work{latch};
  loop.contains[static_cast<size_t>(loop.header)] = true;
  while (!work.empty()) {
    const int node = work.back();
    work.pop_back();
    if (loop.contains[static_cast<size_t>(node)]) continue;
    loop.contains[static_cast<size_t>(node)] = true;
    for (int p : previous[static_cast<size_t>(node)]) {
      if (d.immediate[static_cast<size_t>(p)] >= 0) work.push_back(p);
    }
  }
}

void find_exits(LoopRegion& loop, const std::vector<std::vector<int>>& next) {
  for (size_t i = 0; i < next.size(); ++i) {
    if (!loop.contains[i]) continue;
    for (int target : next[i]) {
      if (!loop.contains[static_cast<size_t>(target)]) loop.exits.push_back(target);
    }
  }
  std::sort(loop.exits.begin(), loop.exits.end());
  loop.exits.erase(std::unique(loop.exits.begin(), loop.exits.end()), loop.exits.end());
}

int size_of(const LoopRegion& loop) {
  return static_cast<int>(std::count(loop.contains.begin(), loop.contains.end(), true));
}

}  // namespace

std::vector<LoopRegion> find_loops(const Function& function) {
  const size_t count = function.instructions.size();
  std::vector<std::vector<int>> next(count), previous(count);
  for (size_t i = 0; i < count; ++i) {
    next[i] = successors(function, static_cast<int>(i));
    for (int target : next[i]) previous[static_cast<size_t>(target)].push_back(static_cast<int>(i));
  }
  const Dominators d = dominators(next, previous);
  std::map<int, LoopRegion> by_header;
  for (size_t i = 0; i < count; ++i) {
    for (int header : next[i]) {
      if (!d.dominates(header, static_cast<int>(i))) continue;
      LoopRegion& loop = by_header[header];
      loop.header = header;
      loop.is_for = function.instructions[static_cast<size_t>(header)].opcode == Opcode::FOR_ITER;
      loop.contains.resize(count, false);
      add_body(loop, static_cast<int>(i), previous, d);
    }
  }
  std::vector<LoopRegion> loops;
  for (auto& [header, loop] : by_header) {
    find_exits(loop, next);
    loops.push_back(std::move(loop));
  }
  return loops;
}

std::optional<LoopRegion> innermost_loop(const Function& function, int index) {
  std::optional<LoopRegion> best;
  for (LoopRegion& loop : find_loops(function)) {
    if (!loop.contains[static_cast<size_t>(index)]) continue;
    if (!best || size_of(loop) < size_of(*best)) best = std::move(loop);
  }
  return best;
}

std::optional<LoopRegion> outermost_loop(const Function& function, int index) {
  std::optional<LoopRegion> best;
  for (LoopRegion& loop : find_loops(function)) {
    if (!loop.contains[static_cast<size_t>(index)]) continue;
    if (!best || size_of(loop) > size_of(*best)) best = std::move(loop);
  }
  return best;
}

}  // namespace suture
