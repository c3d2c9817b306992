// Types of views: exact element strides, and whether a reshape can be a view at all.
//
// Views of NumPy scalars are refused (except the read-only broadcast_to): they would be fresh arrays, not
// views.
#include <algorithm>
#include <numeric>

#include "graph/infer.h"

namespace suture {

namespace {

struct SliceCursor {
  TensorType out;
  size_t axis = 0;
};

Status take_int(Call& call, const IndexItem& item, SliceCursor& at) {
  const SymInt& extent = call.type(0).shape[at.axis];
  if (!call.env().le(0, item.start) || !call.env().lt(item.start, extent)) {
    return refused(fmt::format("index {} is out of bounds for axis {} with size {}",
                               call.env().hint(item.start), at.axis, call.env().hint(extent)));
  }
  ++at.axis;
  return ok_status();
}

Status take_slice(Call& call, const IndexItem& item, SliceCursor& at) {
  ShapeEnv& env = call.env();
  const TensorType& x = call.type(0);
  SymInt length = settle(item.length, env);
  if (length.constant() != 0) {
    // What capture clamped must stay inside the array for every call this graph serves.
    SymInt last = item.start + (length - 1) * item.step;
    for (const SymInt& e : {item.start, last}) {
      if (env.le(0, e) && env.lt(e, x.shape[at.axis])) continue;
      return Error::internal("types", "slice bounds outside the array");
    }
  }
  at.out.shape.push_back(length);
  // NumPy takes an empty slice with step 1.
  at.out.strides.push_back(x.strides[at.axis] * (length.constant() == 0 ? SymInt(1) : item.step));
  ++at.axis;
  return ok_status();
}

Result<TensorType> infer_slice(Call& call) {
  const TensorType& x = call.type(0);
  SliceCursor at{x, 0};
  at.out.shape.clear();
  at.out.strides.clear();
  for (const IndexItem& item : call.attrs.index) {
    if (item.kind == IndexItem::Kind::kNewAxis) {
      at.out.shape.push_back(1);
      at.out.strides.push_back(0);
      continue;
    }
    if (at.axis == x.shape.size()) return refused("too many indices for array");
    SUTURE_TRY_VOID(item.kind == IndexItem::Kind::kInt ? take_int(call, item, at)
                                                       : take_slice(call, item, at));
  }
  if (at.axis != x.shape.size()) return Error::internal("types", "index does not cover every axis");
  if (at.out.shape.empty() && !call.attrs.ellipsis) {
    at.out.value_class = ValueClass::kNumpyScalar;
    at.out.writeable = true;
  }
  return at.out;
}

// Replaces a single -1 in dims by what is left of the size.
Status resolve_unknown_dim(Call& call, Dims& dims) {
  SymInt size = product(call.type(0).shape);
  auto unknown = std::find(dims.begin(), dims.end(), SymInt(-1));
  if (unknown != dims.end()) {
    SymInt others = 1;
    for (auto d = dims.begin(); d != dims.end(); ++d) {
      if (d != unknown) others = others * *d;
    }
    if (others.constant() == 0) return refused("cannot reshape array: the size of -1 is ambiguous");
    *unknown = floordiv(size, others);
  }
  dims = settle(dims, call.env());
  SymInt wanted = product(dims);
  bool negative =
      std::any_of(dims.begin(), dims.end(), [](const SymInt& d) { return d.constant().value_or(0) < 0; });
  if (negative || !wanted.defined() || !call.env().eq(wanted, size)) {
    return refused(fmt::format("cannot reshape array of size {} into shape {}", call.env().hint(size),
                               shape_text(dims, call.env())));
  }
  return ok_status();
}

// NumPy keeps the strides when the shape is the old one as it is written. Sizes are compared where that can be seen.
bool keeps_shape(const TensorType& type, const Dims& dims, ShapeEnv& env) {
  if (dims == type.shape) return true;
  if (dims.size() != type.shape.size() || type.strides == contiguous_strides(type.shape, Order::kC))
    return false;
  const auto same = [&](const SymInt& a, const SymInt& b) { return env.eq(a, b); };
  return std::equal(dims.begin(), dims.end(), type.shape.begin(), same);
}

Result<TensorType> infer_reshape(Call& call) {
  if (call.attrs.order == Order::kF || call.attrs.order == Order::kAny) {
    return refused("reshape with order='F' or 'A' is not compiled");
  }
  const bool unknown = std::ranges::find(call.attrs.dims, SymInt(-1)) != call.attrs.dims.end();
  SUTURE_TRY_VOID(resolve_unknown_dim(call, call.attrs.dims));
  TensorType out = call.type(0);
  out.shape = call.attrs.dims;
  std::optional<Dims> strides = !unknown && keeps_shape(call.type(0), out.shape, call.env())
                                    ? call.type(0).strides
                                    : reshaped_strides(call.type(0), out.shape, call.env());
  call.attrs.copies = !strides;
  out.strides = strides ? *strides : contiguous_strides(out.shape, Order::kC);
  if (call.attrs.copies) out.writeable = true;
  return out;
}

Result<TensorType> infer_transpose(Call& call) {
  const TensorType& x = call.type(0);
  std::vector<int> sorted = call.attrs.axes;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> all(x.shape.size());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) return refused("axes don't match array");
  TensorType out = x;
  for (size_t i = 0; i < all.size(); ++i) {
    out.shape[i] = x.shape[static_cast<size_t>(call.attrs.axes[i])];
    out.strides[i] = x.strides[static_cast<size_t>(call.attrs.axes[i])];
  }
  return out;
}

Result<TensorType> infer_expand_dims(Call& call) {
  TensorType out = call.type(0);
  std::vector<int>& axes = call.attrs.axes;
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return refused("repeated axis in expand_dims");
  for (int axis : axes) {  // ascending: each is inserted at its place in the result
    if (axis < 0 || axis > out.rank()) return refused("axis is out of bounds in expand_dims");
    out.shape.insert(out.shape.begin() + axis, 1);
  }
  // np.expand_dims reshapes, which gives new axes another stride than x[None].
  std::optional<Dims> strides = reshaped_strides(call.type(0), out.shape, call.env());
  if (!strides) return Error::internal("types", "an axis of extent 1 takes a copy");
  out.strides = std::move(*strides);
  return out;
}

Result<TensorType> infer_squeeze(Call& call) {
  const TensorType& x = call.type(0);
  std::vector<int>& axes = call.attrs.axes;
  if (call.attrs.all_axes) {
    axes.clear();
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (x.shape[static_cast<size_t>(axis)].constant() == 1) axes.push_back(axis);
    }
  }
  std::sort(axes.begin(), axes.end());
  TensorType out = x;
  for (size_t i = axes.size(); i-- > 0;) {
    int axis = axes[i];
    if (axis < 0 || axis >= out.rank() || (i > 0 && axes[i - 1] == axis))
      return refused("axis is out of bounds in squeeze");
    if (out.shape[static_cast<size_t>(axis)].constant() != 1) {
      return refused("cannot select an axis to squeeze out which has size not equal to one");
    }
    out.shape.erase(out.shape.begin() + axis);
    out.strides.erase(out.strides.begin() + axis);
  }
  return out;
}

Result<TensorType> infer_broadcast_to(Call& call) {
  const TensorType& x = call.type(0);
  call.attrs.dims = settle(call.attrs.dims, call.env());
  const Dims& dims = call.attrs.dims;
  Error mismatch =
      refused("operands could not be broadcast together with remapped shapes " +
              shape_text(x.shape, call.env()) + " and requested shape " + shape_text(dims, call.env()));
  if (dims.size() < x.shape.size()) return mismatch;
  TensorType out;
  out.dtype = x.dtype;
  out.shape = dims;
  out.strides.assign(dims.size(), 0);
  out.writeable = false;
  size_t shift = dims.size() - x.shape.size();
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (x.shape[i].constant() == 1) continue;  // NumPy's iterator makes the stride 0, repeated or not
    if (!call.env().eq(x.shape[i], dims[shift + i])) return mismatch;
    out.strides[shift + i] = x.strides[i];
  }
  return out;
}

}  // namespace

Result<TensorType> infer_view(Call& call) {
  if (call.type(0).scalar() && call.op() != OpId::kBroadcastTo) {
    return refused(fmt::format("{} of a scalar is not compiled", info(call.op()).name));
  }
  switch (call.op()) {
    case OpId::kSlice: return infer_slice(call);
    case OpId::kReshape: return infer_reshape(call);
    case OpId::kTranspose: return infer_transpose(call);
    case OpId::kExpandDims: return infer_expand_dims(call);
    case OpId::kSqueeze: return infer_squeeze(call);
    case OpId::kBroadcastTo: return infer_broadcast_to(call);
    default:
      return Error::internal("types", fmt::format("view op {} has no inference", info(call.op()).name));
  }
}

}  // namespace suture
