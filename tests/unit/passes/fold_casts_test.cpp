#include "passes/fold_casts.h"

#include "pass_testing.h"

namespace suture {
namespace {

using namespace test;

TEST(FoldCasts, RemovesAWideningCastThatIsUndoneAtOnce) {
  expect_rewrites(fold_casts, lowered(R"(
    x = placeholder() : f32[4]
    wide = cast(x) {dtype=f64} : f64[4]
    back = cast(wide) {dtype=f32} : f32[4]
    r = neg(back) : f32[4]
    inputs x
    return r)"),
                  R"(
    x = placeholder() : f32[4]
    wide = cast(x) {dtype=f64} : f64[4]
    r = neg(x) : f32[4]
    return r)");
}

TEST(FoldCasts, MergesCastsWhenTheInnerOneLosesNothing) {
  expect_rewrites(fold_casts, lowered(R"(
    x = placeholder() : i16[4]
    a = cast(x) {dtype=i32} : i32[4]
    b = cast(a) {dtype=f64} : f64[4]
    inputs x
    return b)"),
                  R"(
    x = placeholder() : i16[4]
    a = cast(x) {dtype=i32} : i32[4]
    b = cast(x) {dtype=f64} : f64[4]
    return b)");
}

TEST(FoldCasts, KeepsACastThatRounds) {
  expect_unchanged(fold_casts, lowered(R"(
    x = placeholder() : f64[4]
    narrow = cast(x) {dtype=f32} : f32[4]
    back = cast(narrow) {dtype=f64} : f64[4]
    r = neg(back) : f64[4]
    inputs x
    return r)"));
}

TEST(FoldCasts, KeepsInt64ToFloat64BecauseItRounds) {
  expect_unchanged(fold_casts, lowered(R"(
    x = placeholder() : i64[4]
    a = cast(x) {dtype=f64} : f64[4]
    b = cast(a) {dtype=f32} : f32[4]
    inputs x
    return b)"));
}

TEST(FoldCasts, KeepsACastThatTheUserGetsAsAnArrayOfItsOwn) {
  expect_unchanged(fold_casts, lowered(R"(
    x = placeholder() : f64[4]
    y = cast(x) {dtype=f64} : f64[4]
    inputs x
    return y)"));
}

TEST(FoldCasts, KeepsACastWhoseInputIsWrittenLater) {
  expect_unchanged(fold_casts, lowered(R"(
    x = placeholder() : f64[4]
    before = cast(x) {dtype=f64} : f64[4]
    zero = constant() {value=0.0} : f64 scalar
    store = store(x, zero) : f64[4]
    r = neg(before) : f64[4]
    inputs x
    return r)"));
}

TEST(FoldCasts, KeepsWhatAConvertingSumReadsBecauseItsLayoutIsTheOrderOfTheSum) {
  expect_unchanged(fold_casts, lowered(R"(
    x = placeholder() : i16[4]
    a = cast(x) {dtype=i32} : i32[4]
    b = cast(a) {dtype=f64} : f64[4]
    s = sum(b) {axes=[0], dtype=f64} : f64 scalar
    inputs x
    return s)"));
}

}  // namespace
}  // namespace suture
