// Calls of Python functions run inside the capture.
#include <gmock/gmock.h>

#include "capture_fixture.h"

namespace suture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Inlining = CaptureFixture;

TEST_F(Inlining, arguments_defaults_keywords_and_packs_bind_as_in_python) {
  define(R"(
def g(a, b=2, *rest, c, d=4, **more):
    out = a * b + c * d
    for r in rest:
        out = out + r
    for k, v in more.items():
        out = out - v
    return out
def f(x):
    return g(x, c=3), g(x, 5, 6, 7, c=1, d=2, e=9), g(*(x, 3), **{'c': 1, 'z': 2})
)");
  expect_same_as_python("f", {"np.arange(4.0)"});
}

TEST_F(Inlining, closures_lambdas_and_decorators_are_followed) {
  define(R"(
def twice(fn):
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs) * 2
    return wrapper
@twice
def g(x, k):
    return x + k
def make(k):
    def inner(x):
        return g(x, k)
    return inner
h = make(3.0)
def f(x):
    add = lambda v, w=1: v + w
    return add(h(x))
)");
  expect_same_as_python("f", {"np.arange(4.0)"});
}

TEST_F(Inlining, comprehensions_and_generator_expressions_run_in_place) {
  define(R"(
def f(x, n):
    parts = [x * i for i in range(n)]
    table = {i: x + i for i in range(2)}
    return sum(p for p in parts), table[1], tuple(p - 1 for p in parts if p is not x), any(i > 1 for i in range(n))
)");
  expect_same_as_python("f", {"np.arange(4.0)", "3"});
}

TEST_F(Inlining, generator_functions_are_pulled_item_by_item) {
  define(R"(
def blocks(x, n):
    for i in range(n):
        yield x[i]
    yield from [x[0] * 2]
def f(x):
    total = x[0] * 0
    for b in blocks(x, 2):
        total = total + b
    return total
)");
  expect_same_as_python("f", {"np.arange(6.0).reshape(3, 2)"});
}

TEST_F(Inlining, partials_map_and_reduce_call_their_functions) {
  define(R"(
import functools
def scale(k, x, offset=0):
    return x * k + offset
double = functools.partial(scale, 2, offset=1)
def f(x):
    rows = map(double, [x, x + 1])
    return functools.reduce(lambda a, b: a + b, rows)
)");
  expect_same_as_python("f", {"np.arange(4.0)"});
}

TEST_F(Inlining, a_break_in_a_callee_breaks_at_the_call_and_names_both) {
  define(R"(
def g(x):
    if x.sum() > 0:
        return x
    return -x
def f(x):
    y = x + 1
    return g(y) * 2
)");
  trace("f", {"np.ones(3)"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kBreak);
  EXPECT_EQ(reason(), "SB206");
  EXPECT_EQ(line_of(capture.end.at), 8);
  EXPECT_THAT(capture.end.reason->explanation(), HasSubstr("`g` breaks inside (Data-dependent branching"));
  EXPECT_THAT(ops(), ElementsAre("add"));
}

TEST_F(Inlining, recursion_is_left_to_python) {
  define("def g(x, n):\n    return x if n == 0 else g(x + 1, n - 1)\ndef f(x):\n    return g(x * 2, 3)\n");
  trace("f", {"np.ones(3)"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kBreak);
  ASSERT_TRUE(capture.end.reason->cause);
  EXPECT_EQ(capture.end.reason->cause->reason, BreakReason::kRecursion);
}

TEST_F(Inlining, marked_functions_are_called_by_python) {
  define(R"(
def g(x): return x
g._suture_disable = True
def stop(msg=''): pass
stop._suture_graph_break = True
def f(x): return g(x + 1)
def h(x):
    y = x + 1
    stop('here')
    return y
)");
  trace("f", {"np.ones(3)"});
  EXPECT_EQ(reason(), "SB204");
  trace("h", {"np.ones(3)"});
  EXPECT_EQ(reason(), "SB205");
  EXPECT_THAT(capture.end.reason->explanation(), HasSubstr(": here"));
}

TEST_F(Inlining, a_changed_callee_fails_its_code_guard) {
  define("def g(x): return x + 1\ndef f(x): return g(x)\n");
  trace("f", {"np.ones(3)"});
  tree = build_tree();
  GuardScratch scratch;
  EXPECT_EQ(tree.evaluate(input(), scratch), -1);
  testing::evaluate_python("globals().__setitem__('g', lambda x: x - 1)", names.get());
  EXPECT_GE(tree.evaluate(input(), scratch), 0);
}

}  // namespace
}  // namespace suture
