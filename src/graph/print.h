// Text forms of a graph. `to_text` parses back (graph/parse.h); `to_numpy_source` is runnable Python.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "graph/graph.h"

namespace suture {

std::string to_text(const Graph& graph);
Result<Graph> parse_graph(const std::string& text);
// The inverse of type_text (attr_text.h): "f64[s0, 48] strides [1, s0]", "py_float".
Result<TensorType> parse_type(const std::string& text, size_t symbol_count);
// A Python module text defining `def forward(<placeholders>):` with one statement per node and `# file:line
// source` comments. Statements keep the user's semantics exactly (views, stores, dtypes), so that running it
// under NumPy is the `eager` backend and the replay that produces NumPy's own warnings and exceptions.
// `lines[i]` is the user span of source line i+1. Symbols: one that equals a whole axis of some placeholder
// (type.shape[a] is exactly that symbol) is read from that placeholder's .shape at the top of forward; every
// other symbol that the source needs becomes a trailing parameter named like the symbol ("s1"), in SymbolId
// order; `symbol_parameters` lists them.
struct NumpySource {
  std::string text;
  std::vector<UserSpan> lines;
  std::vector<NodeId> nodes;  // per line: the node it was printed for, or kNoNode
  std::vector<SymbolId> symbol_parameters;
};
NumpySource to_numpy_source(const Graph& graph);
std::string to_json(const Graph& graph);

}  // namespace suture
