// Output memory is recycled, and the arrays over it look and behave like any other.
#include "runtime/output_memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "cpython/numpy_api.h"
#include "support/embed.h"

namespace suture {
namespace {

class OutputMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(import_numpy().ok());
    release_kept_outputs();
  }
  static PyRef doubles(int64_t count) {
    const int64_t shape[] = {count}, strides[] = {1};
    return new_output(DType::kFloat64, shape, strides, count * 8);
  }
  static std::string look(const PyRef& array, const std::string& expression) {
    PyRef names = testing::run_python("import sys, tracemalloc");
    PyDict_SetItemString(names.get(), "a", array.get());
    return testing::repr(testing::evaluate_python(expression, names.get()).get());
  }
  static int64_t faults() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  }
};

TEST_F(OutputMemory, arrays_own_their_data_like_numpys) {
  PyRef array = doubles(100000);
  EXPECT_EQ(look(array,
                 "a.flags.owndata, a.flags.writeable, a.flags.c_contiguous, a.flags.aligned, a.base, "
                 "a.shape, a.strides"),
            "(True, True, True, True, None, (100000,), (8,))");
  EXPECT_EQ(look(array, "sys.getsizeof(a) == sys.getsizeof(np.empty(100000))"), "True");
}

TEST_F(OutputMemory, freed_memory_is_given_to_the_next_array_of_its_size_class) {
  PyRef first = doubles(100000);
  void* page =
      reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(array_data(first.get())) & ~uintptr_t{4095});
  first = {};
  EXPECT_GT(kept_output_bytes(), 800000);
  PyRef second = doubles(99000);
  EXPECT_EQ(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(array_data(second.get())) & ~uintptr_t{4095}),
            page);
  EXPECT_EQ(kept_output_bytes(), 0);
}

TEST_F(OutputMemory, a_steady_state_takes_no_page_faults) {
  const auto write = [] {
    PyRef array = doubles(500000);
    std::fill_n(static_cast<double*>(array_data(array.get())), 500000, 1.0);
  };
  write();
  const int64_t before = faults();
  for (int i = 0; i < 20; ++i) write();
  EXPECT_LT(faults() - before, 100);  // one fresh array alone takes about 1,000
}

TEST_F(OutputMemory, small_and_huge_arrays_come_from_numpy) {
  doubles(100);
  doubles(9000000);
  EXPECT_EQ(kept_output_bytes(), 0);
}

TEST_F(OutputMemory, what_is_kept_is_bounded) {
  std::vector<PyRef> arrays;
  for (int i = 0; i < 12; ++i) arrays.push_back(doubles(4000000));
  arrays.clear();
  EXPECT_LE(kept_output_bytes(), kKeptBytes);
  EXPECT_GT(kept_output_bytes(), kKeptBytes / 2);
  release_kept_outputs();
  EXPECT_EQ(kept_output_bytes(), 0);
}

TEST_F(OutputMemory, arrays_can_be_resized_both_ways_and_keep_their_values) {
  for (const char* size : {"10", "300000", "20000000", "0"}) {
    PyRef array = doubles(100000);
    std::fill_n(static_cast<double*>(array_data(array.get())), 100000, 7.0);
    const std::string text = size;
    EXPECT_EQ(look(array, "[a.resize(" + text + ", refcheck=False), a.size == " + text +
                              ", a[:10].tolist() == [7.0] * min(10, " + text + ")]"),
              "[None, True, True]");
  }
}

// Two arrays of a size at once, filled to the last element: were a block too small, one would run into the other, or into
// the header of the next.
TEST_F(OutputMemory, every_size_fits_its_block) {
  auto filled = [](int64_t count, double value) {
    PyRef array = doubles(count);
    std::fill_n(static_cast<double*>(array_data(array.get())), count, value);
    return array;
  };
  auto holds = [](const PyRef& array, int64_t count, double value) {
    const auto* data = static_cast<const double*>(array_data(array.get()));
    return std::all_of(data, data + count, [value](double each) { return each == value; });
  };
  for (int64_t count = 8192; count <= 8388608;
       count = count == 8388608 ? count + 1 : std::min<int64_t>(count * 9 / 8 + 1, 8388608)) {
    PyRef first = filled(count, 1.0), second = filled(count, 2.0);
    ASSERT_TRUE(holds(first, count, 1.0)) << count;
    ASSERT_TRUE(holds(second, count, 2.0)) << count;
    const int64_t kept = kept_output_bytes();
    first = {};
    ASSERT_GE(kept_output_bytes() - kept, count * 8) << "the block is not as large as the data";
    second = {};
    release_kept_outputs();
  }
}

TEST_F(OutputMemory, views_keep_the_memory_alive) {
  PyRef array = doubles(100000);
  PyRef view = testing::evaluate_python("lambda a: a[1:]");
  view = PyRef::steal(PyObject_CallOneArg(view.get(), array.get()));
  array = {};
  EXPECT_EQ(kept_output_bytes(), 0);
  view = {};
  EXPECT_GT(kept_output_bytes(), 0);
}

TEST_F(OutputMemory, tracemalloc_sees_the_arrays) {
  testing::run_python("import tracemalloc\ntracemalloc.start()");
  PyRef array = doubles(100000);
  EXPECT_EQ(look(array, "tracemalloc.get_traced_memory()[0] > 800000"), "True");
  array = {};
  EXPECT_EQ(look(testing::evaluate_python("1"), "tracemalloc.get_traced_memory()[0] < 800000"), "True");
  testing::run_python("import tracemalloc\ntracemalloc.stop()");
}

}  // namespace
}  // namespace suture
