#include "graph/canonical.h"

#include "base/sha256.h"
#include "graph/print.h"
#include "graph/symbols.h"

namespace suture {

std::string canonical_text(const Graph& graph) {
  Graph plain = graph;
  plain.name = "graph";
  drop_unused_symbols(plain);
  ShapeEnv env;
  for (const SymbolInfo& symbol : plain.env.symbols())
    env.create_symbol("", symbol.hint, symbol.min, symbol.max, symbol.is_size);
  for (ShapeFact fact : plain.env.facts()) {
    fact.where = {};
    env.assume(std::move(fact));
  }
  plain.env = std::move(env);
  for (Node& node : plain.nodes) {
    node.name = "v" + std::to_string(node.id);
    node.where = {};
    if (info(node.op).kind == OpKind::Input) node.target.clear();
  }
  return to_text(plain);
}

std::string canonical_hash(const Graph& graph) { return to_hex(sha256(canonical_text(graph))); }

}  // namespace suture
