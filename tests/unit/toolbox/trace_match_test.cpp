#include "toolbox/logs/trace_match.h"

#include <gtest/gtest.h>

namespace suture::toolbox {
namespace {

TEST(TraceMatch, PairsFilesThatOnlyOneRunHasByWhatTheyEndIn) {
  EXPECT_EQ(paired_files({"/a/x/u.py", "/a/y/u.py", "/a/same.py"}, {"/b/y/u.py", "/b/x/u.py", "/a/same.py"}),
            (FileNames{{"/b/x/u.py", "/a/x/u.py"}, {"/b/y/u.py", "/a/y/u.py"}}));
  EXPECT_EQ(paired_files({"prog.py"}, {"/b/prog.py"}), (FileNames{{"/b/prog.py", "prog.py"}}));
  EXPECT_EQ(paired_files({"/a/one.py"}, {"/a/two.py"}), FileNames());
  // One partner each.
  EXPECT_EQ(paired_files({"/a/u.py"}, {"/b/u.py", "/c/u.py"}).size(), 1u);
}

TEST(TraceMatch, LeavesLinesAddressesAndMovedFilesOutOfSentences) {
  const FileNames names{{"/b/p.py", "/a/p.py"}};
  EXPECT_EQ(without_places(names, "`f` at /b/p.py:12 is <object at 0x7f01a2b3c4d5>"),
            without_places({}, "`f` at /a/p.py:7 is <object at 0x7f0000000010>"));
  EXPECT_EQ(without_places({}, "expected 32, actual 48: 0x10"), "expected 32, actual 48: 0x10");
}

TEST(TraceMatch, ComparesGraphsWithoutNameAndPlaces) {
  const auto graph = [](const char* name, const char* place, const char* target) {
    return std::string("graph \"") + name + "\" captured\n  fact s0 <= 64" + place +
           "\n  sin = sin(x) : f64[3] ; \"" + target + "\"" + place + "\n  return sin\n";
  };
  const char* here = " @ \"/a/p.py\" \"f\" 3 3 4 10";
  const char* there = " @ \"/b @ \\\"x\\\".py\" \"f\" 5 6 0 2";
  EXPECT_EQ(graph_contents(graph("f", here, "np.sin")), graph_contents(graph("g", there, "np.sin")));
  EXPECT_NE(graph_contents(graph("f", here, "np.sin")), graph_contents(graph("f", here, "np.cos")));
  // What looks like a place inside a string is none.
  EXPECT_NE(graph_contents(graph("f", here, "x @ \\\"a")), graph_contents(graph("f", here, "x @ \\\"b")));
}

TEST(TraceMatch, ComparesKernelsWithoutComments) {
  EXPECT_EQ(kernel_contents("// p.py:3\nint a = 1;   // p.py:3  np.sin\n\n"), "int a = 1;\n");
  EXPECT_NE(kernel_contents("int a = 1; // x"), kernel_contents("int a = 2; // x"));
}

TEST(TraceMatch, ContinuationsHaveNoOffset) {
  EXPECT_EQ(function_key("__resume_at_88_2"), "__resume_at");
  EXPECT_EQ(function_key("__iteration_at_32_2"), "__iteration_at");
  EXPECT_EQ(function_key("Model.step"), "Model.step");
}

}  // namespace
}  // namespace suture::toolbox
