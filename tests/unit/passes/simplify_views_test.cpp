#include "passes/simplify_views.h"

#include "pass_testing.h"

namespace suture {
namespace {

using namespace test;

TEST(SimplifyViews, DropsATransposeOfATranspose) {
  expect_rewrites(simplify_views, lowered(R"(
    x = placeholder() : f64[3, 4]
    t = transpose(x) {axes=[1, 0]} : f64[4, 3] strides [1, 4]
    u = transpose(t) {axes=[1, 0]} : f64[3, 4]
    r = neg(u) : f64[3, 4]
    inputs x
    return r)"),
                  R"(
    x = placeholder() : f64[3, 4]
    t = transpose(x) {axes=[1, 0]} : f64[4, 3] strides [1, 4]
    r = neg(x) : f64[3, 4]
    return r)");
}

TEST(SimplifyViews, ComposesPermutations) {
  expect_rewrites(simplify_views, lowered(R"(
    x = placeholder() : f64[2, 3, 4]
    t = transpose(x) {axes=[1, 0, 2]} : f64[3, 2, 4] strides [4, 12, 1]
    u = transpose(t) {axes=[2, 0, 1]} : f64[4, 3, 2] strides [1, 4, 12]
    inputs x
    return u)"),
                  R"(
    x = placeholder() : f64[2, 3, 4]
    t = transpose(x) {axes=[1, 0, 2]} : f64[3, 2, 4] strides [4, 12, 1]
    u = transpose(x) {axes=[2, 1, 0]} : f64[4, 3, 2] strides [1, 4, 12]
    return u)");
}

TEST(SimplifyViews, MergesReshapes) {
  expect_rewrites(simplify_views, lowered(R"(
    x = placeholder() : f64[2, 6]
    a = reshape(x) {dims=[12]} : f64[12]
    b = reshape(a) {dims=[3, 4]} : f64[3, 4]
    inputs x
    return b)"),
                  R"(
    x = placeholder() : f64[2, 6]
    a = reshape(x) {dims=[12]} : f64[12]
    b = reshape(x) {dims=[3, 4]} : f64[3, 4]
    return b)");
}

TEST(SimplifyViews, KeepsAReshapeThatCopies) {
  expect_unchanged(simplify_views, lowered(R"(
    x = placeholder() : f64[3, 4]
    t = transpose(x) {axes=[1, 0]} : f64[4, 3] strides [1, 4]
    a = reshape(t) {dims=[12], copies=true} : f64[12]
    b = reshape(a) {dims=[3, 4]} : f64[3, 4]
    inputs x
    return b)"));
}

TEST(SimplifyViews, KeepsAnIdentityViewThatIsReturned) {
  expect_unchanged(simplify_views, lowered(R"(
    x = placeholder() : f64[4]
    v = slice(x) {index=[slice(0, 4, 1)]} : f64[4]
    inputs x
    return v)"));
}

TEST(SimplifyViews, KeepsASliceThatStartsLater) {
  expect_unchanged(simplify_views, lowered(R"(
    x = placeholder() : f64[4] strides [0]
    v = slice(x) {index=[slice(1, 3, 1)]} : f64[3] strides [0]
    r = neg(v) : f64[3]
    inputs x
    return r)"));
}

}  // namespace
}  // namespace suture
