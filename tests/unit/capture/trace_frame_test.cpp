// How frames end: returning, breaking, leaving a loop to Python, skipping.
#include <gmock/gmock.h>

#include "capture_fixture.h"

namespace suture {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using TraceFrame = CaptureFixture;

constexpr const char* kSeed = R"(
def f(x, n):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return np.maximum(y, 0) * n
)";

TEST_F(TraceFrame, the_seed_breaks_at_its_branch_and_keeps_only_live_values) {
  define(kSeed);
  trace("f", {"np.ones((32, 32))", "3.0"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kBreak);
  EXPECT_EQ(reason(), "SB101");
  EXPECT_EQ(opcode_at_end(), Opcode::POP_JUMP_FORWARD_IF_FALSE);
  EXPECT_EQ(line_of(capture.end.at), 4);
  EXPECT_THAT(ops(), ElementsAre("sin", "add", "sum", "gt"));
  EXPECT_EQ(capture.attempts, 2);
  ASSERT_EQ(capture.end.stack.size(), 1u);
  EXPECT_EQ(capture.recipes[static_cast<size_t>(capture.end.stack[0])].kind, Recipe::Kind::kGraphOutput);
  // x is dead: only n (untouched) and y are live.
  ASSERT_EQ(capture.end.locals.size(), 2u);
  EXPECT_EQ(capture.recipes[static_cast<size_t>(capture.end.locals.at(1))].kind, Recipe::Kind::kSource);
  EXPECT_EQ(capture.recipes[static_cast<size_t>(capture.end.locals.at(2))].kind, Recipe::Kind::kGraphOutput);
}

TEST_F(TraceFrame, the_seed_guards_what_it_relied_on_and_nothing_else) {
  define(kSeed);
  trace("f", {"np.ones((32, 32))", "3.0"});
  const auto guards = guard_texts();
  EXPECT_THAT(guards, Contains("x.shape[0] == 32"));
  EXPECT_THAT(guards, Contains("x.shape[1] == 32"));
  EXPECT_THAT(guards, Contains(HasSubstr("x.dtype")));
  for (const std::string& text : guards)
    EXPECT_THAT(text, ::testing::Not(HasSubstr("type(n)"))) << "n is not read before the break";
}

TEST_F(TraceFrame, sizes_of_the_plan_become_symbols) {
  define(kSeed);
  CaptureOptions options;
  options.dynamic.symbolic = {{"x.shape[0]", "changed"}, {"x.shape[1]", "changed"}};
  trace("f", {"np.ones((48, 48))", "3.0"}, options);
  EXPECT_EQ(capture.graph.env.symbols().size(), 2u);
  EXPECT_EQ(capture.guards.bindings.size(), 2u);
  for (const std::string& text : guard_texts()) EXPECT_THAT(text, ::testing::Not(HasSubstr("== 48")));
}

TEST_F(TraceFrame, a_call_of_print_breaks_at_its_call_group) {
  define("def f(x):\n    y = x + 1\n    print('a', end='')\n    return y * 2\n");
  trace("f", {"np.ones(3)"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kBreak);
  EXPECT_EQ(reason(), "SB203");
  EXPECT_EQ(opcode_at_end(), Opcode::KW_NAMES);
  EXPECT_THAT(ops(), ElementsAre("add"));
  EXPECT_EQ(capture.end.stack.size(), 4u);  // NULL, print, 'a', ''
}

TEST_F(TraceFrame, a_break_in_a_loop_leaves_the_loop_to_python) {
  define(
      "def f(x):\n    y = x * 2\n    for i in range(3):\n        print(i)\n        y = y + 1\n    return "
      "y\n");
  trace("f", {"np.ones(3)"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kLoop);
  EXPECT_EQ(reason(), "SB403");
  EXPECT_EQ(opcode_at_end(), Opcode::FOR_ITER);
  EXPECT_THAT(ops(), ElementsAre("mul"));
  ASSERT_EQ(capture.end.stack.size(), 1u);
  EXPECT_EQ(capture.recipes[static_cast<size_t>(capture.end.stack[0])].kind, Recipe::Kind::kIterator);
  ASSERT_TRUE(capture.end.reason->cause);
  EXPECT_EQ(capture.end.reason->cause->reason, BreakReason::kPrint);
}

TEST_F(TraceFrame, a_long_loop_is_left_to_python_and_says_how_long_it_is) {
  define("def f(x):\n    y = x * 2\n    for i in range(1000):\n        y = y + i\n    return y\n");
  trace("f", {"np.ones(3)"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kLoop);
  EXPECT_EQ(reason(), "SB402");
  EXPECT_THAT(capture.end.reason->explanation(), HasSubstr("1000 iterations; at most 64"));
}

TEST_F(TraceFrame, a_break_in_a_nested_loop_keeps_the_outermost_one) {
  define(
      "def f(x):\n    for i in range(3):\n        for j in range(2):\n            print(j)\n        x = x + "
      "i\n    return x\n");
  trace("f", {"np.ones(3)"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kLoop);
  EXPECT_EQ(line_of(capture.end.at), 2);
}

TEST_F(TraceFrame, a_while_loop_on_array_values_breaks_at_its_first_test) {
  define("def f(x):\n    x = x * 2\n    while x.sum() < 10:\n        x = x + 1\n    return x\n");
  trace("f", {"np.ones(3)"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kBreak);
  EXPECT_EQ(reason(), "SB101");
}

TEST_F(TraceFrame, a_while_loop_over_constants_is_unrolled) {
  define("def f(x, n):\n    while n > 0:\n        x = x + n\n        n -= 1\n    return x\n");
  expect_same_as_python("f", {"np.ones(3)", "4"});
  EXPECT_EQ(ops().size(), 4u);
}

TEST_F(TraceFrame, arrays_inside_try_are_captured_and_need_the_frame_when_numpy_raises) {
  define("def f(x):\n    try:\n        return np.sin(x)\n    except ValueError:\n        return x\n");
  expect_same_as_python("f", {"np.ones(3)"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kReturn);
  EXPECT_TRUE(capture.needs_rerun);
  EXPECT_THAT(ops(), ElementsAre("sin"));
}

TEST_F(TraceFrame, side_effects_need_the_frame_when_numpy_raises_and_plain_work_does_not) {
  define("def f(x, log):\n    log.append(1)\n    return 1 / x\ndef g(x):\n    return 1 / x\n");
  trace("f", {"np.ones(3)", "[]"});
  EXPECT_TRUE(capture.needs_rerun);
  trace("g", {"np.ones(3)"});
  EXPECT_FALSE(capture.needs_rerun);
}

TEST_F(TraceFrame, a_try_without_array_work_is_captured_straight_through) {
  define(
      "def f(x, d):\n    try:\n        k = d['k']\n    except KeyError:\n        k = 1\n    return x * k\n");
  expect_same_as_python("f", {"np.ones(3)", "{'k': 5}"});
}

TEST_F(TraceFrame, generators_and_frames_without_arrays_are_skipped_with_a_reason) {
  define("def g(x):\n    yield x\ndef h(a):\n    return a + 1\n");
  trace("g", {"np.ones(3)"});
  EXPECT_EQ(reason(), "SB501");
  trace("h", {"3"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kSkip);
  EXPECT_EQ(reason(), "SB502");
}

TEST_F(TraceFrame, object_arrays_and_subclasses_skip_the_frame) {
  define("class Sub(np.ndarray): pass\ndef f(x):\n    return x + 1\n");
  trace("f", {"np.array([1, 'a'], dtype=object)"});
  EXPECT_EQ(reason(), "SB301");
  trace("f", {"np.ones(3).view(Sub)"});
  EXPECT_EQ(reason(), "SB302");
  trace("f", {"np.ma.masked_array([1.0, 2.0], mask=[0, 1])"});
  EXPECT_EQ(reason(), "SB302");
}

TEST_F(TraceFrame, a_try_does_not_end_the_capture) {
  define(
      "def f(x):\n    y = x * 2\n    try:\n        return np.sin(y)\n    except ValueError:\n        return "
      "x\n");
  trace("f", {"np.ones(3)"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kReturn);
  EXPECT_THAT(ops(), ElementsAre("mul", "sin"));
}

TEST_F(TraceFrame, a_with_block_breaks_where_it_is_entered) {
  define(
      "def f(x):\n    y = x * 2\n    with np.errstate(all='ignore'):\n        z = np.log(y)\n    return z\n");
  trace("f", {"np.ones(3)"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kBreak);
  EXPECT_THAT(ops(), ElementsAre("mul"));
}

TEST_F(TraceFrame, a_frame_that_looks_at_itself_is_not_split) {
  define("def f(x):\n    y = x + 1\n    print(sorted(locals()))\n    return y\n");
  trace("f", {"np.ones(3)"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kSkip);
  EXPECT_EQ(reason(), "SB510");
}

TEST_F(TraceFrame, cells_shared_with_an_inner_function_travel_as_cells) {
  define(
      "def f(x):\n    k = 1\n    def g(v): return v * k\n    y = g(x)\n    print(end='')\n    k = 2\n    "
      "return g(y)\n");
  trace("f", {"np.ones(3)"});
  ASSERT_EQ(capture.end.kind, FrameEnd::Kind::kBreak);
  int cells = 0;
  for (const Recipe& recipe : capture.recipes) cells += recipe.kind == Recipe::Kind::kCell;
  EXPECT_EQ(cells, 1);
}

TEST_F(TraceFrame, raising_is_left_to_python) {
  define("def f(x, n):\n    y = x + 1\n    if n < 0:\n        raise ValueError('negative')\n    return y\n");
  trace("f", {"np.ones(3)", "-1"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kBreak);
  EXPECT_EQ(reason(), "SB405");
  EXPECT_EQ(line_of(capture.end.at), 4);
  expect_same_as_python("f", {"np.ones(3)", "1"});
}

TEST_F(TraceFrame, shapes_that_do_not_match_break_so_that_numpy_raises) {
  define("def f(x, y):\n    return x + y\n");
  trace("f", {"np.ones(3)", "np.ones(4)"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kBreak);
  EXPECT_EQ(opcode_at_end(), Opcode::BINARY_OP);
}

TEST_F(TraceFrame, an_assert_on_sizes_is_decided_and_guarded) {
  define("def f(x):\n    assert x.shape[0] > 1\n    return x * 2\n");
  expect_same_as_python("f", {"np.ones(3)"});
}

TEST_F(TraceFrame, capture_is_deterministic) {
  define(kSeed);
  trace("f", {"np.ones((4, 4))", "3.0"});
  const std::string first = to_text(capture.graph);
  const auto guards = guard_texts();
  trace("f", {"np.ones((4, 4))", "3.0"});
  EXPECT_EQ(to_text(capture.graph), first);
  EXPECT_EQ(guard_texts(), guards);
}

}  // namespace
}  // namespace suture
