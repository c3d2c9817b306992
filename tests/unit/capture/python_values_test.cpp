// Python's own values under capture: numbers, containers, strings, instances, side effects.
#include <gmock/gmock.h>

#include "capture_fixture.h"

namespace suture {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using PythonValues = CaptureFixture;

TEST_F(PythonValues, containers_are_built_indexed_and_unpacked) {
  define(R"(
def f(x, pair, d):
    a, b = pair
    first, *rest = [x, a, b, 4]
    d2 = {**d, 'new': x}
    items = [1, 2] + [x * 2]
    items[1] = a
    items += (b,)
    t = (x, *rest)[1:3]
    return items, d2, t, len(rest), first.shape, 'new' in d2, 7 not in (1, 2)
)");
  expect_same_as_python("f", {"np.arange(3.0)", "(np.ones(3), 2)", "{'a': 1.5, 'b': np.zeros(2)}"});
}

TEST_F(PythonValues, zip_enumerate_reversed_and_sorted_iterate_as_in_python) {
  define(R"(
def f(xs, w):
    out = xs[0] * 0
    for i, (a, k) in enumerate(zip(xs, w), start=1):
        out = out + a * k * i
    for a in reversed(xs):
        out = out - a
    return out, sorted([3, 1, 2], reverse=True), min(3, 1, 2), max([1, 5]), abs(-2), sum([1, 2, 3])
)");
  expect_same_as_python("f", {"[np.ones(2), np.arange(2.0)]", "(1.5, 2.5)"});
}

TEST_F(PythonValues, strings_and_dtypes_of_constants_are_evaluated) {
  define(R"(
def f(x, mode):
    name = f'{mode!r}:{x.ndim:>3}' + mode.upper()
    k = {'half': 0.5, 'double': 2.0}[mode]
    return name, x * k, x.dtype == np.float64, isinstance(x, np.ndarray), isinstance(mode, (int, str)), type(x) is np.ndarray
)");
  expect_same_as_python("f", {"np.ones((2, 2))", "'half'"});
  EXPECT_THAT(guard_texts(), Contains(HasSubstr("mode == 'half'")));
}

TEST_F(PythonValues, lists_and_dicts_of_the_caller_are_changed_after_the_graph) {
  define(R"(
def f(x, log, d):
    log.append(x + 1)
    d['y'] = x * 2
    d.pop('old')
    log.insert(0, 'first')
    return len(log)
)");
  expect_same_as_python("f", {"np.ones(3)", "[1, 2]", "{'old': 1, 'k': 2}"});
  EXPECT_EQ(capture.side_effects.size(), 3u);  // the list; del of one key and the store of another
}

TEST_F(PythonValues, attributes_of_instances_are_read_guarded_and_written) {
  define(R"(
class Layer:
    scale = 2.0
    def __init__(self, w):
        self.w = w
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        return x @ self.w * self.scale + self.bias
    @property
    def bias(self):
        return self.w.sum()
    @staticmethod
    def helper(x):
        return x - 1
    @classmethod
    def doubled(cls, x):
        return x * cls.scale
    def __call__(self, x):
        return self.doubled(self.helper(self.forward(x)))
def f(layer, x):
    return layer(x)
)");
  expect_same_as_python("f", {"Layer(np.ones((3, 2)))", "np.arange(6.0).reshape(2, 3)"});
  EXPECT_EQ(capture.side_effects.size(), 1u);
  EXPECT_EQ(capture.side_effects[0].kind, SideEffect::Kind::kStoreAttr);
}

TEST_F(PythonValues, globals_and_closure_variables_are_written_back) {
  define(R"(
count = 1
def make():
    seen = 0
    def f(x):
        global count
        nonlocal seen
        count = count + 1
        seen = seen + 10
        return x * count + seen
    return f
f = make()
)");
  trace("f", {"np.ones(3)"});
  PyRef value = replay();
  ASSERT_TRUE(value);
  EXPECT_EQ(testing::repr(value.get()), "array([12., 12., 12.])");
  EXPECT_EQ(testing::repr(testing::item(names.get(), "count")), "2");
  EXPECT_EQ(testing::repr(eval("f.__closure__[0].cell_contents").get()), "10");
}

TEST_F(PythonValues, the_same_array_under_two_names_is_one_input) {
  define("a = np.ones(3)\ndef f(x, y):\n    return x + y\n");
  trace("f", {"a", "a"});
  EXPECT_EQ(capture.graph.placeholders.size(), 1u);
  EXPECT_THAT(guard_texts(), Contains("y is x"));
}

TEST_F(PythonValues, a_store_into_an_argument_guards_against_overlap) {
  define("def f(x, y):\n    x[0] = 5\n    return x + y\n");
  expect_same_as_python("f", {"np.ones(3)", "np.ones(3)"});
  EXPECT_THAT(guard_texts(), Contains(HasSubstr("shares_memory")));
  define("a = np.ones(4)\ndef f(x, y):\n    x[0] = 5\n    return x + y\n");
  trace("f", {"a[:3]", "a[1:]"});
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kSkip);
  EXPECT_EQ(reason(), "SB307");
}

TEST_F(PythonValues, int_arguments_are_constants_and_become_symbols_by_plan) {
  define("def f(x, n):\n    return x * n + (n + 1) * 2\n");
  expect_same_as_python("f", {"np.ones(3)", "4"});
  EXPECT_THAT(guard_texts(), Contains("n == 4"));
  CaptureOptions options;
  options.dynamic.symbolic = {{"n", "changed from 3 to 4"}};
  expect_same_as_python("f", {"np.ones(3)", "4"}, options);
  for (const std::string& text : guard_texts()) EXPECT_NE(text, "n == 4");
}

TEST_F(PythonValues, a_question_about_symbolic_sizes_becomes_a_guard) {
  define("def f(x):\n    if x.shape[0] > 10:\n        return x * 2\n    return x + x.shape[0]\n");
  CaptureOptions options;
  options.dynamic.mode = DynamicMode::kAlways;
  expect_same_as_python("f", {"np.ones(4)"}, options);
  EXPECT_THAT(guard_texts(), Contains("x.shape[0] <= 10"));
}

TEST_F(PythonValues, python_floats_are_inputs_not_constants) {
  define("def f(x, a, b):\n    return x * (a + b) - a / 2\n");
  expect_same_as_python("f", {"np.ones(3, dtype=np.float32)", "0.1", "0.2"});
  for (const std::string& text : guard_texts()) EXPECT_THAT(text, ::testing::Not(HasSubstr("0.1")));
}

TEST_F(PythonValues, what_is_never_read_is_never_guarded) {
  define("def f(x, unused):\n    return x + 1\n");
  trace("f", {"np.ones(3)", "object()"});
  for (const std::string& text : guard_texts()) EXPECT_THAT(text, ::testing::Not(HasSubstr("unused")));
}

TEST_F(PythonValues, what_is_only_handed_on_is_never_guarded) {
  define("def f(x, item, k):\n    i = item\n    return (x + 1, i, k)\n");
  expect_same_as_python("f", {"np.ones(3)", "7", "object"});
  for (const std::string& text : guard_texts()) {
    EXPECT_THAT(text, ::testing::Not(HasSubstr("item")));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("type(k)")));
  }
}

TEST_F(PythonValues, an_unused_item_of_a_dict_is_not_guarded) {
  define("def f(x, params):\n    return x * params['w']\n");
  expect_same_as_python("f", {"np.ones(3)", "{'w': 2.0, 'other': np.ones(7)}"});
  for (const std::string& text : guard_texts()) EXPECT_THAT(text, ::testing::Not(HasSubstr("other")));
}

TEST_F(PythonValues, functions_made_here_are_rebuilt_with_their_cells) {
  define("def f(x):\n    y = x * 2\n    return lambda z, k=3: z + y[0] * k\n");
  trace("f", {"np.ones(3)"});
  PyRef function = replay();
  ASSERT_TRUE(function);
  PyRef value = PyRef::steal(PyObject_CallFunction(function.get(), "i", 1));
  ASSERT_TRUE(value) << testing::take_exception();
  EXPECT_EQ(PyFloat_AsDouble(value.get()), 7.0);
}

TEST_F(PythonValues, super_and_namedtuples_are_followed) {
  define(R"(
from collections import namedtuple
Pair = namedtuple('Pair', 'a b', defaults=(2,))
class Base:
    def scale(self, x): return x * self.k
class Child(Base):
    k = 3
    def scale(self, x): return super().scale(x) + 1
def f(obj, x, pair):
    made = Pair(x * 2)
    return obj.scale(x), pair.a + pair[1], made, made.b
)");
  expect_same_as_python("f", {"Child()", "np.ones(3)", "Pair(np.ones(2), 5)"});
}

TEST_F(PythonValues, the_same_function_under_two_names_is_one_object) {
  define("def g(x): return x\nh = g\ndef f(x):\n    return x + 1 if g is h else x - 1\n");
  expect_same_as_python("f", {"np.ones(3)"});
}

TEST_F(PythonValues, none_tests_and_optional_arguments_are_decided_at_capture) {
  define(
      "def f(x, bias=None, *, axis=None):\n    y = x.sum(axis=axis)\n    return y if bias is None else y + "
      "bias\n");
  expect_same_as_python("lambda x: f(x)", {"np.ones((2, 3))"});
}

}  // namespace
}  // namespace suture
