// Identifiers from user names, and literals that read back to the same bits.
#include "codegen/cpp_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace suture {
namespace {

TEST(CppText, names_are_made_unique) {
  NameScope scope;
  EXPECT_EQ(scope.unique("x"), "x");
  EXPECT_EQ(scope.unique("x"), "x_1");
}

TEST(CppText, keywords_and_prelude_names_are_avoided) {
  NameScope scope;
  EXPECT_EQ(scope.unique("double"), "double_value");
  EXPECT_EQ(scope.unique("op_add"), "op_add_value");
  EXPECT_EQ(scope.unique("status"), "status_value");
}

TEST(CppText, letters_outside_ascii_become_underscores) {
  NameScope scope;
  EXPECT_EQ(scope.unique("\xce\xb1lpha"), "_lpha");
}

TEST(CppText, literals_have_exactly_their_type) {
  EXPECT_EQ(cpp_literal(1.0, DType::kFloat64), "1.0");
  EXPECT_EQ(cpp_literal(0.1, DType::kFloat32), "0.1f");
  EXPECT_EQ(cpp_literal(-0.0, DType::kFloat64), "(-0.0)");
  EXPECT_EQ(cpp_literal(int64_t{3}, DType::kInt8), "int8_t(3)");
  EXPECT_EQ(cpp_literal(int64_t{3}, DType::kFloat64), "3.0");
  EXPECT_EQ(cpp_literal(true, DType::kBool), "true");
  EXPECT_EQ(cpp_literal(std::numeric_limits<int64_t>::min(), DType::kInt64),
            "int64_t(-9223372036854775807 - 1)");
  EXPECT_EQ(cpp_literal(std::numeric_limits<double>::infinity(), DType::kFloat64), "__builtin_inf()");
  EXPECT_EQ(cpp_literal(1e300, DType::kFloat64), "1e+300");
}

}  // namespace
}  // namespace suture
