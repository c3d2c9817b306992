#include "graph/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace suture {

namespace {

template <class Graph, class Visit>
void for_each_size(Graph& graph, Visit visit) {
  for (auto& node : graph.nodes) {
    for (auto* list : {&node.type.shape, &node.type.strides, &node.attrs.dims, &node.attrs.strides})
      for (auto& size : *list) visit(size);
    for (auto& item : node.attrs.index)
      for (auto* size : {&item.start, &item.step, &item.length}) visit(*size);
    visit(node.attrs.sym);
  }
}

std::set<SymbolId> symbols_of(const SymInt& size) {
  std::vector<SymbolId> found;
  size.collect_symbols(found);
  return {found.begin(), found.end()};
}

// Symbol s becomes values[s]; those that stay symbols are declared anew, with hints from `hints`. Facts that `wanted` refuses
// go.
template <class Wanted>
void substitute(Graph& graph, const std::vector<SymInt>& values, const std::vector<int64_t>& hints,
                Wanted wanted) {
  ShapeEnv env;
  for (size_t s = 0; s < values.size(); ++s) {
    const SymbolInfo& symbol = graph.env.symbols()[s];
    if (values[s].as_symbol())
      env.create_symbol(symbol.source, hints[s], symbol.min, symbol.max, symbol.is_size);
  }
  for (ShapeFact fact : graph.env.facts()) {
    if (!wanted(fact)) continue;
    fact.lhs = fact.lhs.substitute(values);
    fact.rhs = fact.rhs.substitute(values);
    if (!fact.lhs.is_constant() || !fact.rhs.is_constant()) env.assume(std::move(fact));
  }
  for_each_size(graph, [&](SymInt& size) { size = size.substitute(values); });
  graph.env = std::move(env);
}

std::optional<SymbolCarrier> carried_by_placeholder(const Graph& graph, SymbolId symbol) {
  for (const bool stride : {false, true}) {
    for (size_t i = 0; i < graph.placeholders.size(); ++i) {
      const TensorType& type = graph.node(graph.placeholders[i]).type;
      const std::vector<SymInt>& sizes = stride ? type.strides : type.shape;
      for (size_t axis = 0; axis < sizes.size(); ++axis)
        if (sizes[axis].as_symbol() == symbol)
          return SymbolCarrier{symbol, static_cast<int>(i), static_cast<int>(axis), stride};
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<SymbolCarrier> symbol_carriers(const Graph& graph) {
  std::vector<SymbolCarrier> carriers;
  int next = static_cast<int>(graph.placeholders.size());
  for (SymbolId s = 0; s < static_cast<SymbolId>(graph.env.symbols().size()); ++s) {
    const auto found = carried_by_placeholder(graph, s);
    carriers.push_back(found ? *found : SymbolCarrier{s, next++, -1, false});
  }
  return carriers;
}

std::vector<SymInt> SymbolEdit::values_in(const Graph& graph) const {
  std::vector<SymInt> values;
  SymbolId next = 0;
  for (SymbolId s = 0; s < static_cast<SymbolId>(graph.env.symbols().size()); ++s)
    values.push_back(fixed.contains(s) ? SymInt(hint_in(graph, s)) : SymInt::symbol(next++));
  return values;
}

int64_t SymbolEdit::hint_in(const Graph& graph, SymbolId symbol) const {
  const auto given = hints.find(symbol);
  return given == hints.end() ? graph.env.hints()[static_cast<size_t>(symbol)] : given->second;
}

Result<Graph> with_symbols(const Graph& graph, const SymbolEdit& edit) {
  std::vector<int64_t> values;
  for (SymbolId s = 0; s < static_cast<SymbolId>(graph.env.symbols().size()); ++s) {
    values.push_back(edit.hint_in(graph, s));
    const SymbolInfo& symbol = graph.env.symbols()[static_cast<size_t>(s)];
    const int64_t least = edit.fixed.contains(s) && symbol.is_size ? 0 : symbol.min;
    if (values.back() < least || values.back() > symbol.max)
      return Error::unsupported("subgraph", fmt::format("{} cannot be {}", symbol.name, values.back()));
  }
  for (const ShapeFact& fact : graph.env.facts())
    if (!fact.holds(values)) return Error::unsupported("subgraph", "does not hold: " + fact.str());
  Graph changed = graph;
  substitute(changed, edit.values_in(graph), values, [](const ShapeFact&) { return true; });
  return changed;
}

void drop_unused_symbols(Graph& graph) {
  std::set<SymbolId> live;
  for_each_size(graph, [&](const SymInt& size) { live.merge(symbols_of(size)); });
  if (live.size() == graph.env.symbols().size()) return;
  std::vector<SymInt> values(graph.env.symbols().size(), SymInt(0));
  SymbolId next = 0;
  for (SymbolId s : live) values[static_cast<size_t>(s)] = SymInt::symbol(next++);
  const auto about_live = [&](const ShapeFact& fact) {
    std::set<SymbolId> mentioned = symbols_of(fact.lhs);
    mentioned.merge(symbols_of(fact.rhs));
    return std::ranges::includes(live, mentioned);
  };
  substitute(graph, values, graph.env.hints(), about_live);
}

}  // namespace suture
