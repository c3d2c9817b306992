// lower: graph -> loop program, one node at a time in program order. What each kind of node becomes is in
// lower_<kind>.cpp.
#include <algorithm>

#include "loop/lowering.h"
#include "loop/verify.h"

namespace suture {

bool is_checked_scalar(const Node& node) {
  if (node.op == OpId::kCast) return node.attrs.checked;
  return node.type.scalar() && is_integer(node.type.dtype);
}

Result<LoopProgram> lower(const Graph& lowered_graph, const LowerOptions& options) {
  return Lowering(lowered_graph, options).run();
}

Result<LoopProgram> Lowering::run() {
  program_.env = graph_.env;
  values_.resize(graph_.nodes.size());
  for (const Node& node : graph_.nodes) SUTURE_TRY_VOID(lower_node(node));
  for (NodeId output : graph_.outputs) {
    SUTURE_TRY(buffer, materialize(output));
    program_.outputs.push_back(buffer);
    Buffer& root = program_.buffers[root_buffer(program_.buffers, buffer)];
    if (root.kind == Buffer::Kind::kTemp) root.kind = Buffer::Kind::kOutput;
  }
  SUTURE_TRY_VOID(verify(program_, graph_));
  return std::move(program_);
}

Status Lowering::lower_node(const Node& node) {
  switch (info(node.op).kind) {
    case OpKind::Input: return lower_input(node);
    case OpKind::Elementwise: return lower_elementwise(node);
    case OpKind::Reduce: return lower_reduce(node);
    case OpKind::View: return lower_view(node);
    case OpKind::Create: return lower_create(node);
    case OpKind::Contract: return lower_extern(node, "");
    case OpKind::Effect: return lower_store(node);
  }
  return Error::internal("loop", "unknown op kind of node " + node.name);
}

Status Lowering::lower_input(const Node& node) {
  if (node.op != OpId::kPlaceholder) return ok_status();  // constants and symbols stay inline
  const BufferId id = new_buffer(node, Buffer::Kind::kInput, squeezed_strides(node.type));
  const auto position = std::find(graph_.placeholders.begin(), graph_.placeholders.end(), node.id);
  if (position == graph_.placeholders.end())
    return Error::internal("loop", "placeholder " + node.name + " is not in Graph::placeholders");
  program_.buffers[id].input = static_cast<int>(position - graph_.placeholders.begin());
  values_[node.id] = {View{id, 0, program_.buffers[id].strides}, id};
  return ok_status();
}

// --- memory ------------------------------------------------------------------------------------------------
std::vector<SymInt> Lowering::squeezed_strides(const TensorType& type) const {
  std::vector<SymInt> strides = type.strides;
  for (size_t axis = 0; axis < strides.size(); ++axis)
    if (type.shape[axis] == SymInt(1)) strides[axis] = 0;
  return strides;
}

BufferId Lowering::new_buffer(const Node& node, Buffer::Kind kind, const std::vector<SymInt>& strides) {
  Buffer buffer;
  buffer.kind = kind;
  buffer.node = node.id;
  buffer.dtype = node.type.dtype;
  buffer.value_class = node.type.value_class;
  buffer.shape = node.type.shape;
  buffer.strides = strides;
  buffer.name = unique_name(node.name);
  program_.buffers.push_back(std::move(buffer));
  return static_cast<BufferId>(program_.buffers.size() - 1);
}

BufferId Lowering::result_buffer(const Node& node) {
  const BufferId id = new_buffer(node, Buffer::Kind::kTemp, squeezed_strides(node.type));
  values_[node.id] = {View{id, 0, program_.buffers[id].strides}, id};
  return id;
}

Result<Unit> Lowering::materialize_inline(NodeId id) {
  const Node& node = graph_.node(id);
  Nest nest;
  nest.nodes.push_back(id);
  const ExprId value = read(nest, id, node);
  const BufferId buffer = new_buffer(node, Buffer::Kind::kTemp, {});
  nest.stores.push_back({Access{buffer, 0, {}}, value, false, id});
  program_.statements.emplace_back(std::move(nest));
  values_[id].whole = buffer;
  return Unit{};
}

Result<BufferId> Lowering::materialize(NodeId id) {
  NodeValue& value = values_[id];
  if (value.whole >= 0) return value.whole;
  if (!value.memory) {
    SUTURE_TRY_VOID(materialize_inline(id));
    return values_[id].whole;
  }
  const Node& node = graph_.node(id);
  const View view = *value.memory;
  const BufferId buffer = new_buffer(node, Buffer::Kind::kView, view.strides);
  program_.buffers[buffer].base = view.buffer;
  program_.buffers[buffer].offset = view.offset;
  values_[id].whole = buffer;
  return buffer;
}

std::string Lowering::unique_name(std::string stem) {
  std::string name = stem;
  for (int n = 1; std::find(names_.begin(), names_.end(), name) != names_.end(); ++n)
    name = stem + "_" + std::to_string(n);
  names_.push_back(name);
  return name;
}

// --- expressions -------------------------------------------------------------------------------------------
ExprId Lowering::add_expr(Nest& nest, const Node& node, Expr expr) {
  expr.node = node.id;
  expr.where = node.where;
  nest.exprs.push_back(std::move(expr));
  return static_cast<ExprId>(nest.exprs.size() - 1);
}

Access Lowering::access_of(const View& view, const std::vector<SymInt>& shape, size_t rank) const {
  Access access{view.buffer, view.offset, std::vector<SymInt>(rank, SymInt(0))};
  for (size_t axis = 0; axis < shape.size(); ++axis)
    access.strides[rank - shape.size() + axis] = shape[axis] == SymInt(1) ? SymInt(0) : view.strides[axis];
  return access;
}

ExprId Lowering::read(Nest& nest, NodeId id, const Node& reader) {
  const Node& node = graph_.node(id);
  Expr expr;
  expr.dtype = node.type.dtype;
  if (node.op == OpId::kConstant) {
    expr.kind = Expr::Kind::kConstant;
    expr.scalar = node.attrs.scalar.value_or(Scalar{int64_t{0}});
  } else if (node.op == OpId::kSymbolValue) {
    expr.kind = Expr::Kind::kSymbol;
    expr.sym = node.attrs.sym;
  } else {
    expr.kind = Expr::Kind::kLoad;
    expr.access = access_of(*values_[id].memory, node.type.shape, nest.extents.size());
  }
  const ExprId value = add_expr(nest, node, std::move(expr));
  nest.exprs[value].where = reader.where;
  return value;
}

ExprId Lowering::cast_to(Nest& nest, ExprId value, DType dtype, const Node& node) {
  if (nest.exprs[value].dtype == dtype) return value;
  Expr cast;
  cast.kind = Expr::Kind::kCast;
  cast.op = OpId::kCast;
  cast.operands = {value};
  cast.dtype = dtype;
  return add_expr(nest, node, std::move(cast));
}

void Lowering::store_result(Nest& nest, const Node& node, ExprId value, bool after_reduction) {
  result_buffer(node);
  Store store;
  store.access = access_of(*values_[node.id].memory, node.type.shape, nest.extents.size());
  store.value = value;
  store.after_reduction = after_reduction;
  store.node = node.id;
  nest.stores.push_back(std::move(store));
}

// --- queries on nests --------------------------------------------------------------------------------------
BufferId root_buffer(const std::vector<Buffer>& buffers, BufferId buffer) {
  while (buffers[buffer].kind == Buffer::Kind::kView) buffer = buffers[buffer].base;
  return buffer;
}

std::vector<bool> reduced_axes(const Nest& nest) {
  std::vector<bool> reduced(nest.extents.size(), false);
  for (const Reduction& reduction : nest.reductions)
    for (int axis : reduction.axes) reduced[axis] = true;
  return reduced;
}

std::vector<ExprId> subexpressions(const Nest& nest, ExprId root) {
  std::vector<bool> needed(nest.exprs.size(), false);
  needed[root] = true;
  for (ExprId id = root; id >= 0; --id)  // operands come before users
    if (needed[id])
      for (ExprId operand : nest.exprs[id].operands) needed[operand] = true;
  std::vector<ExprId> order;
  for (ExprId id = 0; id <= root; ++id)
    if (needed[id]) order.push_back(id);
  return order;
}

}  // namespace suture
