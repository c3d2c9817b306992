// Basic indices, writes through them, masks, and iteration under capture.
#include "capture_fixture.h"

namespace suture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kX = "np.arange(24.0).reshape(2, 3, 4)";

using CaptureFixtureForIndex = CaptureFixture;

class ReadIndex : public CaptureFixture, public ::testing::WithParamInterface<const char*> {};

TEST_P(ReadIndex, selects_what_numpy_selects) {
  define(std::string("def f(x, n):\n    v = ") + GetParam() + "\n    return v * 1, v\n");
  expect_same_as_python("f", {kX, "2"});
  EXPECT_EQ(reason(), "");
}
TEST_P(ReadIndex, selects_the_same_with_symbolic_sizes_and_ints) {
  CaptureOptions options;
  options.dynamic.mode = DynamicMode::kAlways;
  define(std::string("def f(x, n):\n    v = ") + GetParam() + "\n    return v * 1, v\n");
  expect_same_as_python("f", {kX, "2"}, options);
  EXPECT_EQ(reason(), "");
}
INSTANTIATE_TEST_SUITE_P(All, ReadIndex,
                         ::testing::Values("x[0]", "x[-1]", "x[1, 2]", "x[1, 2, 3]", "x[1, -1, -4]", "x[:]",
                                           "x[:, 1:]", "x[..., 0]", "x[0, ..., 1]", "x[0, 1, 2, ...]",
                                           "x[None]", "x[:, None, 1, :, None]", "x[::-1]", "x[:, ::2]",
                                           "x[:, ::-2, 1:3]", "x[:, 2:0:-1]", "x[:, -2:]", "x[:, :-1, 1:-1]",
                                           "x[:, 5:]", "x[:, -9:9]", "x[:, 2:1]", "x[1:1]", "x[:, n]",
                                           "x[:, :n]", "x[:, n - 4:]", "x[:, :, ::n]", "x[()]", "x[...]",
                                           "x[0:1, 0:1, 0]", "x[(slice(None), 1)]", "x[:, np.int64(1)]",
                                           "x[:, :, 3:0:-2]"));

struct Write {
  const char* statement;
  std::vector<const char*> ops;
};
class WriteIndex : public CaptureFixture, public ::testing::WithParamInterface<Write> {};

TEST_P(WriteIndex, changes_what_numpy_changes) {
  define(std::string("def f(x, v):\n    ") + GetParam().statement + "\n    return x\n");
  expect_same_as_python("f", {"np.arange(12.0).reshape(3, 4)", "np.arange(4.0) * 10"});
  EXPECT_EQ(reason(), "") << GetParam().statement;
  EXPECT_THAT(ops(), ::testing::ElementsAreArray(GetParam().ops)) << GetParam().statement;
}
INSTANTIATE_TEST_SUITE_P(All, WriteIndex,
                         ::testing::Values(Write{"x[1] = v", {"slice", "store"}},
                                           Write{"x[:, 1] = 7", {"slice", "store"}},
                                           Write{"x[1, 2] = -1.5", {"slice", "store"}},
                                           Write{"x[...] = 0", {"slice", "store"}},
                                           Write{"x[1:] = x[:-1]", {"slice", "slice", "store"}},
                                           Write{"x[::-1, 1:3] = v[:2]", {"slice", "slice", "store"}},
                                           Write{"x[0] = v[None]", {"slice", "slice", "squeeze", "store"}},
                                           Write{"x[x > 5] = 0", {"gt", "where", "store"}}));

TEST_F(CaptureFixtureForIndex, a_float_constant_written_to_an_integer_array_is_truncated) {
  define("def f(x):\n    x[0] = 2.9\n    x[x > 5] = 3\n    return x\n");
  expect_same_as_python("f", {"np.arange(8)"});
  EXPECT_EQ(reason(), "");
}

TEST_F(CaptureFixtureForIndex, the_view_of_a_view_sees_writes_to_its_base) {
  define("def f(x):\n    v = x[1:]\n    x[1] = 5\n    a = v[0]\n    v[0] = 7\n    return a, x[1], v\n");
  expect_same_as_python("f", {"np.zeros(4)"});
  EXPECT_EQ(reason(), "");
}

TEST_F(CaptureFixtureForIndex, iterating_an_array_gives_its_rows) {
  define("def f(x):\n    s = 0.0\n    for row in x:\n        s = s + row.sum()\n    return s\n");
  expect_same_as_python("f", {"np.ones((3, 4))"});
  EXPECT_THAT(ops(), ElementsAre("slice", "slice", "slice", "sum", "add", "sum", "add", "sum", "add"));
}

TEST_F(CaptureFixtureForIndex, unpacking_a_vector_gives_scalars) {
  define("def f(x):\n    a, b = x\n    return a * b, b\n");
  expect_same_as_python("f", {"np.array([2.0, 3.0])"});
}

struct Refused {
  const char* statement;
  const char* code;
  const char* words;
};
class RefusedIndex : public CaptureFixture, public ::testing::WithParamInterface<Refused> {};

TEST_P(RefusedIndex, breaks_with_its_reason) {
  define(std::string("def f(x, v):\n    y = x * 2\n    ") + GetParam().statement + "\n    return y\n");
  trace("f", {"np.arange(12.0).reshape(3, 4)", "np.arange(4)"});
  EXPECT_EQ(reason(), GetParam().code) << GetParam().statement;
  ASSERT_TRUE(capture.end.reason);
  EXPECT_THAT(capture.end.reason->explanation(), HasSubstr(GetParam().words)) << GetParam().statement;
}
INSTANTIATE_TEST_SUITE_P(
    All, RefusedIndex,
    ::testing::Values(
        Refused{"y = y[y > 3]", "SB305", "mask"}, Refused{"y = y[[0, 1]]", "SB305", ""},
        Refused{"y = y[v[:2]]", "SB305", "positions"}, Refused{"y = y[v[0]]", "SB305", "known only after"},
        Refused{"y = y[3]", "SB306", "out of bounds"}, Refused{"y = y[0, 0, 0]", "SB306", "too many indices"},
        Refused{"y = y[True]", "SB305", ""}, Refused{"y = y[1.0:]", "SB305", ""},
        Refused{"y = y[::0]", "SB306", "zero"}, Refused{"y[0] = np.ones(3)", "SB306", "broadcast"},
        Refused{"y[y > 3] = v[:1]", "SB307", "mask"}, Refused{"v[0] = 1e300", "SB306", "fit"},
        Refused{"v[v > 0] = 0.5", "SB307", "integer array"}, Refused{"y[[0, 1]] = 1", "SB305", ""}));

}  // namespace
}  // namespace suture
