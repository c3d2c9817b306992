#include "base/escaped_text.h"

#include <gtest/gtest.h>

namespace suture {
namespace {

TEST(EscapedText, KeepsLinesAndTabsAndMakesEverythingElseHarmless) {
  EXPECT_EQ(escaped_text("a\x1b[2Jb\tc\n"), "a\\x1b[2Jb\tc\n");
  EXPECT_EQ(escaped_text("a\rb"), "a\\x0db");
  EXPECT_EQ(escaped_text("\xc2\x9b"), "\\x9b");        // C1 control
  EXPECT_EQ(escaped_text("\xe2\x80\xae"), "\\u202e");  // right-to-left override
  EXPECT_EQ(escaped_text("\xff"), "\\xff");            // not UTF-8
  EXPECT_EQ(escaped_text("é面"), "é面");
}

TEST(EscapedLine, IsOneLineWhateverComesIn) {
  EXPECT_EQ(escaped_line("a\nb\tc\r\n"), "a\\nb\\tc\\x0d\\n");
  EXPECT_EQ(escaped_line("a\xe2\x80\xa8z\xe2\x80\xa9"), "a\\u2028z\\u2029");  // line and paragraph separator
  EXPECT_EQ(escaped_line("a\xc2\x85z"), "a\\x85z");                           // next line
  EXPECT_EQ(escaped_line(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(escaped_line("/home/é/a b.py"), "/home/é/a b.py");
}

}  // namespace
}  // namespace suture
