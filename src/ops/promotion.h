// NumPy's promotion (NEP 50) over the dtypes of dtypes.def.
//
// Python scalars are weak: they take part by kind only. The value matters in one case, a Python int that does not fit the
// dtype it meets; callers check that with `fits`.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "ops/dtype.h"
#include "ops/op_info.h"

namespace suture {

struct OperandType {
  DType dtype;
  ValueClass value_class = ValueClass::kArray;
};

// Result dtype and the dtype in which the loop runs (operands are cast to `loop` first).
struct OpTypes {
  DType loop;          // dtype of the operands in the loop (operand 0 of where stays bool)
  DType result;
  ValueClass result_class = ValueClass::kArray;  // only meaningful for rank-0 results: kNumpyScalar or a weak class
};

DType promote(DType a, DType b);
std::optional<DType> promote_all(std::span<const OperandType> operands);
bool fits(int64_t python_int, DType dtype);
// Error kUnsupported names the reason in words ("result dtype float16 is not compiled", "np.subtract refuses bool").
// `dtype` is the user's dtype= argument where the rule reads one.
Result<OpTypes> resolve_types(OpId op, std::span<const OperandType> operands, std::optional<DType> dtype);

}  // namespace suture
