#include "graph/interpret_sum.h"

#include <algorithm>

#include "graph/scalar_ops.h"
#include "graph/sum_order.h"
#include "graph/view_elements.h"

namespace suture {
namespace {

// The result over the axes of the operand: it stands still along reduced ones.
BufferView spread(const BufferView& result, const BufferView& from, const OrderedReduction& reduction) {
  BufferView view{result.data, result.dtype, from.shape, {}};
  size_t axis = 0;
  for (bool gone : reduction.reduced) {
    view.strides.push_back(gone ? 0 : result.strides[axis]);
    if (!gone || reduction.keepdims) ++axis;
  }
  return view;
}

Result<ReduceOrder> order_of(const BufferView& layout, const OrderedReduction& reduction) {
  std::vector<SymInt> shape(layout.shape.begin(), layout.shape.end()), strides;
  for (size_t axis = 0; axis < layout.shape.size(); ++axis)
    strides.emplace_back(layout.shape[axis] == 1 ? 0 : layout.strides[axis] / itemsize(layout.dtype));
  SumOrder sum = numpy_sum_order({shape, strides, reduction.reduced, reduction.converts}, ShapeEnv{});
  if (!sum.order) return Error::internal("interpret", sum.why_not);
  return std::move(*sum.order);
}

std::vector<int64_t> extents(const std::vector<int64_t>& shape, const std::vector<int>& axes) {
  std::vector<int64_t> result;
  for (int axis : axes) result.push_back(shape[static_cast<size_t>(axis)]);
  return result;
}

void place(const std::vector<int>& axes, const std::vector<int64_t>& position, std::vector<int64_t>& index) {
  for (size_t i = 0; i < axes.size(); ++i) index[static_cast<size_t>(axes[i])] = position[i];
}

Element add_run(OpId op, DType dtype, Element total, std::span<const Element> run, int64_t chunk) {
  const OpId step = op == OpId::kSum ? OpId::kAdd : OpId::kMultiply;
  const auto combine = [&](const Element& value) {
    const Element operands[2] = {total, value};
    apply_elementwise(step, dtype, operands, total);
  };
  if (op == OpId::kProd) {
    std::ranges::for_each(run, combine);
    return total;
  }
  const size_t limit = chunk > 0 ? static_cast<size_t>(chunk) : run.size();
  for (; !run.empty(); run = run.subspan(std::min(limit, run.size())))
    combine(pairwise_sum(dtype, run.first(std::min(limit, run.size()))));
  return total;
}

}  // namespace

Status reduce_in_order(const OrderedReduction& reduction, const BufferView& from, const BufferView& layout,
                       const BufferView& result) {
  const OpId op = reduction.op;
  SUTURE_TRY(order, order_of(layout, reduction));
  const BufferView totals = spread(result, from, reduction);
  for_each_index(result.shape, [&](const auto& index) {
    Element::of(op == OpId::kSum ? 0.0 : 1.0).store(at(result, index), result.dtype);
  });
  std::vector<int64_t> index(from.shape.size(), 0);
  for_each_index(extents(from.shape, order.outer), [&](const auto& outer) {
    place(order.outer, outer, index);
    std::vector<Element> run;
    for_each_index(extents(from.shape, order.run), [&](const auto& inner) {
      place(order.run, inner, index);
      const Element value = Element::load(at(from, index), from.dtype);
      unsigned char memory[8];
      value.store(memory, result.dtype);
      run.push_back(Element::load(memory, result.dtype));
    });
    std::byte* total = at(totals, index);
    add_run(op, result.dtype, Element::load(total, result.dtype), run, order.chunk)
        .store(total, result.dtype);
  });
  return ok_status();
}

}  // namespace suture
