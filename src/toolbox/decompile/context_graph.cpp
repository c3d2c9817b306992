// Order, dominators (Cooper, Harvey and Kennedy) and natural loops.
#include "toolbox/decompile/context_graph.h"

#include <algorithm>
#include <cstdint>

namespace suture::toolbox::dispatch {

ContextGraph::ContextGraph(int entry, const std::map<int, std::vector<int>>& successors) {
  find_order(entry, successors);
  find_dominators();
  find_loops();
  if (reducible_) place();
}

void ContextGraph::find_order(int entry, const std::map<int, std::vector<int>>& successors) {
  std::set<int> seen = {entry};
  std::vector<std::pair<int, size_t>> path = {{entry, 0}};
  while (!path.empty()) {
    auto& [vertex, step] = path.back();
    const std::vector<int>& next = successors.at(vertex);
    if (step < next.size()) {
      // The last way first, so that the order is that of the ways.
      const int to = next[next.size() - 1 - step++];
      if (seen.insert(to).second) path.emplace_back(to, 0);
    } else {
      order_.push_back(vertex);
      path.pop_back();
    }
  }
  std::ranges::reverse(order_);
  for (size_t i = 0; i < order_.size(); ++i) number_[order_[i]] = i;
  before_.resize(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) {
    for (const int to : successors.at(order_[i])) before_[number(to)].push_back(i);
  }
}

void ContextGraph::find_dominators() {
  constexpr size_t kUnknown = SIZE_MAX;
  dominator_.assign(order_.size(), kUnknown);
  dominator_[0] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 1; i < order_.size(); ++i) {
      size_t found = kUnknown;
      for (size_t other : before_[i]) {
        if (dominator_[other] == kUnknown) continue;
        if (found == kUnknown) found = other;
        while (found != other) {
          while (found > other) found = dominator_[found];
          while (other > found) other = dominator_[other];
        }
      }
      changed = changed || dominator_[i] != found;
      dominator_[i] = found;
    }
  }
}

bool ContextGraph::dominates(size_t a, size_t b) const {
  while (b > a) b = dominator_[b];
  return a == b;
}

void ContextGraph::find_loops() {
  for (size_t i = 0; i < order_.size(); ++i) {
    int& ways = ways_[order_[i]];
    ways = i == 0 ? 1 : 0;
    for (const size_t from : before_[i]) {
      if (from < i) {
        ++ways;
        continue;
      }
      if (!dominates(i, from)) {
        reducible_ = false;
        return;
      }
      std::set<size_t>& loop = loops_[order_[i]];
      loop.insert(i);
      std::vector<size_t> work = {from};
      while (!work.empty()) {
        const size_t at = work.back();
        work.pop_back();
        if (!loop.insert(at).second) continue;
        work.insert(work.end(), before_[at].begin(), before_[at].end());
      }
    }
  }
}

// What a loop does not lead back to is behind it: behind the outermost one of those that hold its dominator and not itself.
void ContextGraph::place() {
  behind_.resize(order_.size());
  behind_loop_.resize(order_.size());
  for (size_t i = 1; i < order_.size(); ++i) {
    const size_t above = dominator_[i];
    size_t left = SIZE_MAX;  // headers come before what is inside, the outermost one first
    for (const auto& [header, loop] : loops_) {
      if (loop.contains(above) && !loop.contains(i)) left = std::min(left, number(header));
    }
    (left == SIZE_MAX ? behind_[above] : behind_loop_[left]).push_back(order_[i]);
  }
}

}  // namespace suture::toolbox::dispatch
