// The model of NumPy's summation order, layout by layout. tests/python/test_sum_order.py checks the same
// rules against NumPy.
#include "graph/sum_order.h"

#include <gtest/gtest.h>

namespace suture {
namespace {

using Axes = std::vector<int>;

SumOrder order_of(std::vector<SymInt> shape, std::vector<SymInt> strides, std::vector<bool> reduced,
                  bool converted = false, int numpy_minor = 3) {
  return numpy_sum_order({shape, strides, reduced, converted, numpy_minor}, ShapeEnv{});
}

void expect_order(const SumOrder& sum, Axes outer, Axes run, int64_t chunk) {
  ASSERT_TRUE(sum.order.has_value()) << sum.why_not;
  EXPECT_EQ(sum.order->outer, outer);
  EXPECT_EQ(sum.order->run, run);
  EXPECT_EQ(sum.order->chunk, chunk);
}

TEST(SumOrder, a_contiguous_array_is_one_run) {
  expect_order(order_of({32, 40}, {40, 1}, {true, true}), {}, {0, 1}, 0);
}

TEST(SumOrder, rows_of_a_c_array_are_runs) {
  expect_order(order_of({32, 40}, {40, 1}, {false, true}), {0}, {1}, 0);
}

TEST(SumOrder, axis_zero_of_a_c_array_adds_rows) {
  expect_order(order_of({32, 40}, {40, 1}, {true, false}), {0, 1}, {}, 0);
}

TEST(SumOrder, axis_zero_of_an_f_array_runs_down_the_columns) {
  expect_order(order_of({32, 40}, {1, 32}, {true, false}), {1}, {0}, 0);
}

TEST(SumOrder, an_f_array_is_summed_in_memory_order) {
  expect_order(order_of({32, 40}, {1, 32}, {true, true}), {}, {1, 0}, 0);
}

TEST(SumOrder, a_reversed_array_is_summed_in_view_order) {
  expect_order(order_of({1000}, {-1}, {true}), {}, {0}, 0);
}

TEST(SumOrder, kept_axes_between_reduced_ones_leave_the_inner_run) {
  expect_order(order_of({4, 5, 6}, {30, 6, 1}, {true, false, true}), {0, 1}, {2}, 0);
}

TEST(SumOrder, unit_axes_stay_outside_the_run) {
  expect_order(order_of({32, 1, 40}, {40, 0, 1}, {true, true, true}), {1}, {0, 2}, 0);
}

TEST(SumOrder, a_converted_operand_is_added_in_buffers_of_8192) {
  expect_order(order_of({100000}, {1}, {true}, true), {}, {0}, 8192);
}

TEST(SumOrder, a_small_strided_view_is_gathered_into_one_run) {
  expect_order(order_of({10, 20}, {40, 1}, {true, true}), {}, {0, 1}, 0);
}

TEST(SumOrder, a_large_strided_view_is_gathered_row_by_row_up_to_the_buffer) {
  expect_order(order_of({1000, 100}, {200, 1}, {true, true}), {}, {0, 1}, 8100);
}

TEST(SumOrder, long_rows_of_a_strided_view_are_not_gathered) {
  expect_order(order_of({10, 20000}, {40000, 1}, {true, true}), {0}, {1}, 0);
}

TEST(SumOrder, before_numpy_2_3_every_run_is_cut_at_8192) {
  expect_order(order_of({100000}, {1}, {true}, false, 2), {}, {0}, 8192);
}

TEST(SumOrder, before_numpy_2_3_gathered_views_are_left_to_numpy) {
  EXPECT_FALSE(order_of({10, 20}, {40, 1}, {true, true}, false, 2).order.has_value());
}

TEST(SumOrder, symbolic_sizes_keep_the_order_of_contiguous_arrays) {
  ShapeEnv env;
  const SymInt rows = env.create_symbol("x.shape[0]", 32, 2, INT64_MAX, true);
  const SymInt columns = env.create_symbol("x.shape[1]", 40, 2, INT64_MAX, true);
  const std::vector<SymInt> shape = {rows, columns}, strides = {columns, 1};
  const std::vector<bool> all = {true, true};
  expect_order(numpy_sum_order({shape, strides, all, false, 3}, env), {}, {0, 1}, 0);
}

TEST(SumOrder, symbolic_sizes_of_a_strided_view_are_left_to_numpy) {
  ShapeEnv env;
  const SymInt rows = env.create_symbol("x.shape[0]", 32, 2, INT64_MAX, true);
  const std::vector<SymInt> shape = {rows, 20}, strides = {40, 1};
  const std::vector<bool> all = {true, true};
  const SumOrder sum = numpy_sum_order({shape, strides, all, false, 3}, env);
  EXPECT_FALSE(sum.order.has_value());
  EXPECT_EQ(sum.why_not, "a strided sum over several axes whose sizes are symbols");
}

}  // namespace
}  // namespace suture
