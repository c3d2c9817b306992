// Which nests become one kernel, and the reason where they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/schedule.h"
#include "support/graph_script.h"

namespace suture {
namespace {

using testing::ElementsAre;

Schedule planned(const std::string& script, ScheduleOptions options = {}) {
  const Graph graph = GraphScript::build(script);
  auto program = lower(graph);
  if (!program.ok()) throw std::runtime_error(program.error().message);
  auto schedule = plan_schedule(*program, graph, options);
  if (!schedule.ok()) throw std::runtime_error(schedule.error().message);
  return std::move(schedule).value();
}

std::vector<std::string> steps(const Schedule& schedule) {
  std::vector<std::string> names;
  for (const auto& step : schedule.steps)
    names.push_back(std::holds_alternative<KernelGroup>(step) ? std::get<KernelGroup>(step).name : "numpy");
  return names;
}

const Nest& kernel(const Schedule& schedule, size_t index) {
  return std::get<KernelGroup>(schedule.steps.at(index)).nest;
}

std::vector<std::string> refusals(const Schedule& schedule) {
  std::vector<std::string> reasons;
  for (const FusionVerdict& verdict : schedule.verdicts)
    if (!verdict.fused) reasons.push_back(verdict.reason);
  return reasons;
}

TEST(Fusion, the_seed_is_one_kernel_per_graph) {
  const Schedule first = planned(
      "x = input float64 32,32\none = const float64 numpy 1\nzero = const float64 numpy 0\nsin = sin x\ny = "
      "add sin one\n"
      "s = sum y all\ng = gt s zero\nreturn g y\n");
  EXPECT_THAT(steps(first), ElementsAre("cpp_fused_add_gt_sin_sum_0"));
  const Schedule second = planned(
      "y = input float64 32,32\nn = input float64 pyfloat\ntwo = const float64 numpy 2\nzero = const float64 "
      "numpy 0\n"
      "a = mul y two\nb = maximum a zero\nc = mul b n\nreturn c\n");
  EXPECT_THAT(steps(second), ElementsAre("cpp_fused_maximum_mul_0"));
}

TEST(Fusion, contiguous_nests_become_one_loop) {
  const Schedule schedule = planned("x = input float64 4,5,6\ny = abs x\nreturn y\n");
  EXPECT_EQ(kernel(schedule, 0).extents, std::vector<SymInt>{120});
}

TEST(Fusion, loops_follow_the_memory_order_of_the_result) {
  const Schedule schedule =
      planned("x = input float64 4,5 1,8\ny = abs x\nreturn y\n");  // F order with a gap
  EXPECT_EQ(kernel(schedule, 0).extents, (std::vector<SymInt>{5, 4}));
}

TEST(Fusion, a_temporary_that_is_only_handed_over_is_not_stored) {
  const Schedule schedule = planned("x = input float64 8\na = abs x\nb = neg a\nreturn b\n");
  EXPECT_EQ(kernel(schedule, 0).stores.size(), 1u);
}

TEST(Fusion, a_producer_with_two_consumers_is_computed_once) {
  const Schedule schedule =
      planned("x = input float64 8\na = sin x\nb = neg a\nc = abs a\nd = add b c\nreturn d\n");
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_abs_add_neg_sin_0"));
  int sines = 0;
  for (const Expr& expr : kernel(schedule, 0).exprs)
    sines += expr.kind == Expr::Kind::kOp && expr.op == OpId::kSin;
  EXPECT_EQ(sines, 1);
}

TEST(Fusion, what_must_happen_stays_outside_of_loops_without_an_iteration) {
  const std::string script =
      "x = input float64 {0},3\nn = input float64 numpy\na = sin n\nb = mul x a\nreturn b a\n";
  const auto with_rows = [&](const std::string& rows) {
    std::string text = script;
    return text.replace(text.find("{0}"), 3, rows);
  };
  EXPECT_EQ(planned(with_rows("2")).steps.size(), 1u);
  EXPECT_THAT(refusals(planned(with_rows("0"))), ElementsAre("may_be_empty"));
}

TEST(Fusion, several_results_leave_one_kernel) {
  const Schedule schedule = planned("x = input float64 8\na = sin x\nb = neg a\nreturn a b\n");
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_neg_sin_0"));
  EXPECT_EQ(kernel(schedule, 0).stores.size(), 2u);
}

TEST(Fusion, a_transposed_temporary_is_read_where_it_is_made) {
  const Schedule schedule = planned(
      "x = input float64 4,5\nz = input float64 5,4\na = sin x\nt = transpose a axes=1,0\nb = add t "
      "z\nreturn b\n");
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_add_sin_0"));
}

TEST(Fusion, a_reshaped_temporary_is_read_where_it_is_made) {
  const Schedule schedule = planned(
      "x = input float64 4,5\nz = input float64 20\na = sin x\nt = reshape a dims=20\nb = add t z\nreturn "
      "b\n");
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_add_sin_0"));
}

TEST(Fusion, part_of_a_temporary_is_not_enough_because_all_of_it_may_warn) {
  const Schedule schedule =
      planned("x = input float64 8\na = sqrt x\nv = slice a 1:1:6\nb = neg v\nreturn b\n");
  EXPECT_THAT(refusals(schedule), ElementsAre("different_elements"));
}

TEST(Fusion, expensive_work_is_not_repeated_under_a_broadcast) {
  const Schedule schedule =
      planned("x = input float64 8,6\nr = input float64 6\ns = exp r\ny = add x s\nreturn y\n");
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_exp_0", "cpp_fused_add_1"));
  EXPECT_THAT(refusals(schedule), ElementsAre("recompute"));
}

TEST(Fusion, a_scalar_producer_runs_before_the_loops) {
  const Schedule schedule =
      planned("x = input float64 8,6\nn = input float64 pyfloat\ns = exp n\ny = add x s\nreturn y\n");
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_add_exp_0"));
}

TEST(Fusion, a_reduction_takes_its_operand_and_its_epilogue) {
  const Schedule schedule = planned(
      "x = input float64 8,6\nc = const float64 numpy 6\na = sin x\ns = sum a axes=1\nm = div s c\nreturn "
      "m\n");
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_div_sin_sum_0"));
}

TEST(Fusion, two_reductions_of_one_array_share_the_pass) {
  const Schedule schedule =
      planned("x = input float64 8,6\nq = mul x x\na = sum x all\nb = sum q all\nreturn a b\n");
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_mul_sum_0"));
}

TEST(Fusion, subtracting_the_mean_needs_the_finished_mean) {
  const Schedule schedule =
      planned("x = input float64 8,6\ns = sum x axes=1 keepdims\nd = sub x s\nreturn d\n");
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_sum_0", "cpp_fused_sub_1"));
  EXPECT_THAT(refusals(schedule), ElementsAre("whole_reduction"));
}

TEST(Fusion, row_sums_have_no_epilogue) {
  const Schedule schedule =
      planned("x = input float64 8,6\nc = const float64 numpy 8\ns = sum x axes=0\nm = div s c\nreturn m\n");
  EXPECT_THAT(refusals(schedule), ElementsAre("row_sums"));
}

TEST(Fusion, reductions_over_different_axes_stay_apart) {
  const Schedule schedule =
      planned("x = input float64 8,6\na = sum x axes=0\nb = sum x axes=1\nreturn a b\n");
  EXPECT_THAT(refusals(schedule), ElementsAre("reduced_axes"));
}

TEST(Fusion, a_store_is_not_moved_across_a_read_of_other_elements) {
  const Schedule schedule = planned(
      "x = input float64 8\na = slice x 1:1:7\nb = slice x 0:1:7\nc = neg b\ns = store a c\nd = abs "
      "x\nreturn d\n");
  EXPECT_EQ(schedule.steps.size(), 3u);
  EXPECT_THAT(refusals(schedule), testing::Contains("storage"));
}

TEST(Fusion, an_in_place_update_of_the_same_elements_is_one_kernel) {
  const Schedule schedule = planned(
      "x = input float64 8\nc = const float64 numpy 2\na = mul x c\ns = store x a\nd = abs x\nreturn d\n");
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_abs_mul_0"));
}

TEST(Fusion, blas_calls_split_kernels) {
  const Schedule schedule = planned(
      "x = input float64 8,6\ny = input float64 6,4\na = sin x\nm = matmul a y\nb = abs m\nreturn b\n");
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_sin_0", "numpy", "cpp_fused_abs_1"));
  EXPECT_THAT(refusals(schedule), ElementsAre("numpy_call", "numpy_call"));
}

TEST(Fusion, can_be_switched_off) {
  const Schedule schedule = planned("x = input float64 8\na = sin x\nb = neg a\nreturn b\n", {.fuse = false});
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_sin_0", "cpp_fused_neg_1"));
  EXPECT_THAT(refusals(schedule), ElementsAre("fusion_off"));
}

TEST(Fusion, symbolic_sizes_fuse_like_static_ones) {
  const Schedule schedule = planned(
      "r = symbol 48\nc = symbol 32\nx = input float64 r,c\none = const float64 numpy 1\na = sin x\nb = add "
      "a one\n"
      "s = sum b all\nreturn s b\n");
  EXPECT_THAT(steps(schedule), ElementsAre("cpp_fused_add_sin_sum_0"));
  EXPECT_EQ(kernel(schedule, 0).extents.size(), 1u);
}

}  // namespace
}  // namespace suture
