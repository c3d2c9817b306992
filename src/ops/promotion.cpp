// NumPy's type resolution, rule by rule (TypeRule in op_info.h).
//
// How it works: a ufunc has loops for homogeneous dtypes and takes the first whose dtype every operand can be
// cast to safely; over the dtypes here that is the promoted dtype, except where a ufunc has no loop for it
// (bool, integers). Weak Python scalars take part by kind after the strong operands have been promoted. The
// table of NumPy's own answers for every op and dtype combination is compared with these functions by
// tests/unit/ops/numpy_types_test.cpp.
#include "ops/promotion.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "ops/python_math.h"

namespace suture {

namespace {

Error refuse(OpId op, const std::string& why) {
  std::string_view spelled = info(op).numpy.empty() ? info(op).name : info(op).numpy;
  return Error::unsupported("types", fmt::format("{} {}", spelled, why));
}
Error result_not_compiled(OpId op, std::string_view dtype) {
  return refuse(op, fmt::format("gives dtype {} here, which is not compiled", dtype));
}

DType signed_of_bytes(int bytes) {
  switch (bytes) {
    case 1: return DType::kInt8;
    case 2: return DType::kInt16;
    case 4: return DType::kInt32;
    default: return DType::kInt64;
  }
}

// Rank of float results: 2 = float16, 4 = float32, 8 = float64 (NumPy's first loop that holds the operand
// safely).
int float_bytes(DType d) {
  if (is_float(d)) return itemsize(d);
  return std::min(8, 2 * itemsize(d));
}

// Bytes of the float loop for operands; weak scalars follow the strong ones.
int float_bytes(std::span<const OperandType> operands) {
  int bytes = 0;
  bool weak_float = false, strong_float = false, weak_int = false, strong_integer = false;
  for (const OperandType& operand : operands) {
    if (operand.value_class == ValueClass::kPyFloat) {
      weak_float = true;
    } else if (operand.value_class == ValueClass::kPyInt) {
      weak_int = true;
    } else {
      bytes = std::max(bytes, float_bytes(operand.dtype));
      strong_float |= is_float(operand.dtype);
      strong_integer |= is_integer(operand.dtype);
    }
  }
  // A weak float meets only integers or bools: NumPy's default float. A weak int meets only bools: its
  // default int.
  if (weak_float && !strong_float) return 8;
  if (weak_int && !strong_float && !strong_integer) return 8;
  return bytes;
}

Result<DType> float_loop(OpId op, std::span<const OperandType> operands) {
  switch (float_bytes(operands)) {
    case 2: return result_not_compiled(op, "float16");
    case 4: return DType::kFloat32;
    default: return DType::kFloat64;
  }
}

Result<OpTypes> same(DType dtype) { return OpTypes{dtype, dtype}; }

// Operands of one dtype are tested as they are, others are converted to bool first.
DType logical_loop(std::span<const OperandType> operands) {
  if (operands.size() == 1) return operands[0].dtype;
  for (const OperandType& operand : operands) {
    if (operand.dtype != operands[0].dtype || is_weak(operand.value_class)) return DType::kBool;
  }
  return operands[0].dtype;
}

Result<OpTypes> sum_like(DType operand, std::optional<DType> dtype) {
  if (dtype) return same(*dtype);
  if (is_bool(operand)) return same(DType::kInt64);
  if (is_unsigned(operand)) return same(DType::kUInt64);
  if (is_signed(operand)) return same(DType::kInt64);
  return same(operand);
}

Result<OpTypes> mean_like(OpId op, DType operand, std::optional<DType> dtype) {
  if (dtype && !is_float(*dtype)) return refuse(op, "with an integer or bool dtype= is not compiled");
  if (dtype) return same(*dtype);
  return same(is_float(operand) ? operand : DType::kFloat64);
}

bool signed_meets_uint64(std::span<const OperandType> operands) {
  bool wide = false, with_sign = false;
  for (const OperandType& operand : operands) {
    if (is_weak(operand.value_class)) continue;
    wide |= operand.dtype == DType::kUInt64;
    with_sign |= is_signed(operand.dtype);
  }
  return wide && with_sign;
}

// Rules in which the loop runs in the promoted dtype, with what they refuse or change.
Result<OpTypes> resolve_promoted(OpId op, TypeRule rule, std::span<const OperandType> operands) {
  DType promoted = *promote_all(operands);
  switch (rule) {
    case TypeRule::Subtract:
    case TypeRule::Negative:
      if (is_bool(promoted)) return refuse(op, "refuses bool");
      return same(promoted);
    case TypeRule::FloorDivide:
    case TypeRule::Power:
    case TypeRule::Square: return same(is_bool(promoted) ? DType::kInt8 : promoted);
    case TypeRule::Compare:
      if (signed_meets_uint64(operands))
        return refuse(op, "between uint64 and a signed dtype is not compiled");
      return OpTypes{promoted, DType::kBool};
    case TypeRule::Bitwise:
      if (is_float(promoted)) return refuse(op, "refuses these dtypes");
      return same(promoted);
    case TypeRule::Shift:
      if (is_float(promoted)) return refuse(op, "refuses these dtypes");
      return same(is_bool(promoted) ? DType::kInt8 : promoted);
    case TypeRule::Predicate: return OpTypes{promoted, DType::kBool};
    case TypeRule::Round:
      if (is_bool(promoted)) return result_not_compiled(op, "float16");
      return same(promoted);
    default: return same(promoted);  // Arith, Keep, Rounding
  }
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b || is_bool(b)) return a;
  if (is_bool(a)) return b;
  if (is_float(a) || is_float(b)) {
    return std::max(float_bytes(a), float_bytes(b)) <= 4 ? DType::kFloat32 : DType::kFloat64;
  }
  if (is_signed(a) == is_signed(b)) return itemsize(a) >= itemsize(b) ? a : b;
  DType with_sign = is_signed(a) ? a : b, without = is_signed(a) ? b : a;
  if (itemsize(with_sign) > itemsize(without)) return with_sign;
  // No integer holds both int64 and uint64: NumPy goes to float64.
  return itemsize(without) == 8 ? DType::kFloat64 : signed_of_bytes(2 * itemsize(without));
}

std::optional<DType> promote_all(std::span<const OperandType> operands) {
  std::optional<DType> strong;
  bool weak_int = false, weak_float = false, strong_float = false;
  int bytes = 0;
  for (const OperandType& operand : operands) {
    weak_int |= operand.value_class == ValueClass::kPyInt;
    weak_float |= operand.value_class == ValueClass::kPyFloat;
    bool by_kind = operand.value_class == ValueClass::kPyInt || operand.value_class == ValueClass::kPyFloat;
    if (by_kind) continue;
    strong = strong ? promote(*strong, operand.dtype) : operand.dtype;
    strong_float |= is_float(operand.dtype);
    bytes = std::max(bytes, float_bytes(operand.dtype));
  }
  // With a float among them the operands do not meet pairwise: int16, uint16 and float32 give float32.
  if (strong_float) strong = bytes <= 4 ? DType::kFloat32 : DType::kFloat64;
  if (weak_float && (!strong || !is_float(*strong))) return DType::kFloat64;
  if (weak_int && (!strong || is_bool(*strong))) return DType::kInt64;
  return strong;
}

bool fits(int64_t python_int, DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kInt64:
    case DType::kFloat32:
    case DType::kFloat64: return true;
    case DType::kUInt64: return python_int >= 0;
    default: break;
  }
  int bits = 8 * itemsize(dtype);
  if (is_unsigned(dtype)) return python_int >= 0 && python_int < (int64_t{1} << bits);
  return python_int >= -(int64_t{1} << (bits - 1)) && python_int < (int64_t{1} << (bits - 1));
}

bool can_cast_safely(DType from, DType to) {
  // int64 to float64 counts as safe in NumPy although it rounds.
  return promote(from, to) == to;
}

bool can_cast_same_kind(DType from, DType to) {
  constexpr std::string_view kKinds = "buif";
  return kKinds.find(info(from).kind) <= kKinds.find(info(to).kind);
}

Result<OpTypes> resolve_types(OpId op, std::span<const OperandType> operands, std::optional<DType> dtype) {
  TypeRule rule = info(op).rule;
  if (rule == TypeRule::Cast) {
    if (!dtype) return refuse(op, "needs a dtype");
    return same(*dtype);
  }
  if (rule == TypeRule::None || operands.empty()) return refuse(op, "has no dtype rule");
  DType first = operands[0].dtype;
  switch (rule) {
    case TypeRule::TrueDivide:
    case TypeRule::FloatUnary:
    case TypeRule::FloatBinary:
    case TypeRule::SignBit: {
      DType promoted = *promote_all(operands);
      if (rule == TypeRule::TrueDivide && !is_float(promoted)) return same(DType::kFloat64);
      SUTURE_TRY(loop, float_loop(op, operands));
      return OpTypes{loop, rule == TypeRule::SignBit ? DType::kBool : loop};
    }
    case TypeRule::FloatPower: return same(DType::kFloat64);
    case TypeRule::Logical: return OpTypes{logical_loop(operands), DType::kBool};
    case TypeRule::Where: return same(*promote_all(operands.subspan(1)));
    case TypeRule::SumLike: return sum_like(first, dtype);
    case TypeRule::Index: return OpTypes{first, DType::kInt64};
    case TypeRule::Mean: return mean_like(op, first, dtype);
    default: return resolve_promoted(op, rule, operands);
  }
}

Result<OpTypes> resolve_python_types(OpId op, std::span<const OperandType> operands,
                                     std::optional<ValueClass> asked) {
  bool any_float = false, all_bool = true;
  for (const OperandType& operand : operands) {
    any_float |= operand.value_class == ValueClass::kPyFloat;
    all_bool &= operand.value_class == ValueClass::kPyBool;
  }
  const OpTypes floats{DType::kFloat64, DType::kFloat64, ValueClass::kPyFloat};
  const OpTypes ints{DType::kInt64, DType::kInt64, ValueClass::kPyInt};
  const OpTypes bools{DType::kBool, DType::kBool, ValueClass::kPyBool};
  switch (op) {
    case OpId::kAdd:
    case OpId::kSubtract:
    case OpId::kMultiply:
    case OpId::kFloorDivide:
    case OpId::kRemainder:
    case OpId::kNegative:
    case OpId::kPositive:
    case OpId::kAbsolute: return any_float ? floats : ints;
    case OpId::kDivide: return floats;
    case OpId::kPower:
      if (any_float || asked == ValueClass::kPyFloat) return floats;
      return refuse(op, "of two Python ints is an int or a float depending on the values");
    case OpId::kLess:
    case OpId::kLessEqual:
    case OpId::kGreater:
    case OpId::kGreaterEqual:
    case OpId::kEqual:
    case OpId::kNotEqual:
      return OpTypes{any_float ? DType::kFloat64 : DType::kInt64, DType::kBool, ValueClass::kPyBool};
    case OpId::kFloor:
    case OpId::kCeil:
    case OpId::kTrunc: return OpTypes{DType::kFloat64, DType::kInt64, ValueClass::kPyInt};
    case OpId::kIsNan:
    case OpId::kIsInf:
    case OpId::kIsFinite: return OpTypes{DType::kFloat64, DType::kBool, ValueClass::kPyBool};
    case OpId::kBitAnd:
    case OpId::kBitOr:
    case OpId::kBitXor:
      if (any_float) return refuse(op, "refuses Python floats");
      return all_bool ? bools : ints;
    case OpId::kInvert:
      if (any_float || all_bool) return refuse(op, "of this Python number is not compiled");
      return ints;
    default:
      if (python_math(op)) return floats;
      return refuse(op, "of Python numbers is not compiled");
  }
}

}  // namespace suture
