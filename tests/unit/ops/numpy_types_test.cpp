// Every op over every combination of operand dtypes, compared with what the running NumPy says
// (gen_promotion_table.py).
#include <gtest/gtest.h>

#include <sstream>

#include "ops/promotion.h"
#include "support/python_process.h"

namespace suture {
namespace {

OperandType operand_from(const std::string& text) {
  if (text == "py_bool") return {DType::kBool, ValueClass::kPyBool};
  if (text == "py_int") return {DType::kInt64, ValueClass::kPyInt};
  if (text == "py_float") return {DType::kFloat64, ValueClass::kPyFloat};
  return {*dtype_from_name(text), ValueClass::kArray};
}

struct Row {
  std::string kind, op;
  std::vector<OperandType> operands;
  std::vector<std::string> raw, answer;
  std::optional<DType> dtype;
};

Row parse_row(const std::string& line) {
  std::istringstream words(line);
  Row row;
  words >> row.kind >> row.op;
  bool after_arrow = false;
  for (std::string word; words >> word;) {
    if (word == "->") {
      after_arrow = true;
    } else if (after_arrow) {
      row.answer.push_back(word);
    } else if (word.starts_with("dtype=")) {
      row.dtype = *dtype_from_name(word.substr(6));
    } else {
      row.raw.push_back(word);
      row.operands.push_back(operand_from(word));
    }
  }
  return row;
}

// What NumPy answered, or nullopt when it raised or the answer has a dtype that is not compiled.
std::optional<DType> expected_result(const Row& row) {
  if (row.answer[0] == "error" || row.answer[0] == "mixed") return std::nullopt;
  // Two Python ints are compared as objects because they may be of any size; those that are captured fit
  // int64.
  if (row.answer[0] == "object" && row.raw == std::vector<std::string>{"py_int", "py_int"})
    return DType::kBool;
  if (row.answer[0] != "*" && !dtype_from_name(row.answer[0]))
    return std::nullopt;  // the loop is not compiled
  return dtype_from_name(row.answer[1]);
}

void check_numpy_row(const Row& row, const std::string& line, int& refused_more) {
  OpId op = *op_from_name(row.op);
  Result<OpTypes> ours = resolve_types(op, row.operands, row.dtype);
  std::optional<DType> expected = expected_result(row);
  if (!expected) {
    EXPECT_FALSE(ours.ok()) << line;
    return;
  }
  if (!ours.ok() && info(op).rule == TypeRule::Mean && row.dtype && !is_float(*row.dtype)) {
    ++refused_more;  // mean, var and std with an integer dtype= are left to NumPy on purpose
    return;
  }
  ASSERT_TRUE(ours.ok()) << line << ": " << ours.error().message;
  EXPECT_EQ(info(ours->result).numpy_name, info(*expected).numpy_name) << line;
  if (row.answer[0] != "*" && row.answer[0] != "object") {
    EXPECT_EQ(info(ours->loop).numpy_name, row.answer[0]) << line;
  }
}

void check_python_row(const Row& row, const std::string& line) {
  Result<OpTypes> ours = resolve_python_types(*op_from_name(row.op), row.operands);
  if (row.answer[0] == "error") {
    EXPECT_FALSE(ours.ok()) << line;
    return;
  }
  ASSERT_TRUE(ours.ok()) << line;
  EXPECT_EQ(name(ours->result_class), row.answer[0]) << line;
}

TEST(NumpyTypes, every_op_resolves_every_dtype_combination_as_numpy_does) {
  std::vector<std::string> lines = run_python_script("scripts/gen_promotion_table.py");
  ASSERT_GT(lines.size(), 10000u);
  int refused_more = 0;
  for (const std::string& line : lines) {
    Row row = parse_row(line);
    if (row.kind == "numpy") {
      check_numpy_row(row, line, refused_more);
    } else if (row.kind == "python") {
      check_python_row(row, line);
    } else {
      DType from = row.operands[0].dtype, to = row.operands[1].dtype;
      EXPECT_EQ(can_cast_safely(from, to), row.answer[0] == "1") << line;
      EXPECT_EQ(can_cast_same_kind(from, to), row.answer[1] == "1") << line;
    }
  }
  // mean, var and std of 11 dtypes with 9 that are not floats; NumPy itself refuses bool in bool for var and
  // std.
  EXPECT_EQ(refused_more, 3 * 11 * 9 - 2);
}

TEST(OpTable, names_are_unique_and_found) {
  for (const OpInfo& op : all_ops()) EXPECT_EQ(op_from_name(op.name), op.id) << op.name;
  EXPECT_EQ(op_from_name("no such op"), std::nullopt);
}

TEST(DTypeTable, numbers_and_names_are_found) {
  for (const DTypeInfo& dtype : all_dtypes()) {
    EXPECT_EQ(dtype_from_typenum(dtype.numpy_typenum), dtype.id);
    EXPECT_EQ(dtype_from_name(dtype.numpy_name), dtype.id);
  }
  EXPECT_EQ(dtype_from_typenum(9), DType::kInt64) << "long long";
  EXPECT_EQ(dtype_from_name("float16"), std::nullopt);
}

}  // namespace
}  // namespace suture
