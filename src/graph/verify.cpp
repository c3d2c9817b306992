// The laws of a graph. One function per law; the table below is the list a reader wants.
#include "graph/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/graph_builder.h"

namespace suture {

namespace {

std::string at(const Node& node, const std::string& what) { return fmt::format("{}: {}", node.name, what); }

std::string ids_are_indices(const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].id != static_cast<NodeId>(i))
      return at(graph.nodes[i], fmt::format("id is not {}", i));
  }
  return "";
}

std::string operands_come_first(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (NodeId id : node.operands) {
      if (id < 0 || id >= node.id) return at(node, fmt::format("operand {} is not an earlier node", id));
    }
  }
  return "";
}

std::string ends_exist(const Graph& graph) {
  for (const auto* list : {&graph.placeholders, &graph.outputs}) {
    for (NodeId id : *list) {
      if (id < 0 || static_cast<size_t>(id) >= graph.nodes.size())
        return fmt::format("node {} does not exist", id);
    }
  }
  return "";
}

// Who wants what a store leaves reads the memory that it writes into.
std::string stores_give_no_value(const Graph& graph) {
  const auto is_store = [&](NodeId id) { return graph.node(id).op == OpId::kStore; };
  for (const Node& node : graph.nodes)
    if (std::ranges::any_of(node.operands, is_store)) return at(node, "reads a store");
  const auto returned = std::ranges::find_if(graph.outputs, is_store);
  return returned == graph.outputs.end() ? "" : at(graph.node(*returned), "a store is an output");
}

std::string placeholders_are_listed(const Graph& graph) {
  std::set<NodeId> listed(graph.placeholders.begin(), graph.placeholders.end());
  if (listed.size() != graph.placeholders.size()) return "a placeholder is listed twice";
  for (const Node& node : graph.nodes) {
    if ((node.op == OpId::kPlaceholder) != listed.contains(node.id))
      return at(node, "listed as an input or not, wrongly");
  }
  return "";
}

std::string names_are_unique(const Graph& graph) {
  std::set<std::string_view> seen;
  for (const Node& node : graph.nodes) {
    bool identifier = !node.name.empty() && !(node.name[0] >= '0' && node.name[0] <= '9');
    for (char c : node.name) {
      identifier &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    }
    if (!identifier) return fmt::format("'{}' is not an identifier", node.name);
    if (!seen.insert(node.name).second) return at(node, "name is used twice");
  }
  return "";
}

std::string arity_matches(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    int arity = info(node.op).arity, actual = static_cast<int>(node.operands.size());
    if (node.op == OpId::kClip) arity = 1 + node.attrs.has_min + node.attrs.has_max;
    if (arity < 0 ? actual == 0 : actual != arity)
      return at(node, fmt::format("{} operands, not {}", actual, arity));
  }
  return "";
}

std::string required_attributes_are_set(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    bool wants_dtype =
        node.op == OpId::kCast || (info(node.op).kind == OpKind::Create && node.op != OpId::kLinspace);
    if (wants_dtype && !node.attrs.dtype) return at(node, "no dtype");
    if (node.op == OpId::kConstant && !node.attrs.scalar) return at(node, "no value");
  }
  return "";
}

std::string shape_and_strides_agree(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.type.shape.size() != node.type.strides.size())
      return at(node, "shape and strides differ in rank");
    if (node.type.scalar() && node.type.rank() != 0) return at(node, "a scalar with axes");
  }
  return "";
}

std::string python_numbers_have_their_dtype(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    std::optional<DType> wanted;
    if (node.type.value_class == ValueClass::kPyBool) wanted = DType::kBool;
    if (node.type.value_class == ValueClass::kPyInt) wanted = DType::kInt64;
    if (node.type.value_class == ValueClass::kPyFloat) wanted = DType::kFloat64;
    if (wanted && node.type.dtype != *wanted) return at(node, "a Python number of another dtype");
  }
  return "";
}

void symbols_of(const Node& node, std::vector<SymbolId>& out) {
  for (const auto* list : {&node.type.shape, &node.type.strides, &node.attrs.dims, &node.attrs.strides}) {
    for (const SymInt& e : *list) e.collect_symbols(out);
  }
  for (const IndexItem& item : node.attrs.index) {
    for (const SymInt* e : {&item.start, &item.step, &item.length}) e->collect_symbols(out);
  }
  node.attrs.sym.collect_symbols(out);
}

std::string symbols_are_declared(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    std::vector<SymbolId> used;
    symbols_of(node, used);
    for (SymbolId id : used) {
      if (static_cast<size_t>(id) >= graph.env.symbols().size())
        return at(node, fmt::format("s{} is not declared", id));
    }
  }
  return "";
}

std::string facts_hold_at_the_hints(const Graph& graph) {
  std::vector<int64_t> hints = graph.env.hints();
  for (const ShapeFact& fact : graph.env.facts()) {
    if (!fact.holds(hints)) return fact.str() + " does not hold";
  }
  return "";
}

std::string sizes_zero_and_one_are_static(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const SymInt& dim : node.type.shape) {
      std::optional<int64_t> c = dim.constant();
      bool lawful = c ? *c >= 0 : graph.env.proves(Relation::kLe, 2, dim) == true;
      if (!lawful) return at(node, fmt::format("size {} may be 0 or 1", dim.str()));
    }
  }
  return "";
}

std::string stores_are_allowed(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op != OpId::kStore) continue;
    const TensorType& target = graph.node(node.operands[0]).type;
    if (target.scalar()) return at(node, "writes into a scalar");
    if (!target.writeable) return at(node, "writes into read-only memory");
  }
  return "";
}

std::string lowered_has_no_composites(const Graph& graph) {
  if (graph.level != Graph::Level::kLowered) return "";
  for (const Node& node : graph.nodes) {
    if (info(node.op).level == OpLevel::Composite)
      return at(node, fmt::format("{} is a composite", info(node.op).name));
  }
  return "";
}

std::string nodes_have_an_origin(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (!has_origin(node.where)) return at(node, "made by no line of the user's program");
  return "";
}

// Inference again, on a copy: dtype, class and sizes must be what the builder would give.
std::string types_follow_from_operands(const Graph& graph) {
  Graph copy = graph;
  std::vector<int64_t> hints = graph.env.hints();
  for (const Node& node : graph.nodes) {
    if (info(node.op).kind == OpKind::Input) continue;
    Attrs attrs = node.attrs;
    Result<TensorType> type = infer_type(copy, node, attrs);
    if (!type.ok()) return at(node, type.error().message);
    // A where that stands for an op on NumPy scalars gives a scalar; np.where itself gives a 0-d array.
    const bool may_be_scalar = node.op == OpId::kWhere && type->shape.empty();
    bool same = type->dtype == node.type.dtype &&
                (may_be_scalar || type->value_class == node.type.value_class) &&
                type->shape.size() == node.type.shape.size();
    for (size_t i = 0; same && i < type->shape.size(); ++i) {
      same = type->shape[i].evaluate(hints) == node.type.shape[i].evaluate(hints);
    }
    if (!same) return at(node, fmt::format("type is {}, not {}", node.type.str(), type->str()));
  }
  return "";
}

constexpr GraphLaw kLaws[] = {
    {"ids_are_indices", "The id of a node is its index.", ids_are_indices},
    {"operands_come_first", "Operands are earlier nodes.", operands_come_first},
    {"ends_exist", "Placeholders and outputs are nodes of the graph.", ends_exist},
    {"stores_give_no_value", "No node and no output is given a store.", stores_give_no_value},
    {"placeholders_are_listed", "Every placeholder node is an input once, and nothing else is.",
     placeholders_are_listed},
    {"names_are_unique", "Names are distinct Python identifiers.", names_are_unique},
    {"arity_matches", "A node has as many operands as its op takes.", arity_matches},
    {"required_attributes_are_set", "Attributes an op cannot do without are set.",
     required_attributes_are_set},
    {"shape_and_strides_agree", "One stride per axis; scalars have no axes.", shape_and_strides_agree},
    {"python_numbers_have_their_dtype", "Python numbers are bool, int64 and float64.",
     python_numbers_have_their_dtype},
    {"symbols_are_declared", "Every symbol belongs to the graph's ShapeEnv.", symbols_are_declared},
    {"facts_hold_at_the_hints", "Recorded facts hold for the sizes that were captured.",
     facts_hold_at_the_hints},
    {"sizes_zero_and_one_are_static", "A size is a constant or known to be at least 2.",
     sizes_zero_and_one_are_static},
    {"stores_are_allowed", "Stores write into writeable arrays.", stores_are_allowed},
    {"lowered_has_no_composites", "A lowered graph holds Prims and Externs only.", lowered_has_no_composites},
    {"nodes_have_an_origin", "Every node carries the place in the user's source that made it.",
     nodes_have_an_origin},
    {"types_follow_from_operands", "Inference gives the type the node has.", types_follow_from_operands},
};

}  // namespace

std::span<const GraphLaw> graph_laws() { return kLaws; }

bool has_origin(const UserSpan& where) {
  return where.known() || !where.file.empty() || !where.function.empty();
}

Status verify(const Graph& graph) {
  // In order: later laws may rely on earlier ones.
  for (const GraphLaw& law : kLaws) {
    std::string broken = law.check(graph);
    if (!broken.empty())
      return Error::internal("verify", fmt::format("law {} broken by {}", law.name, broken));
  }
  return ok_status();
}

}  // namespace suture
