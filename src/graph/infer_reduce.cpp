// Types of reductions, including the cases in which NumPy raises or warns because there is nothing to reduce.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/infer.h"

namespace suture {

namespace {

Status normalise_axes(Call& call) {
  Attrs& attrs = call.attrs;
  int rank = call.type(0).rank();
  if (attrs.all_axes) {
    attrs.axes.resize(static_cast<size_t>(rank));
    std::iota(attrs.axes.begin(), attrs.axes.end(), 0);
  }
  std::sort(attrs.axes.begin(), attrs.axes.end());
  if (std::adjacent_find(attrs.axes.begin(), attrs.axes.end()) != attrs.axes.end()) {
    return refused("duplicate value in 'axis'");
  }
  for (int axis : attrs.axes) {
    if (axis >= 0 && axis < rank) continue;
    return refused(fmt::format("axis {} is out of bounds for array of dimension {}", axis, rank));
  }
  return ok_status();
}

bool is_arg(OpId op) { return op == OpId::kArgmax || op == OpId::kArgmin; }

SymInt reduced_count(const Call& call) {
  SymInt count = 1;
  for (int axis : call.attrs.axes) count = count * call.type(0).shape[static_cast<size_t>(axis)];
  return count;
}

Status check_count(Call& call) {
  SymInt count = reduced_count(call);
  const std::string name(info(call.op()).numpy);
  bool empty = count.constant() == 0;
  switch (call.op()) {
    case OpId::kMax:
    case OpId::kMin:
      // Also when the result is empty itself: np.zeros((0, 0)).max(axis=0) raises.
      if (empty) {
        return refused(fmt::format("zero-size array to reduction operation {} which has no identity",
                                   call.op() == OpId::kMax ? "maximum" : "minimum"));
      }
      return ok_status();
    case OpId::kArgmax:
    case OpId::kArgmin:
      if (empty) return refused(fmt::format("attempt to get {} of an empty sequence", info(call.op()).name));
      return ok_status();
    case OpId::kMean:
      if (empty) return refused("Mean of empty slice.");
      return ok_status();
    case OpId::kVar:
    case OpId::kStd:
      if (call.env().le(count, static_cast<int64_t>(std::floor(call.attrs.ddof)))) {
        return refused("Degrees of freedom <= 0 for slice.");
      }
      if (empty) return refused("Degrees of freedom <= 0 for slice.");
      return ok_status();
    default: return ok_status();
  }
}

// var and std subtract the mean first; the result has the layout of reducing that difference.
Dims result_strides(Call& call, const TensorType& out) {
  const TensorType& x = call.type(0);
  ShapeEnv& env = call.env();
  const Attrs& attrs = call.attrs;
  if (is_arg(call.op())) return contiguous_strides(out.shape, Order::kC);
  if (call.op() != OpId::kVar && call.op() != OpId::kStd)
    return reduced_strides(x, attrs.axes, attrs.keepdims, env);
  TensorType mean = x, difference = x;
  for (int axis : attrs.axes) mean.shape[static_cast<size_t>(axis)] = 1;
  mean.strides = reduced_strides(x, attrs.axes, true, env);
  TensorType both[] = {x, mean};
  difference.strides = ufunc_result_strides(x.shape, both, env);
  return reduced_strides(difference, attrs.axes, attrs.keepdims, env);
}

}  // namespace

Result<TensorType> infer_reduce(Call& call) {
  const TensorType& x = call.type(0);
  const Attrs& attrs = call.attrs;
  SUTURE_TRY_VOID(normalise_axes(call));
  if (is_arg(call.op()) && !attrs.all_axes && attrs.axes.size() != 1)
    return refused("argmax and argmin take one axis");
  OperandType operand{x.dtype, x.value_class};
  SUTURE_TRY(types, resolve_types(call.op(), std::span<const OperandType>(&operand, 1), attrs.dtype));
  TensorType out;
  out.dtype = types.result;
  for (int axis = 0; axis < x.rank(); ++axis) {
    bool reduced = std::binary_search(attrs.axes.begin(), attrs.axes.end(), axis);
    if (reduced && !attrs.keepdims) continue;
    out.shape.push_back(reduced ? SymInt(1) : x.shape[static_cast<size_t>(axis)]);
  }
  SUTURE_TRY_VOID(check_count(call));
  if (out.shape.empty()) {
    out.value_class = ValueClass::kNumpyScalar;
  } else {
    out.strides = result_strides(call, out);
  }
  return out;
}

}  // namespace suture
