// The flow graph inside one context of a dispatch machine: its nodes, and each `try` statement in it as one vertex.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace suture::toolbox::dispatch {

// Numbers of vertices are the caller's; the entry is the first.
class ContextGraph {
 public:
  // `successors` has every vertex that the entry leads to.
  ContextGraph(int entry, const std::map<int, std::vector<int>>& successors);

  bool reducible() const { return reducible_; }
  bool reaches(int vertex) const { return number_.contains(vertex); }
  bool is_loop(int vertex) const { return loops_.contains(vertex); }
  int ways(int vertex) const { return ways_.at(vertex); }  // forward ones
  // What runs behind the vertex, in the order of the flow: vertices that it dominates at once and that are in all loops it is in.
  // Behind a loop: those that the loop dominates.
  const std::vector<int>& behind(int vertex) const { return behind_[number(vertex)]; }
  const std::vector<int>& behind_loop(int header) const { return behind_loop_[number(header)]; }

 private:
  size_t number(int vertex) const { return number_.at(vertex); }
  void find_order(int entry, const std::map<int, std::vector<int>>& successors);
  void find_dominators();
  void find_loops();
  void place();
  bool dominates(size_t a, size_t b) const;

  std::vector<int> order_;
  std::map<int, size_t> number_;
  std::vector<std::vector<size_t>> before_;
  std::vector<size_t> dominator_;
  std::map<int, int> ways_;
  std::map<int, std::set<size_t>> loops_;
  std::vector<std::vector<int>> behind_, behind_loop_;
  bool reducible_ = true;
};

}  // namespace suture::toolbox::dispatch
