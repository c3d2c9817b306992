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
}

}  // namespace
}  // namespace suture
