// Views: no code, only another affine access to the same buffer. A reshape that NumPy answers with a copy is
// a copy nest.
#include "loop/lowering.h"

namespace suture {
namespace {

View slice_view(const View& base, const std::vector<IndexItem>& index) {
  View view{base.buffer, base.offset, {}};
  size_t axis = 0;
  for (const IndexItem& item : index) {
    if (item.kind == IndexItem::Kind::kNewAxis) {
      view.strides.push_back(0);
      continue;
    }
    const SymInt& stride = base.strides[axis++];
    view.offset = view.offset + item.start * stride;
    if (item.kind == IndexItem::Kind::kSlice)
      view.strides.push_back(item.length == SymInt(1) ? SymInt(0) : stride * item.step);
  }
  for (; axis < base.strides.size(); ++axis) view.strides.push_back(base.strides[axis]);
  return view;
}

View expanded_view(const View& base, const std::vector<int>& axes, size_t rank) {
  View view{base.buffer, base.offset, std::vector<SymInt>(rank, SymInt(0))};
  std::vector<bool> inserted(rank, false);
  for (int axis : axes) inserted[axis] = true;
  size_t from = 0;
  for (size_t axis = 0; axis < rank; ++axis)
    if (!inserted[axis]) view.strides[axis] = base.strides[from++];
  return view;
}

View squeezed_view(const View& base, const std::vector<int>& axes) {
  std::vector<bool> removed(base.strides.size(), false);
  for (int axis : axes) removed[axis] = true;
  View view{base.buffer, base.offset, {}};
  for (size_t axis = 0; axis < removed.size(); ++axis)
    if (!removed[axis]) view.strides.push_back(base.strides[axis]);
  return view;
}

View transposed_view(const View& base, const std::vector<int>& axes) {
  View view{base.buffer, base.offset, {}};
  for (int axis : axes) view.strides.push_back(base.strides[axis]);
  return view;
}

View broadcast_view(const View& base, const TensorType& from, const TensorType& to) {
  View view{base.buffer, base.offset, std::vector<SymInt>(to.shape.size(), SymInt(0))};
  const size_t shift = to.shape.size() - from.shape.size();
  for (size_t axis = 0; axis < from.shape.size(); ++axis)
    if (!(from.shape[axis] == SymInt(1))) view.strides[shift + axis] = base.strides[axis];
  return view;
}

}  // namespace

Status Lowering::lower_view(const Node& node) {
  const Node& operand = graph_.node(node.operands[0]);
  if (!values_[operand.id].memory) {  // a view of a constant: give it memory first
    SUTURE_TRY_VOID(materialize_inline(operand.id));
    values_[operand.id].memory = View{values_[operand.id].whole, 0, {}};
  }
  if (node.op == OpId::kReshape) return lower_reshape(node);
  const View& base = *values_[operand.id].memory;
  View view;
  switch (node.op) {
    case OpId::kSlice: view = slice_view(base, node.attrs.index); break;
    case OpId::kTranspose: view = transposed_view(base, node.attrs.axes); break;
    case OpId::kExpandDims: view = expanded_view(base, node.attrs.axes, node.type.shape.size()); break;
    case OpId::kSqueeze: view = squeezed_view(base, node.attrs.axes); break;
    case OpId::kBroadcastTo: view = broadcast_view(base, operand.type, node.type); break;
    default: return Error::internal("loop", "unknown view op " + std::string(info(node.op).name));
  }
  if (node.type.scalar()) {  // x[i, j] is a NumPy scalar: a copy of the element, later stores into x do not
                             // change it
    Nest nest;
    nest.nodes.push_back(node.id);
    Expr element;
    element.kind = Expr::Kind::kLoad;
    element.dtype = node.type.dtype;
    element.access = Access{view.buffer, view.offset, {}};
    store_result(nest, node, add_expr(nest, node, std::move(element)), false);
    program_.statements.emplace_back(std::move(nest));
    return ok_status();
  }
  if (view.strides.size() != node.type.shape.size())
    return Error::internal("loop", "view " + node.name + " has another rank than its type");
  for (size_t axis = 0; axis < view.strides.size(); ++axis)
    if (node.type.shape[axis] == SymInt(1)) view.strides[axis] = 0;
  values_[node.id].memory = std::move(view);
  return ok_status();
}

Status Lowering::lower_reshape(const Node& node) {
  const Node& operand = graph_.node(node.operands[0]);
  const bool fortran = node.attrs.order == Order::kF;
  if (fortran && operand.type.shape.size() > 1 && node.type.shape.size() > 1)
    return Error::unsupported("loop", "reshape with order='F'");
  if (!fortran && !reshape_copies(operand.type, node.type.shape, program_.env)) {
    const View& base = *values_[operand.id].memory;
    values_[node.id].memory = View{base.buffer, base.offset, squeezed_strides(node.type)};
    return ok_status();
  }
  // Walk the operand; its flat index in the requested order is the position in the contiguous result.
  Nest nest;
  nest.extents = operand.type.shape;
  nest.nodes.push_back(node.id);
  const ExprId value = read(nest, operand.id, node);
  const BufferId buffer = result_buffer(node);
  Access access{buffer, 0, std::vector<SymInt>(nest.extents.size(), SymInt(0))};
  SymInt step = 1;
  for (size_t i = 0; i < nest.extents.size(); ++i) {
    const size_t axis = fortran ? i : nest.extents.size() - 1 - i;
    if (!(nest.extents[axis] == SymInt(1))) access.strides[axis] = step;
    step = step * nest.extents[axis];
  }
  nest.stores.push_back({std::move(access), value, false, node.id});
  program_.statements.emplace_back(std::move(nest));
  return ok_status();
}

}  // namespace suture
