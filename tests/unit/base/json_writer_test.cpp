// The one JSON writer: quoting, numbers, nesting.
#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/utf8.h"

namespace suture {
namespace {

TEST(JsonWriter, nests_and_separates) {
  JsonWriter json;
  json.begin_object().field("a", 1).key("b").begin_array().value(true).null().begin_object().end_object();
  json.end_array().list("c", std::vector<std::string>{"x", "y"}).end_object();
  EXPECT_EQ(json.text(), R"({"a":1,"b":[true,null,{}],"c":["x","y"]})");
}

std::string number(double value) { return JsonWriter().value(value).text(); }

TEST(JsonWriter, floats_look_like_floats_and_keep_every_bit) {
  EXPECT_EQ(number(3), "3.0");
  EXPECT_EQ(number(-0.0), "-0.0");
  EXPECT_EQ(number(0.1), "0.1");
  EXPECT_EQ(number(1e300), "1e+300");
  EXPECT_EQ(number(std::numeric_limits<double>::denorm_min()), "5e-324");
}

TEST(JsonWriter, numbers_that_json_cannot_hold_are_null) {
  EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "null");
}

TEST(JsonWriter, integers_keep_every_digit) {
  EXPECT_EQ(JsonWriter().value(std::numeric_limits<int64_t>::min()).text(), "-9223372036854775808");
  EXPECT_EQ(JsonWriter().value(std::numeric_limits<uint64_t>::max()).text(), "18446744073709551615");
}

TEST(JsonWriter, quotes_and_replaces_what_is_not_utf8) {
  EXPECT_EQ(JsonWriter().value("x\"\\\n\t\r\x01\x7f").text(), R"("x\"\\\n\t\r\u0001\u007f")");
  EXPECT_EQ(JsonWriter().value("a\xff\xe6\x97z").text(), "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\"");
}

TEST(Utf8, a_step_is_a_character_or_the_longest_broken_prefix) {
  auto step = [](std::string_view text) {
    const Utf8Step one = utf8_step(text);
    return std::pair(one.length, one.valid);
  };
  EXPECT_EQ(step("a"), std::pair(size_t{1}, true));
  EXPECT_EQ(step("\xe6\x97\xa5x"), std::pair(size_t{3}, true));
  EXPECT_EQ(step("\xe6\x97x"), std::pair(size_t{2}, false));
  EXPECT_EQ(step("\xc0\xaf"), std::pair(size_t{1}, false));          // overlong
  EXPECT_EQ(step("\xed\xa0\x80"), std::pair(size_t{1}, false));      // surrogate
  EXPECT_EQ(step("\xf4\x90\x80\x80"), std::pair(size_t{1}, false));  // above U+10FFFF
  EXPECT_EQ(utf8_sequence(""), 0u);
}

}  // namespace
}  // namespace suture
