// Stores: target[...] = value, with NumPy's rule that the right side is evaluated completely before the first
// write. When the value is read from the same storage through another access, it is copied first; scheduling
// never fuses such a pair.
#include "loop/lowering.h"

namespace suture {
namespace {

bool same_elements(const Access& a, const Access& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.strides == b.strides;
}

}  // namespace

Status Lowering::lower_store(const Node& node) {
  const Node& target = graph_.node(node.operands[0]);
  const NodeId value_id = node.operands[1];
  if (!values_[target.id].memory) return Error::internal("loop", "store into a constant: " + node.name);
  if (graph_.node(value_id).type.shape.size() > target.type.shape.size())
    return Error::internal("loop", "stored value has a higher rank than its target: " + node.name);

  // An empty target takes no statement: along an axis that has extent 1 in memory its one store would be moved out
  // of the loops. Such extents are always constants (capture specialises slices of unit axes).
  for (const SymInt& extent : target.type.shape)
    if (extent.constant() == 0) return ok_status();

  Nest nest;
  nest.extents = target.type.shape;
  nest.nodes.push_back(node.id);
  const Access destination = access_of(*values_[target.id].memory, target.type.shape, nest.extents.size());
  ExprId value = read(nest, value_id, node);
  const Expr& read_value = nest.exprs[value];
  const bool same_storage =
      read_value.kind == Expr::Kind::kLoad && read_value.access.buffer == destination.buffer;
  if (same_storage && same_elements(read_value.access, destination) && read_value.dtype == target.type.dtype)
    return ok_status();  // writes every element over itself
  if (same_storage && !same_elements(read_value.access, destination)) {
    Node copied = graph_.node(value_id);
    copied.type.strides.assign(copied.type.shape.size(), SymInt(0));
    SymInt step = 1;
    for (size_t axis = copied.type.shape.size(); axis-- > 0; step = step * copied.type.shape[axis])
      copied.type.strides[axis] = step;
    Nest copy;
    copy.extents = copied.type.shape;
    copy.nodes.push_back(node.id);
    const ExprId original = read(copy, value_id, node);
    const BufferId temp = new_buffer(copied, Buffer::Kind::kTemp, squeezed_strides(copied.type));
    const View view{temp, 0, program_.buffers[temp].strides};
    copy.stores.push_back(
        {access_of(view, copied.type.shape, copy.extents.size()), original, false, node.id});
    program_.statements.emplace_back(std::move(copy));
    nest.exprs[value].access = access_of(view, copied.type.shape, nest.extents.size());
  }
  value = cast_to(nest, value, target.type.dtype, node);
  nest.stores.push_back({destination, value, false, node.id});
  program_.statements.emplace_back(std::move(nest));
  return ok_status();
}

}  // namespace suture
