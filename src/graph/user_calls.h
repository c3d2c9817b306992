// Which nodes of a captured graph are one call of the user's.
//
//   x += 1            add, store                      1 call
//   x.T.reshape(-1)   transpose | copy, reshape       2 calls
//
// Nodes of one call stand side by side with one place and one target, each but the first reads an earlier one of them, and
// no op occurs twice: where one does, the same statement ran again, as in an unrolled loop.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace suture {

// The first node of every call, in program order. Inputs (placeholders, constants, values of symbols) are no calls.
std::vector<NodeId> user_calls(const Graph& graph);

}  // namespace suture
