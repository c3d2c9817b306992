// Graph surgery: a part of a graph that runs alone.
//
// Overview
//   A GraphEdit says which ops stay. Values that staying ops read and that are no longer computed become inputs
//   (promoted operands); staying ops that nobody reads become outputs (promoted outputs). Beyond cutting, readers can
//   be sent to another value (`instead`), a value can become a Python number (`constants`), and inputs can get another
//   type (`types`) or symbols another value (`symbols`, `fixed`); types are inferred anew from there on, and attributes
//   that speak about sizes follow (adapt_attrs.h).
//
//   z = cos(sin(x)) + y, keep {cos}   =>   cos(sin) with input `sin`, returning cos
//
// Rules
//   - Node order is that of the graph; inputs come first, the graph's own before promoted ones.
//   - Nodes keep names, targets and places, so that every part tells where it came from.
//   - A store that is asked for as an output stands for the memory that it writes into.
//   - When a staying store writes into memory that is read or written through several values, the views among these stay as
//     well: a promoted copy would not see the write.
//   - A size stays symbolic as long as some node mentions its symbol; symbols nobody mentions are dropped, with the facts
//     about them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"

namespace suture {

struct PythonNumber {
  Scalar value;
  ValueClass value_class = ValueClass::kPyFloat;  // kPyBool, kPyInt or kPyFloat
};

struct GraphEdit {
  std::optional<std::vector<NodeId>> keep;     // ops; absent: all of them
  std::optional<std::vector<NodeId>> outputs;  // absent: the graph's own. Those that are gone are left out
  std::map<NodeId, NodeId> instead;            // readers of the key read the value, an earlier node
  std::map<NodeId, PythonNumber> constants;    // the node is this number
  std::map<NodeId, TensorType> types;          // of values that are inputs of the result
  std::map<SymbolId, int64_t> symbols;         // new hints
  std::set<SymbolId> fixed;                    // symbols that become their hint
};

struct Subgraph {
  Graph graph;
  // Where the value of an input comes from: `node` of the original graph, as its memory is right after `after_store`
  // (kNoNode: as it is when the node has been computed).
  struct Input {
    NodeId node = kNoNode;
    NodeId after_store = kNoNode;
  };
  std::vector<Input> inputs;  // per placeholder
};

// kUnsupported: there is no such part (types do not fit, facts about sizes do not hold, nothing is left).
Result<Subgraph> subgraph(const Graph& graph, const GraphEdit& edit);

}  // namespace suture
