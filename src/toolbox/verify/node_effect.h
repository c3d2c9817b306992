// What a node does with the stack, finely enough to compare two frames whose stacks hold different things in
// between: which operands count, which stay, what is new.
#pragma once

#include <vector>

#include "toolbox/verify/instruction_graph.h"

namespace suture::toolbox {

struct NodeEffect {
  static constexpr int kNew = 0;

  int pops = 0;
  // Operands that count, as positions from the top of the stack (1: the top). They may lie deeper than `pops`:
  // LIST_APPEND 3 looks at the list in the third place below the value it takes.
  std::vector<int> compared;
  // What is pushed when control goes to `next`, bottom first: kNew, or the position of the operand that is
  // pushed again.
  std::vector<int> results;
  std::vector<int> results_on_jump;
  bool number_counts = true;  // the node's number is more than a depth of the stack
};
NodeEffect node_effect(PythonVersion version, const Node& node);

}  // namespace suture::toolbox
