#include "passes/fold_constants.h"

#include "pass_testing.h"

namespace suture {
namespace {

using namespace test;

TEST(FoldConstants, EvaluatesExactScalarArithmetic) {
  expect_rewrites(fold_constants, lowered(R"(
    a = constant() {value=1.5} : f64 scalar
    b = constant() {value=2.0} : f64 scalar
    c = mul(a, b) : f64 scalar
    return c)"),
                  R"(
    a = constant() {value=1.5} : f64 scalar
    b = constant() {value=2.0} : f64 scalar
    c = constant() {value=3.0} : f64 scalar
    return c)");
}

TEST(FoldConstants, LeavesRoundedResultsToTheKernel) {
  expect_unchanged(fold_constants, lowered(R"(
    a = constant() {value=0.1} : f64 scalar
    b = constant() {value=0.2} : f64 scalar
    c = add(a, b) : f64 scalar
    return c)"));
}

TEST(FoldConstants, LeavesIntegerOverflowBecauseNumPyWarns) {
  expect_unchanged(fold_constants, lowered(R"(
    a = constant() {value=9223372036854775807} : i64 scalar
    b = constant() {value=1} : i64 scalar
    c = add(a, b) : i64 scalar
    return c)"));
}

TEST(FoldConstants, ConvertsConstantsThatFit) {
  expect_rewrites(fold_constants, lowered(R"(
    a = constant() {value=3} : i64 scalar
    c = cast(a) {dtype=f32} : f32 scalar
    return c)"),
                  R"(
    a = constant() {value=3} : i64 scalar
    c = constant() {value=3.0} : f32 scalar
    return c)");
}

TEST(FoldConstants, LeavesCastsThatSignal) {
  expect_unchanged(fold_constants, lowered(R"(
    a = constant() {value=300} : i64 scalar
    b = constant() {value=1e+300} : f64 scalar
    c = cast(a) {dtype=u8} : u8 scalar
    d = cast(b) {dtype=f32} : f32 scalar
    return c, d)"));
}

}  // namespace
}  // namespace suture
