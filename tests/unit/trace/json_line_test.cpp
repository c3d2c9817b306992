// JSON lines: exact text for every kind of value, and for values JSON has no word for.
#include <gtest/gtest.h>

#include <limits>

#include "trace/event.h"

namespace suture {
namespace {

std::string line_with(EventValue value) {
  Event e(EventId::kReplay, {0, 1, 2});
  e.set("v", std::move(value));
  return to_json_line(e);
}
std::string expected(const std::string& value) {
  return R"({"schema":1,"event":"replay","compile_id":"0/1_2","time":0.000000,"fields":{"v":)" + value + "}}";
}

TEST(JsonLine, WritesEveryKindOfValue) {
  EXPECT_EQ(line_with(true), expected("true"));
  EXPECT_EQ(line_with(int64_t{-7}), expected("-7"));
  EXPECT_EQ(line_with(std::string("x")), expected(R"("x")"));
  EXPECT_EQ(line_with(std::vector<std::string>{"a", "b"}), expected(R"(["a","b"])"));
  EXPECT_EQ(line_with(std::vector<std::string>{}), expected("[]"));
  EXPECT_EQ(line_with(std::vector<std::pair<std::string, double>>{{"capture", 1.5}, {"lower", 2}}),
            expected(R"({"capture":1.5,"lower":2.0})"));
}

TEST(JsonLine, FloatsStayFloatsAndKeepEveryBit) {
  EXPECT_EQ(line_with(3.0), expected("3.0"));
  EXPECT_EQ(line_with(0.1), expected("0.1"));
  EXPECT_EQ(line_with(1e300), expected("1e+300"));
  EXPECT_EQ(line_with(-0.0), expected("-0.0"));
}

TEST(JsonLine, NanAndInfinitiesBecomeStrings) {
  EXPECT_EQ(line_with(std::numeric_limits<double>::quiet_NaN()), expected(R"("NaN")"));
  EXPECT_EQ(line_with(std::numeric_limits<double>::infinity()), expected(R"("Infinity")"));
  EXPECT_EQ(line_with(-std::numeric_limits<double>::infinity()), expected(R"("-Infinity")"));
}

TEST(JsonLine, EscapesQuotesBackslashesAndControlCharacters) {
  EXPECT_EQ(line_with(std::string("a\"b\\c\n\t\r\x01\x7f")), expected(R"("a\"b\\c\n\t\r\u0001\u007f")"));
  EXPECT_EQ(line_with(std::string("a\0b", 3)), expected(R"("a\u0000b")"));
}

TEST(JsonLine, KeepsValidUtf8) {
  const std::string text = "sch\xC3\xB6n \xE6\x97\xA5 \xF0\x9F\x90\x8D";
  EXPECT_EQ(line_with(text), expected("\"" + text + "\""));
}

TEST(JsonLine, ReplacesEachBrokenUtf8SequenceOnce) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(line_with(std::string("a\xFFz")), expected("\"a" + mark + "z\""));
  EXPECT_EQ(line_with(std::string("a\xE6\x97z")), expected("\"a" + mark + "z\""));     // cut short
  EXPECT_EQ(line_with(std::string("\xC0\xAF")), expected("\"" + mark + mark + "\""));  // overlong
  EXPECT_EQ(line_with(std::string("\xF4\x90\x80\x80")), expected("\"" + mark + mark + mark + mark + "\""));
  EXPECT_EQ(line_with(std::string("end\xF0\x9F")), expected("\"end" + mark + "\""));
}

TEST(JsonLine, ReplacesAnEncodedSurrogateByByte) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(line_with(std::string("\xED\xA0\x80")), expected("\"" + mark + mark + mark + "\""));
}

TEST(JsonLine, AnEventOutsideEveryFrameHasNoCompileId) {
  EXPECT_EQ(to_json_line(Event(EventId::kCacheTrouble, {})),
            R"({"schema":1,"event":"cache_trouble","compile_id":null,"time":0.000000,"fields":{}})");
}

}  // namespace
}  // namespace suture
