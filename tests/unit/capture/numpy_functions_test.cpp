// NumPy functions and methods under capture: each expression becomes the named graph ops and means what NumPy
// means.
#include "capture_fixture.h"

namespace suture {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr const char* kX = "np.arange(12.0).reshape(3, 4) - 5";
constexpr const char* kInts = "np.arange(12).reshape(3, 4)";

struct Case {
  const char* expression;  // of x
  std::vector<const char*> ops;
  const char* x = kX;
};

std::string name_of_case(const ::testing::TestParamInfo<Case>& info) {
  std::string name = std::to_string(info.index) + "_";
  for (const char* c = info.param.expression; *c; ++c)
    name += std::isalnum(static_cast<unsigned char>(*c)) ? *c : '_';
  return name;
}

class NumpyExpression : public CaptureFixture, public ::testing::WithParamInterface<Case> {};

TEST_P(NumpyExpression, is_captured_and_equals_numpy) {
  define(std::string("def f(x):\n    return ") + GetParam().expression + "\n");
  expect_same_as_python("f", {GetParam().x});
  EXPECT_EQ(reason(), "");
  EXPECT_THAT(ops(), ElementsAreArray(GetParam().ops));
}

INSTANTIATE_TEST_SUITE_P(
    Ufuncs, NumpyExpression,
    ::testing::Values(Case{"np.sin(x)", {"sin"}}, Case{"np.abs(x)", {"abs"}}, Case{"np.absolute(x)", {"abs"}},
                      Case{"np.add(x, 1)", {"add"}}, Case{"np.add(x, x, None)", {"add"}},
                      Case{"np.maximum(0, x)", {"maximum"}}, Case{"np.true_divide(x, 2)", {"div"}},
                      Case{"np.mod(x, 3)", {"mod"}}, Case{"np.logical_not(x)", {"logical_not"}},
                      Case{"np.isnan(x)", {"isnan"}}, Case{"np.hypot(x, 2.0)", {"hypot"}},
                      Case{"np.radians(x)", {"deg2rad"}}, Case{"np.sqrt(2) * x", {"mul"}},
                      Case{"np.power(x, 2)", {"pow"}}, Case{"np.power(x, 3)", {"pow"}, kInts},
                      Case{"np.float_power(x, 2)", {"float_power"}},
                      Case{"np.add(x, 1, where=True, casting='same_kind')", {"add"}}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    SelectionAndRounding, NumpyExpression,
    ::testing::Values(Case{"np.where(x > 0, x, 0)", {"gt", "where"}}, Case{"np.where(x, 1.0, x)", {"where"}},
                      Case{"np.clip(x, -1, 1)", {"clip"}}, Case{"x.clip(0)", {"clip"}},
                      Case{"np.clip(x)", {"clip"}}, Case{"np.clip(x, None, 2.5)", {"clip"}},
                      Case{"np.clip(x, a_min=0, a_max=3)", {"clip"}}, Case{"np.clip(x, min=0)", {"clip"}},
                      Case{"x.clip(min=-2, max=2)", {"clip"}},
                      Case{"np.clip(x, -1, 300)", {"clip"}, "np.arange(5, dtype='u1')"},
                      Case{"np.round(x * 0.37, 1)", {"mul", "round"}}, Case{"x.round()", {"round"}},
                      Case{"np.around(x, decimals=-1)", {"round"}, kInts}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    Reductions, NumpyExpression,
    ::testing::Values(Case{"x.sum()", {"sum"}}, Case{"np.sum(x, axis=0)", {"sum"}},
                      Case{"np.sum(x, -1, keepdims=True)", {"sum"}}, Case{"x.sum((0, 1))", {"sum"}},
                      Case{"x.sum(axis=1, dtype=np.float32)", {"sum"}}, Case{"x.prod(dtype='f4')", {"prod"}},
                      Case{"x.mean(axis=(1,))", {"mean"}}, Case{"np.mean(x)", {"mean"}, kInts},
                      Case{"x.var(ddof=1)", {"var"}}, Case{"np.std(x, 0, ddof=1.5)", {"std"}},
                      Case{"np.var(x, correction=1)", {"var"}}, Case{"np.amax(x, 1)", {"max"}},
                      Case{"x.min(initial=None) if False else x.min()", {"min"}},
                      Case{"np.any(x > 3)", {"gt", "any"}}, Case{"x.all(axis=0)", {"all"}},
                      Case{"x.argmax()", {"argmax"}}, Case{"np.argmin(x, axis=1, keepdims=True)", {"argmin"}},
                      Case{"np.float64(x.sum()).sum()", {"sum", "sum"}}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    Shapes, NumpyExpression,
    ::testing::Values(Case{"x.reshape(4, 3) + 1", {"reshape", "add"}},
                      Case{"x.reshape((2, -1)) + 1", {"reshape", "add"}},
                      Case{"np.reshape(x, -1) + 1", {"reshape", "add"}},
                      Case{"x.T.reshape(-1) + 1", {"transpose", "copy", "reshape", "add"}},
                      Case{"x.ravel() + 1", {"reshape", "add"}},
                      Case{"x.T.ravel() + 1", {"transpose", "empty", "reshape", "store", "add"}},
                      Case{"x.flatten()", {"empty", "reshape", "store"}},
                      Case{"x.transpose(1, 0) + 1", {"transpose", "add"}},
                      Case{"x.transpose() + 1", {"transpose", "add"}},
                      Case{"np.transpose(x, (1, 0)) + 1", {"transpose", "add"}},
                      Case{"x.swapaxes(0, -1) + 1", {"transpose", "add"}},
                      Case{"np.moveaxis(x, 0, -1) + 1", {"transpose", "add"}},
                      Case{"np.moveaxis(x, (0, 2), (1, 0)) + 1", {"transpose", "add"}, "np.ones((2, 3, 4))"},
                      Case{"np.expand_dims(x, (0, -1)) + 1", {"expand_dims", "add"}},
                      Case{"x[:, None].squeeze() + 1", {"slice", "squeeze", "add"}},
                      Case{"(x * 1, x.squeeze() is x)", {"mul"}},
                      Case{"np.squeeze(x, 0) + 1", {"squeeze", "add"}, "np.ones((1, 3))"},
                      Case{"np.broadcast_to(x, (2, 3, 4)) + 1", {"broadcast_to", "add"}},
                      Case{"(x * 1, np.shape(x), np.ndim(x), np.size(x), np.size(x, 1))", {"mul"}},
                      Case{"x * (x.shape[0] + x.ndim + x.size + x.itemsize + x.nbytes + len(x))", {"mul"}},
                      Case{"x.astype(x.dtype) if x.dtype == np.float64 else x * 2", {"copy"}}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    Creation, NumpyExpression,
    ::testing::Values(
        Case{"x + np.zeros((3, 4))", {"full", "add"}}, Case{"x + np.ones(4, dtype=int)", {"full", "add"}},
        Case{"x + np.full(x.shape, 2)", {"full", "add"}}, Case{"np.full(3, True)", {"full"}},
        Case{"np.zeros_like(x)", {"full"}}, Case{"np.ones_like(x.T, dtype='i4')", {"transpose", "full"}},
        Case{"np.full_like(x, 7.9)", {"full"}, kInts}, Case{"np.empty(0)", {"empty"}},
        Case{"np.empty_like(x).shape", {"empty"}}, Case{"x + np.arange(4)", {"arange", "add"}},
        Case{"np.arange(10, 0, -3)", {"arange"}}, Case{"np.arange(0, 1, 0.25)", {"arange"}},
        Case{"np.arange(3.0)", {"arange"}}, Case{"np.arange(5, dtype='f4')", {"arange"}},
        Case{"np.arange(5, 2)", {"arange"}}, Case{"np.linspace(0, 1, 5)", {"linspace", "reshape"}},
        Case{"np.linspace(1, 3, num=4, endpoint=False)", {"linspace", "reshape"}},
        Case{"np.zeros(3, order='F')", {"full"}}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(
    Conversions, NumpyExpression,
    ::testing::Values(
        Case{"x.astype(np.float32)", {"cast"}}, Case{"x.astype('i4')", {"cast"}},
        Case{"x.astype(int, copy=False)", {"cast"}},
        Case{"(x * 1, x.astype(float, copy=False) is x)", {"mul"}}, Case{"x.astype(bool)", {"cast"}},
        Case{"x.copy()", {"copy"}}, Case{"np.copy(x.T)", {"transpose", "copy"}},
        Case{"np.array(x)", {"copy"}}, Case{"np.array(x, dtype='f4')", {"cast"}},
        Case{"(x * 1, np.asarray(x) is x)", {"mul"}}, Case{"(x * 1, np.asarray(x, float) is x)", {"mul"}},
        Case{"(x * 1, np.ascontiguousarray(x) is x)", {"mul"}},
        Case{"np.ascontiguousarray(x.T)", {"transpose", "copy"}},
        Case{"np.float32(x.sum())", {"sum", "cast"}}, Case{"x * np.float32(3)", {"mul"}},
        Case{"np.int64(x.sum())", {"sum", "cast"}}, Case{"np.asarray(x.sum())", {"sum", "copy"}},
        Case{"x + np.finfo(x.dtype).eps", {"add"}}, Case{"x.sum().astype('f4')", {"sum", "cast"}}),
    name_of_case);

INSTANTIATE_TEST_SUITE_P(Contractions, NumpyExpression,
                         ::testing::Values(Case{"x @ x.T", {"transpose", "matmul"}},
                                           Case{"np.matmul(x, np.ones(4))", {"full", "matmul"}},
                                           Case{"x.dot(x.T)", {"transpose", "dot"}},
                                           Case{"np.dot(x[0], x[1])", {"slice", "slice", "dot"}}),
                         name_of_case);

// --- what NumPy runs itself --------------------------------------------------------------------------------
struct Refused {
  const char* expression;
  const char* code;
  const char* words;  // part of the explanation
};
std::string name_of_refusal(const ::testing::TestParamInfo<Refused>& info) {
  return std::to_string(info.index);
}

class RefusedExpression : public CaptureFixture, public ::testing::WithParamInterface<Refused> {};

TEST_P(RefusedExpression, breaks_with_its_reason) {
  define(std::string("def f(x):\n    y = x * 2\n    return ") + GetParam().expression + "\n");
  trace("f", {kX});
  EXPECT_EQ(reason(), GetParam().code) << GetParam().expression;
  ASSERT_TRUE(capture.end.reason);
  EXPECT_THAT(capture.end.reason->explanation(), HasSubstr(GetParam().words)) << GetParam().expression;
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedExpression,
    ::testing::Values(
        Refused{"np.add(y, 1, dtype='f4')", "SB202", "dtype"},
        Refused{"np.add(y, 1, where=y > 0)", "SB202", "where"},
        Refused{"np.concatenate([y, y])", "SB202", "np.concatenate"},
        Refused{"np.sort(y)", "SB202", "np.sort"}, Refused{"np.where(y)", "SB102", "np.where"},
        Refused{"np.sum(y, axis=5)", "SB306", "axis 5"},
        Refused{"np.sum(y, axis=(0, 0))", "SB306", "repeated"},
        Refused{"y.sum(initial=1)", "SB202", "initial"}, Refused{"y.reshape(5)", "SB306", "reshape"},
        Refused{"y.reshape(4, 3, order='F')", "SB202", "order"},
        Refused{"np.add(y, np.ones(5))", "SB306", "broadcast"}, Refused{"y.astype('f2')", "SB301", "f2"},
        Refused{"y.astype(complex)", "SB301", "complex"}, Refused{"y.tolist()", "SB103", "tolist"},
        Refused{"y.sum().item()", "SB103", "item"}, Refused{"np.sin([1.0, 2.0]) + y", "SB303", ""},
        Refused{"np.max(y[0:0])", "SB306", "zero-size"}, Refused{"np.arange(y.sum())", "SB202", ""},
        Refused{"np.subtract(y > 0, y > 1)", "SB306", "bool"},
        Refused{"np.sqrt((y > 0))", "SB202", "float16"}, Refused{"y.flat", "SB304", "flat"}),
    name_of_refusal);

// --- out= and writes ---------------------------------------------------------------------------------------
using NumpyWrites = CaptureFixture;

TEST_F(NumpyWrites, out_is_a_store_and_the_result_is_out_itself) {
  define("def f(x, o):\n    r = np.add(x, 1, out=o)\n    return r is o, o\n");
  expect_same_as_python("f", {"np.ones(3)", "np.zeros(3)"});
  EXPECT_THAT(ops(), ElementsAre("add", "store"));
}

TEST_F(NumpyWrites, out_of_a_reduction_must_have_the_natural_dtype) {
  define("def f(x, o):\n    y = x * 2\n    np.sum(y, axis=0, out=o)\n    return o\n");
  expect_same_as_python("f", {"np.ones((2, 3))", "np.zeros(3)"});
  EXPECT_THAT(ops(), ElementsAre("mul", "sum", "store"));
  trace("f", {"np.ones((2, 3))", "np.zeros(3, 'f4')"});
  EXPECT_EQ(reason(), "SB202");
}

TEST_F(NumpyWrites, out_that_cannot_take_the_result_is_left_to_numpy) {
  define("def f(x, o):\n    y = x * 2\n    return np.add(y, 1, out=o)\n");
  trace("f", {"np.ones(3)", "np.zeros(3, int)"});
  EXPECT_EQ(reason(), "SB306");
  EXPECT_THAT(capture.end.reason->explanation(), HasSubstr("same_kind"));
}

TEST_F(NumpyWrites, fill_is_a_store_of_a_scalar) {
  define("def f(x):\n    y = np.empty(3, dtype=int)\n    y.fill(2.9)\n    return y + x\n");
  expect_same_as_python("f", {"np.ones(3)"});
  EXPECT_THAT(ops(), ElementsAre("empty", "store", "add"));
}

TEST_F(NumpyWrites, writing_an_argument_guards_that_it_stays_writeable) {
  define("def f(x):\n    x += 1\n    return x\n");
  expect_same_as_python("f", {"np.ones(3)"});
  EXPECT_THAT(guard_texts(), ::testing::Contains(HasSubstr("writeable")));
}

}  // namespace
}  // namespace suture
