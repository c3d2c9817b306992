// What structuring asks about a flow graph: order, dominators, loops, and how control leaves contexts.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "toolbox/decompile/flow_graph.h"

namespace suture::toolbox {

class FlowAnalysis {
 public:
  explicit FlowAnalysis(const FlowGraph& graph);

  static std::vector<int> successors(const FlowNode& node);
  bool reached(int node) const { return number_[static_cast<size_t>(node)] >= 0; }
  bool dominates(int a, int b) const;
  const std::vector<int>& children(int node) const { return children_[static_cast<size_t>(node)]; }
  int forward_ways(int node) const { return forward_[static_cast<size_t>(node)]; }
  bool is_loop(int node) const { return loops_.contains(node); }
  // Nodes on the way from the header back to it, header included.
  const std::set<int>& loop(int header) const { return loops_.at(header); }
  // Nodes outside of a context that edges from inside lead to.
  const std::set<int>& exits(const Context* context) const;
  // Does control come here only after an exception?
  bool needs_exception(int node) const { return !usual_[static_cast<size_t>(node)]; }

 private:
  void find_order(const FlowGraph& graph);
  void find_dominators(const FlowGraph& graph);
  void number_tree(int root);
  void find_loops(const FlowGraph& graph);
  void find_exits(const FlowGraph& graph);
  void find_usual(const FlowGraph& graph);

  std::vector<int> order_, number_, dominator_, forward_;
  std::vector<int> enter_, leave_;  // of the dominator tree
  std::vector<std::vector<int>> children_, predecessors_;
  std::vector<bool> usual_;  // reached without an exception
  std::map<int, std::set<int>> loops_;
  std::map<const Context*, std::set<int>> exits_;
};

}  // namespace suture::toolbox
