#include "passes/common_subexpressions.h"

#include "pass_testing.h"

namespace suture {
namespace {

using namespace test;

TEST(CommonSubexpressions, ComputesEqualNodesOnce) {
  expect_rewrites(common_subexpressions, lowered(R"(
    x = placeholder() : f64[4]
    a = sin(x) : f64[4]
    b = sin(x) : f64[4]
    r = add(a, b) : f64[4]
    inputs x
    return r)"),
                  R"(
    x = placeholder() : f64[4]
    a = sin(x) : f64[4]
    r = add(a, a) : f64[4]
    return r)");
}

TEST(CommonSubexpressions, KeepsTwoArraysThatTheUserGets) {
  expect_unchanged(common_subexpressions, lowered(R"(
    x = placeholder() : f64[4]
    a = sin(x) : f64[4]
    b = sin(x) : f64[4]
    inputs x
    return a, b)"));
}

TEST(CommonSubexpressions, MergesAnInnerNodeIntoAReturnedOne) {
  expect_rewrites(common_subexpressions, lowered(R"(
    x = placeholder() : f64[4]
    a = sin(x) : f64[4]
    b = sin(x) : f64[4]
    r = neg(b) : f64[4]
    inputs x
    return a, r)"),
                  R"(
    x = placeholder() : f64[4]
    a = sin(x) : f64[4]
    r = neg(a) : f64[4]
    return a, r)");
}

TEST(CommonSubexpressions, SeesAStoreBetweenTwoReads) {
  expect_unchanged(common_subexpressions, lowered(R"(
    x = placeholder() : f64[4]
    zero = constant() {value=0.0} : f64 scalar
    a = sin(x) : f64[4]
    store = store(x, zero) : f64[4]
    b = sin(x) : f64[4]
    r = add(a, b) : f64[4]
    inputs x
    return r)"));
}

TEST(CommonSubexpressions, TreatsAStoreIntoOneInputAsAChangeOfAllInputs) {
  expect_unchanged(common_subexpressions, lowered(R"(
    x = placeholder() : f64[4]
    y = placeholder() : f64[4]
    zero = constant() {value=0.0} : f64 scalar
    a = sin(x) : f64[4]
    store = store(y, zero) : f64[4]
    b = sin(x) : f64[4]
    r = add(a, b) : f64[4]
    inputs x, y
    return r)"));
}

TEST(CommonSubexpressions, KeepsMemoryApartThatIsWritten) {
  expect_unchanged(common_subexpressions, lowered(R"(
    zero = constant() {value=0.0} : f64 scalar
    one = constant() {value=1.0} : f64 scalar
    a = full(zero) {dims=[4], dtype=f64} : f64[4]
    b = full(zero) {dims=[4], dtype=f64} : f64[4]
    store = store(b, one) : f64[4]
    r = add(a, b) : f64[4]
    return r)"));
}

TEST(CommonSubexpressions, TellsMinusZeroFromZero) {
  expect_unchanged(common_subexpressions, lowered(R"(
    x = placeholder() : f64[4]
    a = constant() {value=0.0} : f64 scalar
    b = constant() {value=-0.0} : f64 scalar
    p = copysign(x, a) : f64[4]
    q = copysign(x, b) : f64[4]
    r = add(p, q) : f64[4]
    inputs x
    return r)"));
}

TEST(CommonSubexpressions, MergesEqualViewsUnlessBothAreReturned) {
  expect_rewrites(common_subexpressions, lowered(R"(
    x = placeholder() : f64[2, 3]
    t = transpose(x) {axes=[1, 0]} : f64[3, 2] strides [1, 3]
    u = transpose(x) {axes=[1, 0]} : f64[3, 2] strides [1, 3]
    r = neg(u) : f64[3, 2] strides [1, 3]
    inputs x
    return t, r)"),
                  R"(
    x = placeholder() : f64[2, 3]
    t = transpose(x) {axes=[1, 0]} : f64[3, 2] strides [1, 3]
    r = neg(t) : f64[3, 2] strides [1, 3]
    return t, r)");
}

}  // namespace
}  // namespace suture
