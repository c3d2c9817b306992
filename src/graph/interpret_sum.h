// Sums and products of floats in the reference interpreter: NumPy's bits, in NumPy's order (sum_order.h).
#pragma once

#include "graph/interpret.h"
#include "ops/op_info.h"

namespace suture {

struct OrderedReduction {
  OpId op = OpId::kSum;
  std::vector<bool> reduced;  // per axis of the operand
  bool converts = false;      // the reduction itself converts the operand
  bool keepdims = false;
};

// `layout` has the shape of `from` and the strides that decide the order: those of the array before a conversion that
// the reduction makes itself.
Status reduce_in_order(const OrderedReduction& reduction, const BufferView& from, const BufferView& layout,
                       const BufferView& result);

}  // namespace suture
