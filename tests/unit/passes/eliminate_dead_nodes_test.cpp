#include "passes/eliminate_dead_nodes.h"

#include "pass_testing.h"

namespace suture {
namespace {

using namespace test;

TEST(EliminateDeadNodes, DropsAComparisonThatNobodyReads) {
  expect_rewrites(eliminate_dead_nodes, lowered(R"(
    x = placeholder() : f64[4]
    zero = constant() {value=0.0} : f64 scalar
    above = gt(x, zero) : bool[4]
    r = neg(x) : f64[4]
    inputs x
    return r)"),
                  R"(
    x = placeholder() : f64[4]
    r = neg(x) : f64[4]
    return r)");
}

TEST(EliminateDeadNodes, KeepsALogarithmThatMayWarn) {
  expect_unchanged(eliminate_dead_nodes, lowered(R"(
    x = placeholder() : f64[4]
    unused = log(x) : f64[4]
    inputs x
    return x)"));
}

TEST(EliminateDeadNodes, DropsIntegerArithmeticOnArraysBecauseItWrapsSilently) {
  expect_rewrites(eliminate_dead_nodes, lowered(R"(
    x = placeholder() : i32[4]
    unused = mul(x, x) : i32[4]
    inputs x
    return x)"),
                  R"(
    x = placeholder() : i32[4]
    return x)");
}

TEST(EliminateDeadNodes, KeepsIntegerArithmeticOnScalarsBecauseOverflowWarns) {
  expect_unchanged(eliminate_dead_nodes, lowered(R"(
    x = placeholder() : i32 scalar
    unused = mul(x, x) : i32 scalar
    inputs x
    return x)"));
}

TEST(EliminateDeadNodes, KeepsIntegerDivisionBecauseZeroWarns) {
  expect_unchanged(eliminate_dead_nodes, lowered(R"(
    x = placeholder() : i32[4]
    unused = floordiv(x, x) : i32[4]
    inputs x
    return x)"));
}

TEST(EliminateDeadNodes, KeepsNarrowingCastsAndDropsWideningOnes) {
  expect_rewrites(eliminate_dead_nodes, lowered(R"(
    x = placeholder() : f64[4]
    y = placeholder() : f32[4]
    narrow = cast(x) {dtype=f32} : f32[4]
    wide = cast(y) {dtype=f64} : f64[4]
    inputs x, y
    return x)"),
                  R"(
    x = placeholder() : f64[4]
    y = placeholder() : f32[4]
    narrow = cast(x) {dtype=f32} : f32[4]
    return x)");
}

TEST(EliminateDeadNodes, KeepsTheCheckOfAnAssignedScalar) {
  expect_rewrites(eliminate_dead_nodes, lowered(R"(
    x = placeholder() : i64 scalar
    assigned = cast(x) {dtype=i16, class=scalar, checked=true} : i16 scalar
    wrapped = cast(x) {dtype=i16, class=scalar} : i16 scalar
    inputs x
    return )"),
                  R"(
    x = placeholder() : i64 scalar
    assigned = cast(x) {dtype=i16, class=scalar, checked=true} : i16 scalar
    return )");
}

TEST(EliminateDeadNodes, KeepsStoresAndWhatTheyRead) {
  expect_unchanged(eliminate_dead_nodes, lowered(R"(
    x = placeholder() : i32[4]
    y = add(x, x) : i32[4]
    store = store(x, y) : i32[4]
    inputs x
    return )"));
}

}  // namespace
}  // namespace suture
