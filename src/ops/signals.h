// Which operations NumPy may report a condition for: what ops.def says, with the dtypes.
//
// Such an operation runs even when nobody uses its result, and even when a C++ compiler could prove what the result is.
#pragma once

#include "ops/dtype.h"
#include "ops/op_info.h"

namespace suture {

// What integers do that overflow: those of arrays wrap, a NumPy or Python integer tells.
enum class IntegerOverflow : uint8_t { kWraps, kReported };

// `result` is the dtype of the result.
bool can_signal(OpId op, DType result, IntegerOverflow overflow);
// The same for operands that are zeros, or what such operations make of zeros. May say yes for an op that is silent.
bool can_signal_for_zeros(OpId op, DType result, IntegerOverflow overflow);
bool cast_can_signal(DType from, DType to);
bool cast_of_value_can_signal(double value, DType to);  // this one value, to a float dtype

// Of these only the floating-point flags tell: a condition in the kernel's status word is data like any other.
bool signals_by_flags(OpId op, DType result);
bool cast_signals_by_flags(DType from, DType to);

}  // namespace suture
