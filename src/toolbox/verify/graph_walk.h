// Comparison of two instruction graphs by a product walk.
//
// How it works
//   Starting at the two entries, pairs of nodes are visited once each. The nodes of a pair must be equal;
//   their successors are pairs again, and so are their handlers when they may raise. When every pair that is
//   reached is equal, the two graphs do the same for ever (they are bisimilar): each step of one is a step of
//   the other with the same operands, on the same stack.
//   JUMP_BACKWARD is where a signal becomes an exception. The graphs may have them at different places of a
//   loop; then one graph steps alone. Its handler counts in loops that nothing else can leave by an exception;
//   elsewhere the compiler itself gives jumps that it moves or copies no handler or another (3.12), so a signal
//   that arrives exactly there is not looked at.
// Invariants
//   Only pairs that were compared count as equal. No classes are merged: tolerances (a LOAD_FAST that cannot
//   raise against one that can) are not transitive.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "toolbox/verify/instruction_graph.h"

namespace suture::toolbox {

using CodePair = std::pair<CodeTreePtr, CodeTreePtr>;

struct GraphComparison {
  std::string difference;                 // "" when equal
  int first_node = -1, second_node = -1;  // of the difference
  std::vector<int>
      partners;  // of each node of the first: the first node of the second that it was compared with; -1: none
  std::vector<CodePair> nested;  // code objects that are loaded at the same place
  std::string seen_by;           // path equivalence: what may see the synthetic locals; "": nothing
};
GraphComparison compare_graphs(const InstructionGraph& first, const InstructionGraph& second, int step_limit);

// Same operation with the same operand; code objects are equal here when they have the same name.
bool same_operation(const InstructionGraph& first, const Node& a, const InstructionGraph& second,
                    const Node& b);

}  // namespace suture::toolbox
