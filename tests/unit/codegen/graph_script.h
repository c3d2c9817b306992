// Graphs for tests, written as a short script:
//
//   x = input float64 32,32              array, C-contiguous; "float64 32,32 1,32" gives strides in elements
//   n = input float64 pyfloat            also numpy (NumPy scalar), pyint, pybool
//   c = const float64 pyfloat 1.5
//   y = sin x                            any op of ops.def by its table name, then operands, then attributes
//   s = sum y axes=0,1 keepdims dtype=float64
//   v = slice y 0:2:16 1:1:31 new 3      start:step:length | index | new
//   return y s
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "graph/graph_builder.h"

namespace suture {

class GraphScript {
 public:
  // Throws std::runtime_error with the line that is wrong; tests and tools may use exceptions.
  static Graph build(const std::string& text) { return GraphScript().read(text); }

 private:
  Graph read(const std::string& text);
  void line(const std::vector<std::string>& words);
  NodeId operation(const std::vector<std::string>& words);

  Graph graph_;
  GraphBuilder builder_{graph_};
  std::map<std::string, NodeId> nodes_;
};

}  // namespace suture
