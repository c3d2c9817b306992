#include "passes/decompose.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "pass_testing.h"
#include "passes/pass_runner.h"

namespace suture {
namespace {

using namespace test;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// --- golden forms ------------------------------------------------------------------------------------------
TEST(Decompose, DividesTheSumOfFloat32InFloat64BecauseTheCountIsAStrongScalar) {
  expect_rewrites(decompose, captured(R"(
    x = placeholder() : f32[4, 8]
    m = mean(x) {axes=[1]} : f32[4]
    inputs x
    return m)"),
                  R"(
    x = placeholder() : f32[4, 8]
    sum = sum(x) {axes=[1]} : f32[4]
    constant = constant() {value=8.0} : f64 scalar
    div = div(sum, constant) : f64[4]
    m = cast(div) {dtype=f32} : f32[4]
    return m)");
}

TEST(Decompose, SumsIntegersAsFloat64ForTheirMean) {
  expect_rewrites(decompose, captured(R"(
    x = placeholder() : i32[4]
    m = mean(x) {axes=[0], all_axes=true} : f64 scalar
    inputs x
    return m)"),
                  R"(
    x = placeholder() : i32[4]
    sum = sum(x) {axes=[0], all_axes=true, dtype=f64} : f64 scalar
    constant = constant() {value=4.0} : f64 scalar
    m = div(sum, constant) : f64 scalar
    return m)");
}

TEST(Decompose, CountsSymbolicSizesAtRunTime) {
  expect_rewrites(decompose, captured(R"(
    symbol s0 "x.shape[0]" hint 32 range 2..max size
    x = placeholder() : f64[s0]
    m = mean(x) {axes=[0]} : f64 scalar
    inputs x
    return m)"),
                  R"(
    x = placeholder() : f64[s0]
    sum = sum(x) {axes=[0]} : f64 scalar
    symbol = symbol() {sym=s0} : py_int
    cast = cast(symbol) {dtype=f64} : f64 scalar
    m = div(sum, cast) : f64 scalar
    return m)");
}

TEST(Decompose, ComputesTheVarianceInTwoPasses) {
  expect_rewrites(decompose, captured(R"(
    x = placeholder() : f64[4]
    v = var(x) {axes=[0], ddof=1} : f64 scalar
    inputs x
    return v)"),
                  R"(
    x = placeholder() : f64[4]
    sum = sum(x) {axes=[0], keepdims=true} : f64[1]
    constant = constant() {value=4.0} : f64 scalar
    div = div(sum, constant) : f64[1]
    sub = sub(x, div) : f64[4]
    square = square(sub) : f64[4]
    sum_1 = sum(square) {axes=[0]} : f64 scalar
    constant_1 = constant() {value=3.0} : f64 scalar
    v = div(sum_1, constant_1) : f64 scalar
    return v)");
}

TEST(Decompose, UsesMinimumAndMaximumForIntegerClip) {
  expect_rewrites(decompose, captured(R"(
    x = placeholder() : i32[4]
    low = constant() {value=0} : py_int
    high = constant() {value=9} : py_int
    r = clip(x, low, high) : i32[4]
    inputs x
    return r)"),
                  R"(
    x = placeholder() : i32[4]
    low = constant() {value=0} : py_int
    high = constant() {value=9} : py_int
    cast = cast(low) {dtype=i32} : i32 scalar
    cast_1 = cast(high) {dtype=i32} : i32 scalar
    maximum = maximum(x, cast) : i32[4]
    r = minimum(maximum, cast_1) : i32[4]
    return r)");
}

TEST(Decompose, CallsMaximumWhenClipHasNoUpperBound) {
  expect_rewrites(decompose, captured(R"(
    x = placeholder() : f64[4]
    low = constant() {value=0.0} : py_float
    r = clip(x, low) {has_max=false} : f64[4]
    inputs x
    return r)"),
                  R"(
    x = placeholder() : f64[4]
    low = constant() {value=0.0} : py_float
    r = maximum(x, low) : f64[4]
    return r)");
}

TEST(Decompose, TakesTheSquareRootForAPowerOfOneHalf) {
  expect_rewrites(decompose, captured(R"(
    x = placeholder() : f64[4]
    half = constant() {value=0.5} : f64 scalar
    r = pow(x, half) : f64[4] ; "**"
    inputs x
    return r)"),
                  R"(
    x = placeholder() : f64[4]
    half = constant() {value=0.5} : f64 scalar
    r = sqrt(x) : f64[4]
    return r)");
}

TEST(Decompose, LeavesThePowerOfTwoScalarsToPow) {
  expect_unchanged(decompose, captured(R"(
    x = placeholder() : f64 scalar
    half = constant() {value=0.5} : py_float
    r = pow(x, half) : f64 scalar ; "**"
    inputs x
    return r)"));
}

TEST(Decompose, LeavesAPowerWithAnArrayOfExponentsToPow) {
  expect_unchanged(decompose, captured(R"(
    x = placeholder() : f64[4]
    p = placeholder() : f64[4]
    r = pow(x, p) : f64[4]
    inputs x, p
    return r)"));
}

TEST(Decompose, ReportsADivisionOfPythonFloatsByZeroThroughAnIntegerDivision) {
  expect_rewrites(decompose, captured(R"(
    a = placeholder() : py_float
    b = placeholder() : py_float
    r = div(a, b) : py_float ; "/"
    inputs a, b
    return r)"),
                  R"(
    a = placeholder() : py_float
    b = placeholder() : py_float
    constant = constant() {value=0.0} : f64 scalar
    ne = ne(b, constant) : bool scalar
    cast = cast(ne) {dtype=i64} : i64 scalar
    constant_1 = constant() {value=1} : i64 scalar
    floordiv = floordiv(constant_1, cast) : i64 scalar
    r = div(a, b) : py_float
    return r)");
}

TEST(Decompose, TrustsAConstantDivisor) {
  expect_unchanged(decompose, captured(R"(
    a = placeholder() : py_float
    b = constant() {value=4} : py_int
    r = div(a, b) : py_float ; "/"
    inputs a
    return r)"));
}

// The C library's pow, which CPython calls, rounds x ** 2 otherwise than x * x now and then.
TEST(Decompose, LeavesPowersOfPythonFloatsToTheCLibraryAndReportsOverflow) {
  Graph graph = captured(R"(
    a = placeholder() : py_float
    two = constant() {value=2} : py_int
    r = pow(a, two) : py_float ; "**"
    inputs a
    return r)");
  ASSERT_TRUE(run_pipeline(graph, {}).ok());
  EXPECT_NE(lines_of(graph).find("pow(a, "), std::string::npos) << lines_of(graph);
  EXPECT_NE(lines_of(graph).find("floordiv("), std::string::npos) << lines_of(graph);
}

// --- values, by the reference interpreter ------------------------------------------------------------------
template <class T>
std::vector<T> values_of(Graph graph, std::vector<std::vector<T>> inputs, DType dtype) {
  const auto reports = run_pipeline(graph, {});
  EXPECT_TRUE(reports.ok()) << (reports.ok() ? "" : reports.error().message);
  std::vector<BufferView> views;
  for (auto& input : inputs) {
    const auto size = static_cast<int64_t>(input.size());
    views.push_back({input.data(), dtype, {size}, {static_cast<int64_t>(sizeof(T))}});
  }
  const auto outputs = interpret(graph, views, graph.env.hints());
  EXPECT_TRUE(outputs.ok()) << (outputs.ok() ? "" : outputs.error().message);
  if (!outputs.ok()) return {};
  const BufferView& view = (*outputs)[0].view;
  int64_t count = 1;
  for (int64_t size : view.shape) count *= size;
  std::vector<T> result(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t offset = view.strides.empty() ? 0 : i * view.strides[0];
    std::memcpy(&result[static_cast<size_t>(i)], static_cast<std::byte*>(view.data) + offset, sizeof(T));
  }
  return result;
}

std::vector<double> doubles(Graph graph, std::vector<std::vector<double>> inputs) {
  return values_of<double>(std::move(graph), std::move(inputs), DType::kFloat64);
}

// Same bits, except that any NaN equals any NaN.
void expect_same(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(actual[i])) << i;
    } else {
      EXPECT_EQ(actual[i], expected[i]) << i;
      EXPECT_EQ(std::signbit(actual[i]), std::signbit(expected[i])) << i;
    }
  }
}

TEST(DecomposeValues, ClipByScalarsKeepsTheSignOfZeroOfTheInput) {
  const Graph graph = captured(R"(
    x = placeholder() : f64[5]
    low = constant() {value=0.0} : py_float
    high = constant() {value=1.0} : py_float
    r = clip(x, low, high) : f64[5]
    inputs x
    return r)");
  expect_same(doubles(graph, {{-0.0, 0.0, kNan, 2.0, -1.0}}), {-0.0, 0.0, kNan, 1.0, 0.0});
}

TEST(DecomposeValues, ClipByArraysTakesTheSignOfZeroOfTheBound) {
  const Graph graph = captured(R"(
    x = placeholder() : f64[5]
    low = placeholder() : f64[5]
    high = placeholder() : f64[5]
    r = clip(x, low, high) : f64[5]
    inputs x, low, high
    return r)");
  expect_same(
      doubles(graph,
              {{-0.0, 0.0, kNan, 2.0, -1.0}, std::vector<double>(5, 0.0), std::vector<double>(5, 1.0)}),
      {0.0, 0.0, kNan, 1.0, 0.0});
}

TEST(DecomposeValues, ClipWithANanBoundGivesNanEverywhere) {
  const Graph graph = captured(R"(
    x = placeholder() : f64[2]
    low = constant() {value=nan} : py_float
    high = constant() {value=1.0} : py_float
    r = clip(x, low, high) : f64[2]
    inputs x
    return r)");
  expect_same(doubles(graph, {{0.5, 2.0}}), {kNan, kNan});
}

TEST(DecomposeValues, RoundScalesAndRoundsHalfToEven) {
  const Graph graph = captured(R"(
    x = placeholder() : f64[4]
    r = round(x) {decimals=1} : f64[4]
    inputs x
    return r)");
  expect_same(doubles(graph, {{0.25, 0.35, -0.05, 12.34}}), {0.2, 0.4, -0.0, 12.3});
}

TEST(DecomposeValues, RoundOfIntegersOnlyActsOnNegativeDecimals) {
  const auto rounded = [](int decimals) {
    return values_of<int64_t>(captured("x = placeholder() : i64[3]\nr = round(x) {decimals=" +
                                       std::to_string(decimals) + "} : i64[3]\ninputs x\nreturn r"),
                              {{15, 25, -7}}, DType::kInt64);
  };
  EXPECT_EQ(rounded(2), (std::vector<int64_t>{15, 25, -7}));
  EXPECT_EQ(rounded(-1), (std::vector<int64_t>{20, 20, -10}));
}

TEST(DecomposeValues, PowersByARuntimeExponentOfOneHalfAreSquareRoots) {
  const Graph graph = captured(R"(
    x = placeholder() : f64[3]
    p = placeholder() : py_float
    r = pow(x, p) : f64[3] ; "**"
    inputs x, p
    return r)");
  Graph lowered = graph;
  ASSERT_TRUE(run_pipeline(lowered, {}).ok());
  std::vector<double> x{-kInf, -0.0, 4.0};
  for (double p : {0.5, 2.0}) {
    const BufferView views[] = {{x.data(), DType::kFloat64, {3}, {8}}, {&p, DType::kFloat64, {}, {}}};
    const auto outputs = interpret(lowered, views, {});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    const auto* r = static_cast<const double*>((*outputs)[0].view.data);
    expect_same({r[0], r[1], r[2]},
                p == 0.5 ? std::vector<double>{kNan, -0.0, 2.0} : std::vector<double>{kInf, 0.0, 16.0});
  }
}

TEST(DecomposeValues, LinspaceEndsExactlyAtItsStop) {
  const Graph graph = captured(R"(
    a = constant() {value=0.0} : py_float
    b = constant() {value=0.7} : py_float
    r = linspace(a, b) {dims=[8], dtype=f64} : f64[8]
    return r)");
  const double step = 0.7 / 7;
  expect_same(doubles(graph, {}), {0.0, step, 2 * step, 3 * step, 4 * step, 5 * step, 6 * step, 0.7});
}

TEST(DecomposeValues, LinspaceWithoutItsEndpointDividesByTheCount) {
  const Graph graph = captured(R"(
    a = constant() {value=1} : py_int
    b = constant() {value=3} : py_int
    r = linspace(a, b) {dims=[4], dtype=f64, endpoint=false} : f64[4]
    return r)");
  expect_same(doubles(graph, {}), {1.0, 1.5, 2.0, 2.5});
}

TEST(DecomposeValues, LinspaceOfOneSampleIsItsStart) {
  const Graph graph = captured(R"(
    a = constant() {value=2.0} : py_float
    b = constant() {value=5.0} : py_float
    r = linspace(a, b) {dims=[1], dtype=f64} : f64[1]
    return r)");
  expect_same(doubles(graph, {}), {2.0});
}

TEST(DecomposeValues, StandardDeviationOfBools) {
  const Graph graph = captured(R"(
    x = placeholder() : f64[4]
    zero = constant() {value=0.0} : py_float
    b = gt(x, zero) : bool[4]
    s = std(b) {axes=[0], all_axes=true} : f64 scalar
    inputs x
    return s)");
  expect_same(doubles(graph, {{1.0, -1.0, 1.0, -1.0}}), {0.5});
}

}  // namespace
}  // namespace suture
