#include "graph/subgraph.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/adapt_attrs.h"
#include "graph/graph_builder.h"
#include "graph/symbols.h"
#include "graph/verify.h"

namespace suture {

namespace {

Error no_part(std::string why) { return Error::unsupported("subgraph", std::move(why)); }

bool is_op(const Node& node) { return info(node.op).kind != OpKind::Input; }

DType dtype_of(ValueClass python_number) {
  if (python_number == ValueClass::kPyBool) return DType::kBool;
  return python_number == ValueClass::kPyInt ? DType::kInt64 : DType::kFloat64;
}

class Surgeon {
 public:
  Surgeon(const Graph& graph, const GraphEdit& edit) : graph_(graph), edit_(edit) {}

  Result<Subgraph> operate();

 private:
  Status check();
  void choose();
  NodeId read(NodeId id) const;
  template <class Visit>
  void for_each_read(Visit visit) const;
  void keep_views_of_written_memory();
  bool in_input(NodeId id) const;
  void choose_outputs();
  Subgraph::Input origin(NodeId id) const;
  void add_inputs();
  void add_input(NodeId id);
  NodeId value(NodeId id);
  NodeId add_leaf(NodeId id);
  Status add_op(const Node& old);

  const Node& node(NodeId id) const { return graph_.node(id); }
  bool kept(NodeId id) const { return kept_[static_cast<size_t>(id)]; }

  const Graph& graph_;
  const GraphEdit& edit_;
  std::vector<bool> kept_;
  std::vector<NodeId> outputs_;  // of the original graph
  std::vector<NodeId> roots_;    // storage_of, per node
  std::map<NodeId, NodeId> made_;
  std::vector<ExtentChange> changes_;
  Subgraph result_;
};

// What a reader of `id` reads in the result.
NodeId Surgeon::read(NodeId id) const {
  for (;;) {
    if (auto found = edit_.instead.find(id); found != edit_.instead.end()) {
      id = found->second;
    } else if (node(id).op == OpId::kStore && !kept(id)) {
      id = node(id).operands[0];
    } else {
      return id;
    }
  }
}

template <class Visit>
void Surgeon::for_each_read(Visit visit) const {
  for (const Node& reader : graph_.nodes) {
    if (!kept(reader.id)) continue;
    for (NodeId operand : reader.operands) visit(reader.id, read(operand));
  }
}

Status Surgeon::check() {
  const auto known = [&](NodeId id) { return id >= 0 && static_cast<size_t>(id) < graph_.nodes.size(); };
  for (const auto& [from, to] : edit_.instead)
    if (!known(from) || !known(to) || to >= from)
      return no_part("a value can be replaced by an earlier one only");
  for (const auto* list : {&edit_.keep, &edit_.outputs})
    if (*list && !std::ranges::all_of(**list, known)) return no_part("no such node");
  return ok_status();
}

void Surgeon::choose() {
  kept_.assign(graph_.nodes.size(), false);
  for (const Node& n : graph_.nodes) {
    roots_.push_back(graph_.storage_of(n.id));
    if (!edit_.keep && is_op(n)) kept_[static_cast<size_t>(n.id)] = true;
  }
  for (NodeId id : edit_.keep.value_or(std::vector<NodeId>{}))
    if (is_op(node(id))) kept_[static_cast<size_t>(id)] = true;
  for (const auto& [id, number] : edit_.constants) kept_[static_cast<size_t>(id)] = false;
  for (const auto& [from, to] : edit_.instead) kept_[static_cast<size_t>(from)] = false;
}

void Surgeon::keep_views_of_written_memory() {
  std::map<NodeId, std::set<NodeId>>
      accesses;  // per written root: the values through which it is read and written
  for (const Node& n : graph_.nodes)
    if (kept(n.id) && n.op == OpId::kStore) accesses[roots_[static_cast<size_t>(n.id)]];
  for_each_read([&](NodeId, NodeId operand) {
    if (auto found = accesses.find(roots_[static_cast<size_t>(operand)]); found != accesses.end())
      found->second.insert(operand);
  });
  // What has one name only may become an input under that name.
  std::erase_if(accesses, [](const auto& entry) { return entry.second.size() < 2; });
  if (accesses.empty()) return;
  const auto keep_chain = [&](NodeId id) {
    const NodeId root = roots_[static_cast<size_t>(id)];
    for (; id != root && !kept(id) && accesses.contains(root); id = read(node(id).operands[0])) {
      if (node(id).op == OpId::kStore || edit_.instead.contains(id)) continue;
      kept_[static_cast<size_t>(id)] = true;
    }
  };
  // Readers before what they read: a chain that is kept reads nothing but its own memory.
  for (size_t i = graph_.nodes.size(); i-- > 0;) {
    const Node& reader = graph_.nodes[i];
    if (!kept(reader.id)) continue;
    for (NodeId operand : reader.operands) keep_chain(read(operand));
  }
}

// True when the value's memory belongs to the caller: an input of the result.
bool Surgeon::in_input(NodeId id) const {
  const NodeId root = roots_[static_cast<size_t>(id)];
  return !is_op(node(root)) || !kept(root);
}

// Results that nobody reads are returned. What a store writes shows in its memory: the caller sees an input's, other memory is
// returned unless somebody reads it later.
void Surgeon::choose_outputs() {
  const auto add = [&](NodeId id) {
    if (std::ranges::find(outputs_, id) == outputs_.end()) outputs_.push_back(id);
  };
  for (NodeId id : edit_.outputs.value_or(graph_.outputs)) {
    NodeId final = read(id);
    const bool stored = node(final).op == OpId::kStore;  // asks for the memory that the store leaves
    while (node(final).op == OpId::kStore) final = read(node(final).operands[0]);
    const bool given = node(final).op == OpId::kPlaceholder && !edit_.constants.contains(final);
    const bool everything = !edit_.outputs && !edit_.keep;
    if (kept(final) || stored || given || (everything && !is_op(node(final)))) outputs_.push_back(final);
  }
  std::vector<bool> read_by(graph_.nodes.size(), false), written(graph_.nodes.size(), false);
  std::map<NodeId, NodeId> last_reader;  // per root
  for_each_read([&](NodeId reader, NodeId operand) {
    const bool target = node(reader).op == OpId::kStore && operand == read(node(reader).operands[0]);
    (target ? written : read_by)[static_cast<size_t>(operand)] = true;
    if (!target) last_reader[roots_[static_cast<size_t>(operand)]] = reader;
  });
  NodeId last_target = kNoNode;
  for (const Node& n : graph_.nodes) {
    if (!kept(n.id)) continue;
    const size_t i = static_cast<size_t>(n.id);
    if (n.op != OpId::kStore) {
      if (!read_by[i] && !(written[i] && in_input(n.id))) add(n.id);
      continue;
    }
    last_target = read(n.operands[0]);
    const auto reader = last_reader.find(roots_[i]);
    const bool seen = reader != last_reader.end() && reader->second > n.id;
    if (!seen && !read_by[i] && !in_input(n.id)) add(last_target);
  }
  if (outputs_.empty() && last_target != kNoNode) add(last_target);
}

Subgraph::Input Surgeon::origin(NodeId id) const {
  Subgraph::Input input{id, kNoNode};
  NodeId first_reader = static_cast<NodeId>(graph_.nodes.size());
  for_each_read([&](NodeId reader, NodeId operand) {
    if (operand == id) first_reader = std::min(first_reader, reader);
  });
  const NodeId root = roots_[static_cast<size_t>(id)];
  for (NodeId store = id + 1; store < first_reader; ++store)
    if (node(store).op == OpId::kStore && !kept(store) && roots_[static_cast<size_t>(store)] == root)
      input.after_store = store;
  return input;
}

void Surgeon::add_input(NodeId id) {
  Node input;
  input.id = static_cast<NodeId>(result_.graph.nodes.size());
  input.op = OpId::kPlaceholder;
  input.type = node(id).type;
  input.name = input.target = node(id).name;
  input.where = node(id).where;
  if (auto given = edit_.types.find(id); given != edit_.types.end()) {
    const std::vector<SymInt>&from = input.type.shape, &to = given->second.shape;
    for (size_t axis = 0; axis < std::min(from.size(), to.size()); ++axis)
      if (!(from[axis] == to[axis])) changes_.push_back({from[axis], to[axis]});
    input.type = given->second;
  }
  made_[id] = input.id;
  result_.graph.placeholders.push_back(input.id);
  result_.graph.nodes.push_back(std::move(input));
  result_.inputs.push_back(origin(id));
}

void Surgeon::add_inputs() {
  std::set<NodeId> own, promoted;
  const auto need = [&](NodeId id) {
    if (kept(id) || edit_.constants.contains(id)) return;
    if (node(id).op == OpId::kPlaceholder) own.insert(id);
    if (is_op(node(id))) promoted.insert(id);
  };
  for_each_read([&](NodeId, NodeId operand) { need(operand); });
  for (NodeId id : outputs_) need(id);
  for (NodeId id : graph_.placeholders)
    if (own.contains(id)) add_input(id);
  for (NodeId id : promoted) add_input(id);
}

NodeId Surgeon::add_leaf(NodeId id) {
  Node leaf = node(id);
  if (auto number = edit_.constants.find(id); number != edit_.constants.end()) {
    leaf = {.op = OpId::kConstant, .name = node(id).name, .where = node(id).where};
    leaf.attrs.scalar = number->second.value;
    leaf.type.value_class = number->second.value_class;
    leaf.type.dtype = dtype_of(number->second.value_class);
  }
  leaf.id = static_cast<NodeId>(result_.graph.nodes.size());
  result_.graph.nodes.push_back(std::move(leaf));
  return made_[id] = result_.graph.nodes.back().id;
}

NodeId Surgeon::value(NodeId id) {
  const NodeId final = read(id);
  const auto found = made_.find(final);
  return found != made_.end() ? found->second : add_leaf(final);
}

Status Surgeon::add_op(const Node& old) {
  Node made = old;
  std::vector<TensorType> before, after;
  for (NodeId& operand : made.operands) {
    before.push_back(node(operand).type);
    operand = value(operand);
    after.push_back(result_.graph.node(operand).type);
  }
  made.id = static_cast<NodeId>(result_.graph.nodes.size());
  if (before != after || (!changes_.empty() && !made.attrs.dims.empty())) {
    result_.graph.env.set_place(made.where);
    SUTURE_TRY(attrs, adapt_attrs(old, before, after, changes_));
    // An internal error here says that the edit asks for something that no program does.
    Result<TensorType> inferred = infer_type(result_.graph, made, attrs);
    if (!inferred.ok()) return no_part(fmt::format("{}: {}", old.name, inferred.error().message));
    TensorType type = *std::move(inferred);
    // A where that stands for an op on NumPy scalars gives a scalar (verify.cpp).
    if (old.op == OpId::kWhere && type.shape.empty() && old.type.scalar())
      type.value_class = old.type.value_class;
    made.attrs = std::move(attrs);
    made.type = std::move(type);
  }
  made_[old.id] = made.id;
  result_.graph.nodes.push_back(std::move(made));
  return ok_status();
}

Result<Subgraph> Surgeon::operate() {
  SUTURE_TRY_VOID(check());
  choose();
  keep_views_of_written_memory();
  choose_outputs();
  if (outputs_.empty()) return no_part("nothing would be left to compute");
  result_.graph.level = graph_.level;
  result_.graph.name = graph_.name;
  result_.graph.env = graph_.env;
  add_inputs();
  for (const Node& n : graph_.nodes)
    if (kept(n.id)) SUTURE_TRY_VOID(add_op(n));
  for (NodeId id : outputs_) {
    const NodeId made = value(id);
    result_.graph.outputs.push_back(made);
  }
  drop_unused_symbols(result_.graph);
  if (Status lawful = verify(result_.graph); !lawful.ok()) return no_part(lawful.error().message);
  return std::move(result_);
}

}  // namespace

Result<Subgraph> subgraph(const Graph& graph, const GraphEdit& edit) {
  if (edit.symbols.empty() && edit.fixed.empty()) return Surgeon(graph, edit).operate();
  const SymbolEdit symbols{edit.symbols, edit.fixed};
  SUTURE_TRY(changed, with_symbols(graph, symbols));
  GraphEdit renumbered = edit;  // its types speak of the symbols that there were
  const std::vector<SymInt> values = symbols.values_in(graph);
  for (auto& [node, type] : renumbered.types)
    for (auto* sizes : {&type.shape, &type.strides})
      for (SymInt& size : *sizes) size = size.substitute(values);
  return Surgeon(changed, renumbered).operate();
}

}  // namespace suture
