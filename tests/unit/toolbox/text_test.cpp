#include "toolbox/model/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "toolbox/model/call_chain.h"
#include "toolbox/model/event_record.h"

namespace suture::toolbox {
namespace {

SourceLine always(std::string text) {
  return [text](const std::string&, int) { return text; };
}

TEST(QuoteSource, carets_count_display_columns_not_bytes) {
  // Columns are byte offsets: "é" has two bytes and one column, "面" three bytes and two columns.
  EXPECT_EQ(quote_source(always("é = f(x)"), "p", 1, 5, 9), "     1 | é = f(x)\n       |     ^^^^");
  EXPECT_EQ(quote_source(always("面 = f(x)"), "p", 1, 6, 10), "     1 | 面 = f(x)\n       |      ^^^^");
  EXPECT_EQ(quote_source(always("\tf(x)"), "p", 1, 1, 5), "     1 | \tf(x)\n       | \t^^^^");
}

TEST(QuoteSource, expression_over_several_lines_is_marked_to_the_end_of_the_first) {
  EXPECT_EQ(quote_source(always("y = f(a,\n"), "p", 1, 4, 2), "     1 | y = f(a,\n       |     ^^^^");
}

TEST(QuoteSource, unknown_source_line_or_column_is_left_out) {
  EXPECT_EQ(quote_source(always(""), "p", 1, 0, 1), "");
  EXPECT_EQ(quote_source(nullptr, "p", 1, 0, 1), "");
  EXPECT_EQ(quote_source(always("y = 1"), "p", 0, 0, 1), "");
  EXPECT_EQ(quote_source(always("y = 1"), "p", 3, -1, -1), "     3 | y = 1");
  EXPECT_EQ(quote_source(always("y = 1"), "p", 3, 40, 50), "     3 | y = 1");
}

TEST(Grouped, large_amounts_have_commas_and_no_exponent) {
  EXPECT_EQ(grouped(2.5), "2.5");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(10000), "10,000");
  EXPECT_EQ(grouped(1234567.4), "1,234,567");
}

TEST(Duration, has_the_unit_that_fits) {
  EXPECT_EQ(duration(1500), "1.50 s");
  EXPECT_EQ(duration(12), "12.0 ms");
  EXPECT_EQ(duration(0.0038), "3.80 us");
}

TEST(ParseEvent, reads_the_envelope_and_fields_of_every_type) {
  auto event = parse_event(
      R"({"schema":1,"event":"frame_done","compile_id":"3/1_2","time":2.5,"fields":{"s":"t","i":7,"f":1.5,"b":true,"l":["a","b"],"d":{"p":2.0}}})");
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->name, "frame_done");
  EXPECT_EQ(event->compile.frame, 3);
  EXPECT_EQ(event->compile.compile, 1);
  EXPECT_EQ(event->compile.attempt, 2);
  EXPECT_EQ(event->str("s"), "t");
  EXPECT_EQ(event->integer("i"), 7);
  EXPECT_EQ(event->number("f"), 1.5);
  EXPECT_TRUE(event->flag("b"));
  EXPECT_EQ(event->list("l"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(event->dict("d").at(0).second, 2.0);
  EXPECT_EQ(event->str("missing"), "");
  EXPECT_EQ(event->integer("s", -1), -1);
}

TEST(ParseEvent, unknown_compile_ids_and_broken_lines_are_told_apart) {
  EXPECT_EQ(parse_event(R"({"event":"cache_trouble","compile_id":null,"fields":{}})")->compile.frame, -1);
  EXPECT_EQ(parse_event(R"({"event":"x","compile_id":"zzz"})")->compile.frame, -1);
  EXPECT_FALSE(parse_event("{\"event\":").ok());
  EXPECT_FALSE(parse_event("").ok());
}

TEST(CallChain, own_callers_stand_in_full_and_neighbours_in_libraries_are_one_line) {
  const std::vector<CallerModel> callers = {
      {"prog.py:12 in g", "return h(x)"},
      {"/usr/lib/python3.11/functools.py:981 in wrapper", "return func()"},
      {"/venv/lib/site-packages/lib/a.py:3 in call", ""},
      {"prog.py:20 in f", ""},
      {"<frozen runpy>:88 in _run_code", ""},
  };
  EXPECT_THAT(call_chain(callers),
              ::testing::ElementsAre(
                  "called from prog.py:12 in g:  return h(x)",
                  "2 callers in libraries (/usr/lib/python3.11/functools.py:981 in wrapper, ...)",
                  "called from prog.py:20 in f", "1 caller in libraries (<frozen runpy>:88 in _run_code)"));
  EXPECT_THAT(call_chain({}), ::testing::IsEmpty());
}

}  // namespace
}  // namespace suture::toolbox
