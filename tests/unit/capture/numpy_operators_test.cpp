// Operators of arrays, NumPy scalars and Python numbers under capture.
#include "capture_fixture.h"

namespace suture {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

struct Case {
  const char* body;  // of f(x, y)
  const char* x;
  const char* y;
  std::vector<const char*> ops;
};
std::string number_of_case(const ::testing::TestParamInfo<Case>& info) { return std::to_string(info.index); }

class NumpyOperator : public CaptureFixture, public ::testing::WithParamInterface<Case> {};

TEST_P(NumpyOperator, is_captured_and_equals_numpy) {
  const Case& test = GetParam();
  define(std::string("def f(x, y):\n    ") + test.body + "\n");
  expect_same_as_python("f", {test.x, test.y});
  EXPECT_EQ(reason(), "") << test.body;
  EXPECT_THAT(ops(), ElementsAreArray(test.ops)) << test.body;
}

constexpr const char* kFloats = "np.array([-2.5, 0.5, 3.0])";
constexpr const char* kOther = "np.array([1.0, 2.0, -3.0])";
constexpr const char* kInts = "np.array([-7, 3, 12])";
constexpr const char* kSmall = "np.array([3, 2, 5])";

INSTANTIATE_TEST_SUITE_P(
    Arrays, NumpyOperator,
    ::testing::Values(
        Case{"return x + y", kFloats, kOther, {"add"}}, Case{"return x - y", kFloats, kOther, {"sub"}},
        Case{"return x * y", kFloats, kOther, {"mul"}}, Case{"return x / y", kFloats, kOther, {"div"}},
        Case{"return x // y", kInts, kSmall, {"floordiv"}}, Case{"return x % y", kInts, kSmall, {"mod"}},
        Case{"return x & y", kInts, kSmall, {"bitand"}}, Case{"return x | y", kInts, kSmall, {"bitor"}},
        Case{"return x ^ y", kInts, kSmall, {"bitxor"}}, Case{"return x << y", kInts, kSmall, {"shl"}},
        Case{"return x >> y", kInts, kSmall, {"shr"}}, Case{"return x @ y", kFloats, kOther, {"matmul"}},
        Case{"return -x, +x, ~y", kFloats, kInts, {"neg", "pos", "invert"}},
        Case{"return x < y, x <= y, x == y, x != y, x > y, x >= y",
             kFloats,
             kOther,
             {"lt", "le", "eq", "ne", "gt", "ge"}},
        Case{"return x + 1, 1 - x, 2.5 * x", kInts, "0", {"add", "sub", "mul"}},
        Case{"return x + y", kFloats, "np.float32(2)", {"add"}},
        Case{"return x * y", "np.ones(3, 'f4')", "2.5", {"mul"}},
        Case{"return x + y", "np.ones(3, bool)", "np.ones(3, bool)", {"add"}}),
    number_of_case);

INSTANTIATE_TEST_SUITE_P(Powers, NumpyOperator,
                         ::testing::Values(Case{"return x ** 2", kFloats, "0", {"square"}},
                                           Case{"return x ** -1", kFloats, "0", {"reciprocal"}},
                                           Case{"return abs(x) ** 0.5", kFloats, "0", {"abs", "sqrt"}},
                                           Case{"return x ** 2.0", kFloats, "0", {"pow"}},
                                           Case{"return x ** 3", kInts, "0", {"pow"}},
                                           Case{"return x ** 2", kInts, "0", {"square"}},
                                           Case{"return x ** 2", "np.ones(3, bool)", "0", {"square"}},
                                           Case{"return abs(x) ** y", kFloats, kOther, {"abs", "pow"}},
                                           Case{"return abs(x) ** y", kFloats, "0.5", {"abs", "pow"}},
                                           Case{"return 2.0 ** x", kFloats, "0", {"pow"}},
                                           Case{"return x.sum() ** 2", kFloats, "0", {"sum", "pow"}}),
                         number_of_case);

INSTANTIATE_TEST_SUITE_P(
    InPlace, NumpyOperator,
    ::testing::Values(Case{"x += y\n    return x", kFloats, kOther, {"add", "store"}},
                      Case{"x *= 2\n    return x", kInts, "0", {"mul", "store"}},
                      Case{"x **= 2\n    return x", kFloats, "0", {"square", "store"}},
                      Case{"x -= y\n    return x", "np.ones(3, 'f4')", kOther, {"sub", "store"}},
                      Case{"z = x\n    z += 1\n    return z is x, x", kFloats, "0", {"add", "store"}},
                      Case{"s = x.sum()\n    s += 1\n    return s, x", kFloats, "0", {"sum", "add"}},
                      Case{"s = 1.0\n    s += x\n    return s", kFloats, "0", {"add"}},
                      Case{"x[1:] += y\n    return x", kFloats, "np.ones(2)", {"slice", "add", "store"}}),
    number_of_case);

INSTANTIATE_TEST_SUITE_P(
    PythonNumbers, NumpyOperator,
    ::testing::Values(Case{"return x * (y * 2)", kFloats, "1.5", {"mul", "mul"}},
                      Case{"return x * (y + 1 - y)", kFloats, "1.5", {"add", "sub", "mul"}},
                      Case{"return x * (y / 4)", kFloats, "1.5", {"div", "mul"}},
                      Case{"return x * (1 / y)", kFloats, "1.5", {"div", "mul"}},
                      Case{"return x * -y", kFloats, "1.5", {"neg", "mul"}}),
    number_of_case);

struct Refused {
  const char* body;
  const char* x;
  const char* y;
  const char* code;
  const char* words;
};
std::string number_of_refusal(const ::testing::TestParamInfo<Refused>& info) {
  return std::to_string(info.index);
}

class RefusedOperator : public CaptureFixture, public ::testing::WithParamInterface<Refused> {};

TEST_P(RefusedOperator, breaks_with_its_reason) {
  const Refused& test = GetParam();
  define(std::string("def f(x, y):\n    z = x * 1\n    ") + test.body + "\n");
  trace("f", {test.x, test.y});
  EXPECT_EQ(reason(), test.code) << test.body;
  ASSERT_TRUE(capture.end.reason);
  EXPECT_THAT(capture.end.reason->explanation(), HasSubstr(test.words)) << test.body;
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedOperator,
    ::testing::Values(
        Refused{"return z + y", kFloats, "np.ones(4)", "SB306", "broadcast"},
        Refused{"return z + 300", "np.ones(3, 'u1')", "0", "SB306", "out of bounds"},
        Refused{"return x - x", "np.ones(3, bool)", "0", "SB306", "bool"},
        Refused{"z += 1.5\n    return z", kInts, "0", "SB306", "same_kind"},
        Refused{"z += y\n    return z", kFloats, "np.ones((2, 3))", "SB306", ""},
        Refused{"return z ** -1", kInts, "0", "SB306", "negative integer powers"},
        Refused{"return z ** y", "np.ones((2, 3))", "np.ones((2, 1))", "SB202", "broadcast exponent"},
        Refused{"return z > y", "np.ones(3, 'u8')", "np.ones(3, 'i8')", "SB202", "uint64"},
        Refused{"return z == None", kFloats, "0", "SB202", "None"},
        Refused{"return z + [1, 2, 3]", kFloats, "0", "SB202", ""},
        Refused{"z @= y\n    return z", "np.ones((3, 3))", "np.ones((3, 3))", "SB202", "in place"},
        Refused{"return z * (y // 0.5)", kFloats, "2.0", "SB308", "//"},
        Refused{"return z * (y % 0)", kFloats, "2.0", "SB308", "%"}),
    number_of_refusal);

using NumpyReadOnly = CaptureFixture;

TEST_F(NumpyReadOnly, a_write_into_a_read_only_array_is_left_to_numpy) {
  define("def f(x):\n    y = x * 1\n    x += y\n    return x\n");
  trace("f", {"np.broadcast_to(np.ones(1), (3,))"});
  EXPECT_EQ(reason(), "SB306");
  EXPECT_THAT(capture.end.reason->explanation(), HasSubstr("read-only"));
}

}  // namespace
}  // namespace suture
