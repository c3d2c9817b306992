// Comprehensions: loops whose only work is to add to a display, or to yield.
#pragma once

#include <deque>
#include <string>

#include "toolbox/decompile/flow_graph.h"

namespace suture::toolbox {

struct Filling {
  std::vector<syntax::Comprehension> generators;
  syntax::Expression* element = nullptr;
  syntax::Expression* key = nullptr;
  std::string problem;  // not empty: this is no comprehension
};
// Reads the loop at `header`. With `yields`, the element is what the body yields.
Filling read_filling_loop(syntax::SyntaxTree& tree, FlowGraph& graph, std::deque<Value>& values, int header,
                          bool yields);
// When `header` is a loop that fills a display, puts the comprehension in its place: the node before the loop then leads to
// `exit`, with the comprehension on the stack. Other loops are left alone. Returns a problem, or "".
std::string fold_filling_loop(syntax::SyntaxTree& tree, FlowGraph& graph, std::deque<Value>& values,
                              int header, int exit);

}  // namespace suture::toolbox
