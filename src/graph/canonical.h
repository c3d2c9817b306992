// The canonical form of a graph: two graphs that differ only in names and places have the same one. What a compiler may look at (ops, attributes, types, how a call was spelled, order of nodes, inputs and outputs)
// is in it.
#pragma once

#include <string>

#include "graph/graph.h"

namespace suture {

std::string canonical_text(const Graph& graph);  // parses back (graph/print.h)
std::string canonical_hash(const Graph& graph);  // of that text; 64 hexadecimal digits

}  // namespace suture
