#include "trace/break_identity.h"

#include <gtest/gtest.h>

namespace suture {
namespace {

Event break_at(int64_t column, const char* reason, const char* effect = "") {
  return Event(EventId::kGraphBreak, {})
      .set("file", std::string("p.py"))
      .set("line", int64_t{7})
      .set("column", column)
      .set("reason_id", std::string(reason))
      .set("effect_id", std::string(effect));
}

TEST(BreakIdentity, IsPlaceAndCauseAndNotWhatTheBreakDoes) {
  EXPECT_EQ(break_identity(break_at(4, "SB203")), break_identity(break_at(4, "SB203", "SB403")));
  EXPECT_NE(break_identity(break_at(4, "SB203")), break_identity(break_at(5, "SB203")));
  EXPECT_NE(break_identity(break_at(4, "SB203")), break_identity(break_at(4, "SB101")));
}

TEST(BreakIdentity, ReadsNumbersOfEitherKindAndTakesMissingOnesForUnknown) {
  Event read(EventId::kGraphBreak, {});
  read.set("file", std::string("p.py")).set("line", 7.0).set("column", 4.0);
  read.set("reason_id", std::string("SB203"));
  EXPECT_EQ(break_identity(read), break_identity(break_at(4, "SB203")));
  EXPECT_EQ(break_identity(Event(EventId::kGraphBreak, {})), (BreakIdentity{"", 0, -1, ""}));
}

}  // namespace
}  // namespace suture
