// Promotion: the cases a reader should know by heart. The exhaustive comparison is numpy_types_test.cpp.
#include "ops/promotion.h"

#include <gtest/gtest.h>

namespace suture {
namespace {

OperandType array(DType dtype) { return {dtype, ValueClass::kArray}; }
const OperandType py_bool{DType::kBool, ValueClass::kPyBool};
const OperandType py_int{DType::kInt64, ValueClass::kPyInt};
const OperandType py_float{DType::kFloat64, ValueClass::kPyFloat};

DType result(OpId op, std::vector<OperandType> operands, std::optional<DType> dtype = std::nullopt) {
  Result<OpTypes> types = resolve_types(op, operands, dtype);
  EXPECT_TRUE(types.ok()) << types.error().message;
  return types->result;
}

TEST(Promotion, python_scalars_are_weak) {
  EXPECT_EQ(result(OpId::kAdd, {array(DType::kUInt8), py_int}), DType::kUInt8);
  EXPECT_EQ(result(OpId::kMultiply, {array(DType::kFloat32), py_float}), DType::kFloat32);
  EXPECT_EQ(result(OpId::kMultiply, {array(DType::kInt16), py_float}), DType::kFloat64);
  EXPECT_EQ(result(OpId::kAdd, {array(DType::kBool), py_int}), DType::kInt64);
}

TEST(Promotion, numpy_scalars_are_strong) {
  OperandType scalar{DType::kFloat64, ValueClass::kNumpyScalar};
  EXPECT_EQ(result(OpId::kAdd, {array(DType::kFloat32), scalar}), DType::kFloat64);
}

TEST(Promotion, uint64_and_int64_meet_in_float64) {
  EXPECT_EQ(result(OpId::kAdd, {array(DType::kUInt64), array(DType::kInt64)}), DType::kFloat64);
  EXPECT_EQ(result(OpId::kAdd, {array(DType::kUInt64), py_int}), DType::kUInt64);
}

TEST(Promotion, small_integers_widen_in_sums_and_floats_do_not) {
  EXPECT_EQ(result(OpId::kSum, {array(DType::kInt8)}), DType::kInt64);
  EXPECT_EQ(result(OpId::kSum, {array(DType::kUInt16)}), DType::kUInt64);
  EXPECT_EQ(result(OpId::kSum, {array(DType::kFloat32)}), DType::kFloat32);
  EXPECT_EQ(result(OpId::kSum, {array(DType::kFloat32)}, DType::kFloat64), DType::kFloat64);
}

TEST(Promotion, refusals_say_why) {
  std::vector<OperandType> bools{array(DType::kBool), array(DType::kBool)};
  Result<OpTypes> types = resolve_types(OpId::kSubtract, bools, std::nullopt);
  ASSERT_FALSE(types.ok());
  EXPECT_EQ(types.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(types.error().message, "np.subtract refuses bool");
  std::vector<OperandType> bytes{array(DType::kInt8)};
  EXPECT_EQ(resolve_types(OpId::kSin, bytes, std::nullopt).error().message,
            "np.sin gives dtype float16 here, which is not compiled");
}

TEST(Promotion, python_operators_on_python_numbers_follow_python) {
  std::vector<OperandType> bools{py_bool, py_bool};
  EXPECT_EQ(resolve_python_types(OpId::kAdd, bools)->result_class, ValueClass::kPyInt);
  EXPECT_EQ(result(OpId::kAdd, {py_bool, py_bool}), DType::kBool) << "np.add(True, True) is np.True_";
  std::vector<OperandType> ints{py_int, py_int};
  EXPECT_EQ(resolve_python_types(OpId::kDivide, ints)->result_class, ValueClass::kPyFloat);
}

TEST(Promotion, fits_knows_the_limits_of_every_integer) {
  EXPECT_TRUE(fits(255, DType::kUInt8));
  EXPECT_FALSE(fits(256, DType::kUInt8));
  EXPECT_FALSE(fits(-1, DType::kUInt64));
  EXPECT_TRUE(fits(-128, DType::kInt8));
  EXPECT_FALSE(fits(-129, DType::kInt8));
  EXPECT_TRUE(fits(INT64_MIN, DType::kInt64));
  EXPECT_TRUE(fits(300, DType::kBool));
}

}  // namespace
}  // namespace suture
