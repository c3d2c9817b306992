// Sums and products of floats in the reference interpreter: NumPy's bits, in NumPy's order (sum_order.h).
#pragma once

#include "graph/interpret.h"
#include "ops/op_info.h"

namespace suture {

// `layout` has the shape of `from` and the strides that decide the order: those of the array before a conversion that
// the reduction makes itself (`converted`).
Status reduce_in_order(OpId op, const BufferView& from, const BufferView& layout,
                       const std::vector<bool>& reduced, bool converted, bool keepdims,
                       const BufferView& result);

}  // namespace suture
