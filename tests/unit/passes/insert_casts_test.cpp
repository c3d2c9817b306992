#include "passes/insert_casts.h"

#include "pass_testing.h"

namespace suture {
namespace {

using namespace test;

TEST(InsertCasts, ConvertsOperandsToTheLoopDtype) {
  expect_rewrites(insert_casts, captured(R"(
    x = placeholder() : f32[4]
    y = placeholder() : f64[4]
    r = add(x, y) : f64[4]
    inputs x, y
    return r)"),
                  R"(
    x = placeholder() : f32[4]
    y = placeholder() : f64[4]
    cast = cast(x) {dtype=f64} : f64[4]
    r = add(cast, y) : f64[4]
    return r)");
}

TEST(InsertCasts, ChecksTheScalarThatIsAssignedToSignedIntegers) {
  expect_rewrites(insert_casts, captured(R"(
    x = placeholder() : i16[4]
    y = placeholder() : i64 scalar
    store = store(x, y) {checked=true} : i16[4]
    inputs x, y
    return )"),
                  R"(
    x = placeholder() : i16[4]
    y = placeholder() : i64 scalar
    cast = cast(y) {dtype=i16, class=scalar, checked=true} : i16 scalar
    store = store(x, cast) {checked=true} : i16[4]
    return )");
}

TEST(InsertCasts, MakesWeakConstantsConstantsOfTheLoop) {
  expect_rewrites(insert_casts, captured(R"(
    x = placeholder() : f32[4]
    c = constant() {value=3} : py_int
    r = mul(x, c) : f32[4]
    inputs x
    return r)"),
                  R"(
    x = placeholder() : f32[4]
    c = constant() {value=3} : py_int
    constant = constant() {value=3.0} : f32 scalar
    r = mul(x, constant) : f32[4]
    return r)");
}

TEST(InsertCasts, TakesARuntimeIntThroughFloat64ToFloat32) {
  expect_rewrites(insert_casts, captured(R"(
    symbol s0 "n" hint 7 range min..max
    x = placeholder() : f32[4]
    n = symbol() {sym=s0} : py_int
    r = mul(x, n) : f32[4]
    inputs x
    return r)"),
                  R"(
    x = placeholder() : f32[4]
    n = symbol() {sym=s0} : py_int
    cast = cast(n) {dtype=f64, class=scalar} : f64 scalar
    cast_1 = cast(cast) {dtype=f32, class=scalar} : f32 scalar
    r = mul(x, cast_1) : f32[4]
    return r)");
}

TEST(InsertCasts, KeepsPythonArithmeticAmongPythonNumbers) {
  expect_rewrites(insert_casts, captured(R"(
    n = placeholder() : py_float
    c = constant() {value=2} : py_int
    r = mul(n, c) : py_float ; "*"
    inputs n
    return r)"),
                  R"(
    n = placeholder() : py_float
    c = constant() {value=2} : py_int
    constant = constant() {value=2.0} : py_float
    r = mul(n, constant) : py_float
    return r)");
}

TEST(InsertCasts, TurnsTheConditionOfWhereIntoABool) {
  expect_rewrites(insert_casts, captured(R"(
    c = placeholder() : i32[4]
    x = placeholder() : f64[4]
    zero = constant() {value=0} : py_int
    r = where(c, x, zero) : f64[4]
    inputs c, x
    return r)"),
                  R"(
    c = placeholder() : i32[4]
    x = placeholder() : f64[4]
    zero = constant() {value=0} : py_int
    cast = cast(c) {dtype=bool} : bool[4]
    constant = constant() {value=0.0} : f64 scalar
    r = where(cast, x, constant) : f64[4]
    return r)");
}

TEST(InsertCasts, MarksASumThatConvertsItsOperand) {
  expect_rewrites(insert_casts, captured(R"(
    x = placeholder() : i32[4]
    s = sum(x) {axes=[0]} : i64 scalar
    inputs x
    return s)"),
                  R"(
    x = placeholder() : i32[4]
    cast = cast(x) {dtype=i64} : i64[4]
    s = sum(cast) {axes=[0], dtype=i64} : i64 scalar
    return s)");
}

TEST(InsertCasts, UnmarksASumWhoseDtypeIsThatOfItsOperand) {
  expect_rewrites(insert_casts, captured(R"(
    x = placeholder() : f64[4]
    s = sum(x) {axes=[0], dtype=f64} : f64 scalar
    inputs x
    return s)"),
                  R"(
    x = placeholder() : f64[4]
    s = sum(x) {axes=[0]} : f64 scalar
    return s)");
}

TEST(InsertCasts, ConvertsWhatIsStored) {
  expect_rewrites(insert_casts, captured(R"(
    x = placeholder() : f32[4]
    y = placeholder() : f64[4]
    store = store(x, y) : f32[4] ; "="
    inputs x, y
    return )"),
                  R"(
    x = placeholder() : f32[4]
    y = placeholder() : f64[4]
    cast = cast(y) {dtype=f32} : f32[4]
    store = store(x, cast) : f32[4]
    return)");
}

}  // namespace
}  // namespace suture
