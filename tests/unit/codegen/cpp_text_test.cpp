// Identifiers from user names, and literals that read back to the same bits.
#include "codegen/cpp_text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <set>

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
  EXPECT_EQ(scope.unique("op_add"), "v_op_add");
  EXPECT_EQ(scope.unique("status"), "status_value");
}

TEST(CppText, no_name_begins_as_names_of_compilers_do) {
  NameScope scope;
  for (const char* word : {"_Float16", "_Atomic", "_Pragma", "__int128", "_LP64", "_GNU_SOURCE", "_"})
    EXPECT_EQ(scope.unique(word), std::string("v") + word);
  EXPECT_EQ(scope.unique("_LP64"), "v_LP64_1");
}

TEST(CppText, a_number_behind_a_name_makes_no_reserved_one) {
  NameScope scope;
  EXPECT_EQ(scope.unique("op"), "op");
  EXPECT_EQ(scope.unique("op"), "v_op_1");
  EXPECT_EQ(scope.unique("int"), "int_value");
  EXPECT_EQ(scope.unique("int"), "int_1");
  EXPECT_EQ(scope.unique("int_value"), "int_value_1");
}

// Identifiers in front of '(' or '<' that are no member's name.
std::vector<std::string> called_in(const std::string& text) {
  static const std::regex kCalled(R"((^|[^.\w])([A-Za-z_]\w*)[(<])");
  std::vector<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), kCalled), end; at != end; ++at)
    names.push_back((*at)[2]);
  return names;
}

// A local of the user's name in front of one of these would be called in its place.
TEST(CppText, what_kernels_call_is_no_users_name) {
  std::set<std::string> called;
  for (const auto& entry : std::filesystem::directory_iterator(SUTURE_TEST_ROOT "/src/codegen")) {
    if (entry.path().extension() != ".cpp" || !entry.path().stem().string().starts_with("emit_")) continue;
    std::ifstream file(entry.path());
    static const std::regex kLiteral(R"re("((?:[^"\\]|\\.)*)")re");
    for (std::string line; std::getline(file, line);)
      for (std::sregex_iterator at(line.begin(), line.end(), kLiteral), end; at != end; ++at)
        if (const std::string literal = (*at)[1]; !literal.starts_with("#pragma"))
          for (std::string& name : called_in(literal)) called.insert(std::move(name));
  }
  EXPECT_TRUE(called.contains("zeros_status"));
  for (const OpInfo& op : all_ops())
    for (std::string& name : called_in(std::string(op.cpp))) called.insert(std::move(name));
  for (const std::string& name : called) EXPECT_NE(NameScope().unique(name), name);
}

TEST(CppText, letters_outside_ascii_become_underscores) {
  NameScope scope;
  EXPECT_EQ(scope.unique("\xce\xb1lpha"), "v_lpha");
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
