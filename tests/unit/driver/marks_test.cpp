// Marks: axes of arrays that the user declared dynamic or static.
#include "driver/marks.h"

#include <gtest/gtest.h>

#include "cpython/numpy_api.h"
#include "support/embed.h"

namespace suture {
namespace {

PyRef array_of(std::vector<int64_t> shape) {
  if (!import_numpy().ok()) return {};
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return new_array(DType::kFloat64, shape, strides);
}

TEST(Marks, a_dynamic_axis_becomes_a_symbol_with_its_range) {
  Marks marks;
  PyRef x = array_of({4, 5});
  ASSERT_TRUE(marks.mark_dynamic(x.get(), -1, 3, 100).ok());
  DynamicPlan plan;
  marks.apply(x.get(), "x", plan);
  EXPECT_EQ(plan.symbolic["x.shape[1]"], "marked dynamic");
  EXPECT_EQ(plan.ranges["x.shape[1]"], std::make_pair(int64_t{3}, int64_t{100}));
  EXPECT_EQ(plan.symbolic.count("x.shape[0]"), 0u);
}

TEST(Marks, a_static_axis_is_never_a_symbol) {
  Marks marks;
  PyRef x = array_of({4});
  ASSERT_TRUE(marks.mark_static(x.get(), 0).ok());
  DynamicPlan plan;
  plan.symbolic["x.shape[0]"] = "changed from 3 to 4";
  marks.apply(x.get(), "x", plan);
  EXPECT_TRUE(plan.symbolic.empty());
  EXPECT_EQ(plan.fixed.count("x.shape[0]"), 1u);
}

TEST(Marks, axes_out_of_range_and_objects_that_are_no_arrays_are_refused) {
  Marks marks;
  PyRef x = array_of({4});
  EXPECT_EQ(marks.mark_dynamic(x.get(), 1, 2, 9).error().message,
            "axis 1 is out of bounds for an array of rank 1");
  EXPECT_EQ(marks.mark_dynamic(x.get(), 0, 9, 2).error().message, "min 9 is above max 2");
  EXPECT_EQ(marks.mark_static(Py_None, 0).error().message, "only NumPy arrays can be marked");
}

TEST(Marks, a_dead_array_leaves_no_mark_for_another_at_its_address) {
  Marks marks;
  PyRef x = array_of({4});
  PyObject* address = x.get();
  ASSERT_TRUE(marks.mark_dynamic(x.get(), 0, 2, 9).ok());
  x = PyRef();
  PyRef y = array_of({4});
  DynamicPlan plan;
  marks.apply(y.get(), "y", plan);
  EXPECT_TRUE(plan.symbolic.empty()) << (y.get() == address ? "same address" : "another address");
}

}  // namespace
}  // namespace suture
