// NumPy's promotion (NEP 50) over the dtypes of dtypes.def.
//
// Python scalars are weak: they take part by kind only. The value matters in one case, a Python int that does
// not fit the dtype it meets; callers check that with `fits`.
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
  DType loop;  // dtype of the operands in the loop (operand 0 of where stays bool)
  DType result;
  ValueClass result_class =
      ValueClass::kNumpyScalar;  // of a rank-0 result: kNumpyScalar, or weak from resolve_python_types
  friend bool operator==(const OpTypes&, const OpTypes&) = default;
};

DType promote(DType a, DType b);
// NEP 50 over strong and weak operands; nullopt when there is none.
std::optional<DType> promote_all(std::span<const OperandType> operands);
bool fits(int64_t python_int, DType dtype);
// NumPy's casting rules over these dtypes.
bool can_cast_safely(DType from, DType to);
bool can_cast_same_kind(DType from, DType to);  // what in-place operators ask for
// Error kUnsupported names the reason in words ("result dtype float16 is not compiled", "np.subtract refuses
// bool"). `dtype` is the user's dtype= argument where the rule reads one. NumPy's answer for calls of NumPy
// functions, and for operators with at least one array or NumPy scalar.
Result<OpTypes> resolve_types(OpId op, std::span<const OperandType> operands, std::optional<DType> dtype);
// Python's answer for an operator whose operands are all Python numbers: True + True is 2, 1 / 2 is 0.5.
// Integers are computed in int64 with overflow checks, so an int converted to float must be checked to be
// below 2**53 (Python compares and divides ints of any size exactly).
// `asked`: the class that the call gives whatever its operands are (math.pow of two ints is a float, ** need not be one).
Result<OpTypes> resolve_python_types(OpId op, std::span<const OperandType> operands,
                                     std::optional<ValueClass> asked = std::nullopt);

}  // namespace suture
