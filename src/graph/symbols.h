// The symbols of a graph as a whole: who carries them, and graphs with other ones.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace suture {

// Where a call finds the value of a symbol: an axis of an input's shape or strides (in elements), or, with axis -1, the
// input itself, a Python int. Inputs from placeholders.size() on follow the placeholders: one int for every symbol that is
// no whole axis of a placeholder, in SymbolId order.
struct SymbolCarrier {
  SymbolId symbol = 0;
  int input = 0;
  int axis = -1;
  bool stride = false;
};
std::vector<SymbolCarrier> symbol_carriers(const Graph& graph);

// Calls in which symbols have other values (`hints`); those in `fixed` become constants.
struct SymbolEdit {
  std::map<SymbolId, int64_t> hints;
  std::set<SymbolId> fixed;

  int64_t hint_in(const Graph& graph, SymbolId symbol) const;
  // What stands for each symbol of the graph afterwards: a constant, or a symbol that may have another number.
  std::vector<SymInt> values_in(const Graph& graph) const;
};
// The same graph for such calls. kUnsupported when a symbol cannot have that value, or a fact does not hold for it.
Result<Graph> with_symbols(const Graph& graph, const SymbolEdit& edit);

// Symbols that no node mentions go, with the facts about them; the others are numbered anew.
void drop_unused_symbols(Graph& graph);

}  // namespace suture
