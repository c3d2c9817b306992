// `#line` directives: every line of the text counts to the user's line that made it.
#include "toolchain/debug_text.h"

#include <gtest/gtest.h>

namespace suture {
namespace {

TEST(DebugText, every_line_is_placed_at_its_statement_and_kernels_do_not_mix) {
  const std::string text =
      "// k0\nvoid k0() {\n  for (;;) {\n    a;\n    b;\n  }\n}\n\n// k1\nvoid k1() {\n  c;\n}\n";
  EXPECT_EQ(
      with_line_directives(text, {{4, "a.py", 7}, {5, "b.py", 2}, {11, "a.py", 9}}),
      "#line 7 \"a.py\"\n// k0\n#line 7 \"a.py\"\nvoid k0() {\n#line 7 \"a.py\"\n  for (;;) {\n"
      "#line 7 \"a.py\"\n    a;\n#line 2 \"b.py\"\n    b;\n#line 2 \"b.py\"\n  }\n#line 2 \"b.py\"\n}\n\n"
      "#line 9 \"a.py\"\n// k1\n#line 9 \"a.py\"\nvoid k1() {\n#line 9 \"a.py\"\n  c;\n#line 9 "
      "\"a.py\"\n}\n");
}

TEST(DebugText, without_places_the_text_stays_as_it_is) {
  EXPECT_EQ(with_line_directives("a\n\nb\n", {}), "a\n\nb\n");
  EXPECT_EQ(with_line_directives("", {{1, "a.py", 1}}), "");
}

TEST(DebugText, file_names_cannot_leave_their_literal) {
  EXPECT_EQ(with_line_directives("a\n", {{1, "x\"\\\n#error\x7f.py", 1}}),
            "#line 1 \"x\\\"\\\\\\012#error\\177.py\"\na\n");
}

}  // namespace
}  // namespace suture
