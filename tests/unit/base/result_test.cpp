// Result and its macros.
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/nearest_name.h"

namespace suture {
namespace {

Result<int> half(int n) {
  if (n % 2) return Error::unsupported("half", "odd");
  return n / 2;
}
Result<int> quarter(int n) {
  SUTURE_TRY(once, half(n));
  SUTURE_TRY(twice, half(once));
  return twice;
}

TEST(Result, a_value_comes_through_and_an_error_ends_the_function) {
  EXPECT_EQ(*quarter(12), 3);
  ASSERT_FALSE(quarter(6).ok());
  EXPECT_EQ(quarter(6).error().step, "half");
  EXPECT_EQ(quarter(6).error().kind, ErrorKind::kUnsupported);
}

TEST(Result, values_that_only_move_can_be_taken_out) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(7);
  std::unique_ptr<int> taken = std::move(made).value();
  EXPECT_EQ(*taken, 7);
}

TEST(NearestName, close_names_are_found_and_far_ones_are_not) {
  const std::vector<std::string> names = {"graph_breaks", "recompiles", "guards"};
  EXPECT_EQ(nearest_name("graph_break", names), "graph_breaks");
  EXPECT_EQ(nearest_name("gards", names), "guards");
  EXPECT_EQ(nearest_name("xyzzyxyzzy", names), "");
  EXPECT_EQ(nearest_name("words", names), "") << "half of the letters are others";
  EXPECT_EQ(nearest_name("", names), "");
}

TEST(NearestName, slips_of_one_letter_are_near_in_short_names_where_most_is_right) {
  const std::vector<std::string> names = {"add", "x", "nan", "for"};
  EXPECT_EQ(nearest_name("ad", names), "add");
  EXPECT_EQ(nearest_name("nna", names), "nan") << "two letters in each other's place are one slip";
  EXPECT_EQ(nearest_name("NaN", names), "nan");
  EXPECT_EQ(nearest_name("foo", names), "for");
  EXPECT_EQ(nearest_name("fog_lamp", names), "");
  EXPECT_EQ(nearest_name("y", names), "");
  EXPECT_EQ(nearest_name("O9", std::vector<std::string>{"O0", "O1"}), "") << "half of it is wrong";
}

TEST(NearestName, most_of_a_name_is_near) {
  const std::vector<std::string> names = {"passes", "schedule", "graph_breaks"};
  EXPECT_EQ(nearest_name("pass", names), "passes");
  EXPECT_EQ(nearest_name("Graph-Break", names), "graph_breaks");
  EXPECT_EQ(nearest_name("sched", names), "");
  EXPECT_EQ(nearest_name("schedu", names), "schedule");
  EXPECT_EQ(nearest_name("pa", names), "");
  EXPECT_EQ(nearest_name("graph", names), "") << "a word of many names";
}

TEST(NearestName, a_message_ends_with_the_near_name_or_with_what_else_is_to_be_said) {
  const std::vector<std::string> names = {"guards"};
  EXPECT_EQ(did_you_mean("gaurds", names), "; did you mean 'guards'?");
  EXPECT_EQ(did_you_mean("cat", names), "");
  EXPECT_EQ(did_you_mean("cat", names, "; known: guards"), "; known: guards");
}

}  // namespace
}  // namespace suture
