#include "graph/adapt_attrs.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace suture {

namespace {

Error senseless(const Node& node, const char* why) {
  return Error::unsupported("subgraph", fmt::format("{}: {}", node.name, why));
}

bool adapt_dims(std::vector<SymInt>& dims, std::span<const ExtentChange> changes) {
  bool changed = false;
  for (SymInt& dim : dims) {
    const auto found = std::ranges::find(changes, dim, &ExtentChange::from);
    if (found == changes.end() || found->to == dim) continue;
    dim = found->to;
    changed = true;
  }
  return changed;
}

// Elements before and behind what the slice selects stay as many as they were.
Result<IndexItem> adapt_slice(const Node& node, IndexItem item, const SymInt& before, const SymInt& after) {
  if (before == after) return item;
  const auto from = before.constant(), to = after.constant();
  const auto start = item.start.constant(), step = item.step.constant(), length = item.length.constant();
  if (!from || !to || !start || !step || !length)
    return senseless(node, "a symbolic index of a resized axis");
  if (item.kind == IndexItem::Kind::kInt) {
    const bool from_the_end = *start >= *to;
    const int64_t index = from_the_end ? *to - (*from - *start) : *start;
    if (index < 0 || index >= *to) return senseless(node, "the axis is too short for its index");
    item.start = index;
    return item;
  }
  if (*length == 0) return item;
  const int64_t last = *start + (*length - 1) * *step;
  const int64_t low = std::min(*start, last), behind = *from - 1 - std::max(*start, last);
  const int64_t high = *to - 1 - behind;
  if (high < low) return senseless(node, "the axis is too short for its slice");
  item.length = (high - low) / std::abs(*step) + 1;
  if (*step < 0) item.start = high;
  return item;
}

Result<Attrs> adapt_index(const Node& node, const TensorType& before, const TensorType& after) {
  Attrs attrs = node.attrs;
  size_t axis = 0;
  for (IndexItem& item : attrs.index) {
    if (item.kind == IndexItem::Kind::kNewAxis) continue;
    if (axis >= after.shape.size() || axis >= before.shape.size()) return senseless(node, "too many indices");
    SUTURE_TRY(adapted, adapt_slice(node, item, before.shape[axis], after.shape[axis]));
    item = adapted;
    ++axis;
  }
  if (axis != after.shape.size()) return senseless(node, "the index does not cover every axis");
  return attrs;
}

// One entry follows from the others: that which is no extent of the new operand, else the first that can.
std::vector<SymInt> adapt_reshape(std::vector<SymInt> dims, const TensorType& after,
                                  std::span<const ExtentChange> changes) {
  adapt_dims(dims, changes);
  const auto size = product(after.shape).constant();
  const auto wanted = product(dims).constant();
  if (!size || !wanted || *size == *wanted || *size == 0) return dims;
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto is_extent = [&](size_t i) {
    return std::ranges::find(after.shape, dims[i]) != after.shape.end();
  };
  std::stable_partition(order.begin(), order.end(), [&](size_t i) { return !is_extent(i); });
  for (size_t i : order) {
    const int64_t others = *wanted / std::max<int64_t>(*dims[i].constant(), 1);
    if (others <= 0 || *size % others != 0) continue;
    dims[i] = *size / others;
    return dims;
  }
  return dims;
}

// Layouts of the *_like functions: axes keep their order, memory stays dense.
std::vector<SymInt> dense_strides(const std::vector<SymInt>& dims, const std::vector<SymInt>& old) {
  std::vector<size_t> inner_first(dims.size());
  std::iota(inner_first.begin(), inner_first.end(), size_t{0});
  std::ranges::stable_sort(inner_first, [&](size_t a, size_t b) {
    const auto x = old[a].constant(), y = old[b].constant();
    return x && y ? (*x != *y ? *x < *y : a > b) : a > b;
  });
  std::vector<SymInt> strides(dims.size());
  SymInt step = 1;
  for (size_t axis : inner_first) {
    strides[axis] = step;
    step = step * dims[axis];
  }
  return strides;
}

Status check_axes(const Node& node, const TensorType& before, const TensorType& after) {
  if (before.rank() == after.rank() || node.attrs.axes.empty()) return ok_status();
  if (node.attrs.all_axes) return ok_status();
  return senseless(node, "its axes are those of an array of another rank");
}

}  // namespace

Result<Attrs> adapt_attrs(const Node& node, std::span<const TensorType> before,
                          std::span<const TensorType> after, std::span<const ExtentChange> changes) {
  Attrs attrs = node.attrs;
  const OpKind kind = info(node.op).kind;
  if (kind == OpKind::Reduce || kind == OpKind::View) SUTURE_TRY_VOID(check_axes(node, before[0], after[0]));
  switch (node.op) {
    case OpId::kSlice: return adapt_index(node, before[0], after[0]);
    case OpId::kReshape: attrs.dims = adapt_reshape(attrs.dims, after[0], changes); break;
    case OpId::kTranspose:
      if (static_cast<int>(attrs.axes.size()) != after[0].rank())
        return senseless(node, "its axes do not match");
      break;
    default:
      if (adapt_dims(attrs.dims, changes) && attrs.strides.size() == attrs.dims.size())
        attrs.strides = dense_strides(attrs.dims, attrs.strides);
  }
  return attrs;
}

}  // namespace suture
