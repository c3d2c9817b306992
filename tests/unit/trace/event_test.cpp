// Events: names, ids, and delivery to listeners.
#include "trace/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace suture {
namespace {

constexpr uint64_t bit(EventId id) { return uint64_t{1} << static_cast<int>(id); }

TEST(EventInfo, EveryEventHasAUniqueNameAndADoc) {
  std::set<std::string_view> names;
  for (const EventInfo& e : all_events()) {
    EXPECT_TRUE(names.insert(e.name).second) << e.name;
    EXPECT_FALSE(e.doc.empty()) << e.name;
    EXPECT_EQ(&info(e.id), &info(info(e.id).id));
    EXPECT_EQ(info(e.id).name, e.name);
  }
  EXPECT_EQ(info(EventId::kGraphBreak).name, "graph_break");
}

TEST(EventInfo, FieldTypesAreOnesTheJsonWriterKnows) {
  const std::set<std::string_view> known = {"str", "text", "int", "float", "bool", "list", "dict"};
  for (const EventFieldInfo& f : all_event_fields())
    EXPECT_TRUE(known.contains(f.type)) << f.name << ": " << f.type;
}

TEST(CompileId, PrintsFrameCompileAndOnlyALaterAttempt) {
  EXPECT_EQ((CompileId{0, 1, 0}.str()), "0/1");
  EXPECT_EQ((CompileId{0, 1, 2}.str()), "0/1_2");
  EXPECT_EQ(CompileId{}.str(), "-");
}

TEST(Event, FindReturnsTheFieldOrNull) {
  Event e(EventId::kGraphBreak, {});
  e.set("line", int64_t{21});
  ASSERT_NE(e.find("line"), nullptr);
  EXPECT_EQ(std::get<int64_t>(*e.find("line")), 21);
  EXPECT_EQ(e.find("file"), nullptr);
}

TEST(Trace, WantsOnlyWhatSomebodySubscribedTo) {
  Trace trace;
  EXPECT_FALSE(trace.wants(EventId::kRecompile));
  int token = trace.subscribe(bit(EventId::kRecompile), [](const Event&) {});
  EXPECT_TRUE(trace.wants(EventId::kRecompile));
  EXPECT_FALSE(trace.wants(EventId::kGraphBreak));
  trace.unsubscribe(token);
  EXPECT_FALSE(trace.wants(EventId::kRecompile));
}

TEST(Trace, DeliversInSubscriptionOrderWithATimeStamp) {
  Trace trace;
  std::vector<std::string> seen;
  trace.subscribe(~uint64_t{0}, [&](const Event& e) {
    seen.push_back("a" + e.compile.str());
    EXPECT_GT(e.time, 1e9);
  });
  trace.subscribe(bit(EventId::kDynamic), [&](const Event&) { seen.push_back("b"); });
  trace.emit(Event(EventId::kDynamic, {3, 0, 0}));
  trace.emit(Event(EventId::kReplay, {3, 1, 0}));
  EXPECT_THAT(seen, testing::ElementsAre("a3/0", "b", "a3/1"));
}

TEST(Trace, AThrowingListenerNeitherReachesTheCompilerNorSilencesTheOthers) {
  Trace trace;
  int seen = 0;
  trace.subscribe(~uint64_t{0}, [](const Event&) { throw std::runtime_error("disk full"); });
  trace.subscribe(~uint64_t{0}, [](const Event&) { throw 7; });
  trace.subscribe(~uint64_t{0}, [&](const Event&) { ++seen; });
  EXPECT_NO_THROW(trace.emit(Event(EventId::kReplay, {})));
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(trace.failures(), 2);
}

TEST(Trace, AListenerMayUnsubscribeItselfAndOthersDuringDelivery) {
  Trace trace;
  int first = 0, second = 0, token_first = 0, token_second = 0;
  token_first = trace.subscribe(~uint64_t{0}, [&](const Event&) {
    ++first;
    trace.unsubscribe(token_first);
    trace.unsubscribe(token_second);
  });
  token_second = trace.subscribe(~uint64_t{0}, [&](const Event&) { ++second; });
  trace.emit(Event(EventId::kReplay, {}));
  trace.emit(Event(EventId::kReplay, {}));
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
}

}  // namespace
}  // namespace suture
