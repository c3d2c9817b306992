// Texts of breaks.
#include "capture/graph_break.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace suture {
namespace {

Break data_dependent() {
  Break b;
  b.reason = BreakReason::kDataDependentBranch;
  b.args = {"if y.sum() > 0"};
  b.where = {"seed.py", "f", 3, 3, 7, 18};
  return b;
}

TEST(BreakText, the_message_has_place_reason_explanation_and_one_line_per_hint) {
  const std::string text = data_dependent().message();
  EXPECT_THAT(text,
              ::testing::StartsWith(
                  "Graph break in user code at seed.py:3\nGraph Break Reason: Data-dependent branching\n"
                  "Explanation: Which way `if y.sum() > 0` goes depends on array values"));
  EXPECT_THAT(text, ::testing::HasSubstr("\nHint: Use `np.where(condition, a, b)`"));
  EXPECT_EQ(data_dependent().hints().size(), 3u);
}

TEST(BreakText, what_a_break_does_to_the_loop_around_it_is_its_effect) {
  Break outer = data_dependent();
  outer.reason = BreakReason::kBreakInLoop;
  outer.cause = std::make_shared<Break>(data_dependent());
  EXPECT_EQ(&outer.first_here(), outer.cause.get());
  EXPECT_THAT(outer.message(), ::testing::HasSubstr("Graph Break Reason: Data-dependent branching\n"));
  EXPECT_THAT(outer.message(), ::testing::HasSubstr("\nEffect: if y.sum() > 0 inside this loop"));
  EXPECT_THAT(outer.message(), ::testing::HasSubstr("\nHint: Move the statement out of the loop."));
}

TEST(BreakText, a_break_elsewhere_is_named_as_the_cause) {
  Break outer = data_dependent();
  outer.reason = BreakReason::kCalleeBreaks;
  outer.cause = std::make_shared<Break>(data_dependent());
  outer.where.line = outer.where.end_line = 9;
  EXPECT_EQ(&outer.first_here(), &outer);
  EXPECT_THAT(outer.message(), ::testing::HasSubstr("because of Data-dependent branching at seed.py:3"));
}

TEST(BreakText, a_missing_argument_leaves_no_braces) {
  Break b = data_dependent();
  b.args.clear();
  EXPECT_THAT(b.explanation(), ::testing::Not(::testing::HasSubstr("{0}")));
}

TEST(BreakTable, codes_are_unique_and_every_reason_has_a_hint) {
  std::set<std::string_view> codes;
  for (const BreakReasonInfo& reason : all_break_reasons()) {
    EXPECT_TRUE(codes.insert(reason.code).second) << reason.code;
    EXPECT_FALSE(reason.hint.empty()) << reason.code;
    EXPECT_FALSE(reason.title.empty()) << reason.code;
  }
}

}  // namespace
}  // namespace suture
