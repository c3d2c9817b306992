// Which operations a kernel keeps alive, and which operands it hides from constant folding.
#include "codegen/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/emit.h"
#include "support/graph_script.h"

namespace suture {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string generated(const std::string& script) {
  const Graph graph = GraphScript::build(script);
  auto program = lower(graph);
  if (!program.ok()) throw std::runtime_error(program.error().message);
  auto schedule = plan_schedule(*program, graph, {});
  if (!schedule.ok()) throw std::runtime_error(schedule.error().message);
  auto code = emit(*schedule, graph, {});
  if (!code.ok()) throw std::runtime_error(code.error().message);
  return code->cpp;
}

void expect_plain(const std::string& script) {
  const std::string text = generated(script);
  EXPECT_THAT(text, Not(HasSubstr("op_hide")));
  EXPECT_THAT(text, Not(HasSubstr("kept_")));
}

TEST(Conditions, arithmetic_that_reaches_a_store_is_left_alone) {
  expect_plain(
      "x = input float64 8\nn = input float64 pyfloat\ntwo = const float64 numpy 2\na = mul x two\nb = div a "
      "n\nc = sin b\nreturn c\n");
}

TEST(Conditions, arithmetic_that_reaches_a_sum_is_left_alone) {
  expect_plain("x = input float64 8,6\na = mul x x\ns = sum a axes=1\nreturn s\n");
}

TEST(Conditions, maximum_always_looks_at_its_first_operand) {
  const std::string inputs = "x = input float64 8\nz = const float64 numpy 0\na = mul x x\n";
  expect_plain(inputs + "b = maximum a z\nreturn b\n");
  EXPECT_THAT(generated(inputs + "b = maximum z a\nreturn b\n"), HasSubstr("kept_f64 |= op_bits(mul);"));
}

TEST(Conditions, a_selected_value_is_kept) {
  const std::string text = generated(
      "c = input bool 8\nx = input float32 8\ny = input float32 8\nq = div x y\nr = where c q x\nreturn r\n");
  EXPECT_THAT(text, HasSubstr("kept_f32 |= op_bits(div);"));
  EXPECT_THAT(text, HasSubstr("op_use(kept_f32);"));
}

TEST(Conditions, a_compared_value_is_kept) {
  EXPECT_THAT(generated("x = input float64 8\nz = const float64 numpy 0\nr = sqrt x\nb = lt r z\nreturn b\n"),
              HasSubstr("kept_f64 |= op_bits(sqrt);"));
}

TEST(Conditions, an_overwritten_value_is_kept) {
  const std::string text = generated(
      "x = input float64 8\nz = const float64 numpy 0\na = div x z\ns = store x a\nt = store x z\nreturn "
      "x\n");
  EXPECT_THAT(text, HasSubstr("kept_f64 |= op_bits(div);"));
}

TEST(Conditions, a_value_nobody_uses_is_computed_without_a_store) {
  const std::string text = generated("x = input float64 8\na = log x\nb = neg x\nreturn b\n");
  EXPECT_THAT(text, HasSubstr("kept_f64 |= op_bits(log);"));
  EXPECT_THAT(text, Not(HasSubstr("out1")));
}

TEST(Conditions, a_total_that_is_only_compared_is_kept) {
  EXPECT_THAT(
      generated("x = input float64 8\nz = const float64 numpy 0\ns = sum x all\nb = gt s z\nreturn b\n"),
      HasSubstr("kept_f64 |= op_bits(sum);"));
}

TEST(Conditions, a_divisor_that_may_be_a_constant_is_hidden) {
  EXPECT_THAT(
      generated("x = input float64 8\none = const float64 numpy 1\nz = const float64 numpy 0\nb = gt x "
                "z\nw = where b x z\nq = div one w\nreturn q\n"),
      HasSubstr("op_hide(where, nothing)"));
}

TEST(Conditions, what_comes_from_integers_is_hidden) {
  EXPECT_THAT(generated("i = input int64 8\nc = const float64 numpy 255\nq = div c i\nreturn q\n"),
              HasSubstr("op_hide("));
}

TEST(Conditions, constants_alone_are_hidden) {
  EXPECT_THAT(
      generated("x = input float64 8\na = const float64 numpy 1\nz = const float64 numpy 0\nq = div a "
                "z\nr = add x q\nreturn r\n"),
      HasSubstr("op_hide(1.0, nothing)"));
}

}  // namespace
}  // namespace suture
