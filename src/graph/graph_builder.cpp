// Adding nodes: names, places, and the dispatch to inference by op kind.
#include "graph/graph_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/infer.h"

namespace suture {

namespace {

// Names that mean something else in the printed NumPy source.
bool reserved(const std::string& name) {
  constexpr std::string_view kWords[] = {
      "np",        "math",  "min",      "max",   "float",  "int",  "bool",   "abs",    "forward",
      "undefined", "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",
      "break",     "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",
      "for",       "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal",
      "not",       "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  if (std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords)) return true;
  // Symbols: s0, s1, ...
  return name.size() > 1 && name[0] == 's' && name.find_first_not_of("0123456789", 1) == std::string::npos;
}

std::string identifier(const std::string& text) {
  std::string out;
  for (char c : text) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    bool digit = c >= '0' && c <= '9';
    out += letter || (digit && !out.empty()) ? c : '_';
  }
  return out.empty() ? "value" : out;
}

Status check_arity(const Node& node) {
  int arity = info(node.op).arity;
  size_t expected = static_cast<size_t>(std::max(arity, 0));
  if (node.op == OpId::kClip) expected = 1u + (node.attrs.has_min ? 1 : 0) + (node.attrs.has_max ? 1 : 0);
  bool right = arity < 0 ? !node.operands.empty() : node.operands.size() == expected;
  if (right) return ok_status();
  return Error::internal("types",
                         fmt::format("{} with {} operands", info(node.op).name, node.operands.size()));
}

// No process has this much address space, so NumPy raises MemoryError. The graph must not go on as if the array were there:
// nothing may read it but its shape.
constexpr double kMostBytes = 0x1p47;

Status check_memory(const ShapeEnv& env, const Node& node) {
  const OpKind kind = info(node.op).kind;
  if (kind == OpKind::View || kind == OpKind::Effect) return ok_status();
  double bytes = static_cast<double>(itemsize(node.type.dtype));
  for (const SymInt& extent : node.type.shape) bytes *= static_cast<double>(env.hint(extent));
  if (bytes < kMostBytes) return ok_status();
  return Error::unsupported("types", fmt::format("an array of {} bytes does not fit in memory", bytes));
}

Result<TensorType> infer_by_kind(Graph& graph, const Node& node, Attrs& attrs) {
  Call call{graph, node, attrs};
  switch (info(node.op).kind) {
    case OpKind::Elementwise:
      return node.op == OpId::kCast || node.op == OpId::kCopy ? infer_cast(call) : infer_elementwise(call);
    case OpKind::Reduce: return infer_reduce(call);
    case OpKind::View: return infer_view(call);
    case OpKind::Create: return infer_create(call);
    case OpKind::Contract: return infer_contract(call);
    case OpKind::Effect: return infer_store(call);
    case OpKind::Input: break;
  }
  return Error::internal("types", "inputs have their type given");
}

}  // namespace

Result<TensorType> infer_type(Graph& graph, const Node& node, Attrs& attrs) {
  SUTURE_TRY_VOID(check_arity(node));
  SUTURE_TRY(type, infer_by_kind(graph, node, attrs));
  const OpKind kind = info(node.op).kind;
  const bool allocates = kind != OpKind::View && kind != OpKind::Effect;
  const auto is_zero = [](const SymInt& extent) { return extent.constant() == 0; };
  if (allocates && std::ranges::any_of(type.shape, is_zero))
    type.strides = new_array_strides(type.shape, Order::kC);
  return type;
}

GraphBuilder::GraphBuilder(Graph& graph) : graph_(graph) {
  for (const Node& node : graph.nodes) names_.emplace(node.name, 0);
}

void GraphBuilder::set_place(const UserSpan& where) {
  where_ = where;
  graph_.env.set_place(where);
}

std::string GraphBuilder::unique_name(const std::string& stem) {
  std::string name = identifier(stem);
  if (!reserved(name) && names_.emplace(name, 0).second) return name;
  for (int& suffix = names_[name];;) {
    std::string candidate = fmt::format("{}_{}", name, ++suffix);
    if (names_.emplace(candidate, 0).second) return candidate;
  }
}

NodeId GraphBuilder::append(Node node, const std::string& stem) {
  node.id = static_cast<NodeId>(graph_.nodes.size());
  node.name = unique_name(stem);
  node.where = where_;
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().id;
}

NodeId GraphBuilder::placeholder(std::string name, TensorType type) {
  Node node;
  node.op = OpId::kPlaceholder;
  node.type = std::move(type);
  node.target = name;
  NodeId id = append(std::move(node), name);
  graph_.placeholders.push_back(id);
  return id;
}

NodeId GraphBuilder::constant(Scalar value, ValueClass value_class, DType dtype) {
  Node node;
  node.op = OpId::kConstant;
  node.attrs.scalar = value;
  node.type.dtype = dtype;
  node.type.value_class = value_class;
  return append(std::move(node), "constant");
}

NodeId GraphBuilder::symbol_value(SymInt value) {
  Node node;
  node.op = OpId::kSymbolValue;
  node.attrs.sym = std::move(value);
  node.type.dtype = DType::kInt64;
  node.type.value_class = ValueClass::kPyInt;
  return append(std::move(node), "symbol");
}

Result<NodeId> GraphBuilder::add(OpId op, std::vector<NodeId> operands, Attrs attrs, std::string target) {
  Node node;
  node.op = op;
  node.operands = std::move(operands);
  node.attrs = std::move(attrs);
  node.target = std::move(target);
  Attrs normalised = node.attrs;
  SUTURE_TRY(type, infer_type(graph_, node, normalised));
  node.attrs = std::move(normalised);
  node.type = std::move(type);
  if (graph_.level == Graph::Level::kCaptured) SUTURE_TRY_VOID(check_memory(graph_.env, node));
  return append(std::move(node), std::string(info(op).name));
}

}  // namespace suture
