// NumPy through the C API: facts, scalars, new arrays and views look exactly as NumPy's own.
#include "cpython/numpy_api.h"

#include <gtest/gtest.h>

#include <cfenv>

#include "support/embed.h"

namespace suture {
namespace {

using testing::evaluate_python;
using testing::item;
using testing::repr;
using testing::run_python;

class NumpyApi : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(import_numpy().ok()); }
};

TEST_F(NumpyApi, facts_of_a_c_ordered_array) {
  PyRef array = evaluate_python("np.zeros((3, 4), dtype=np.float32)");
  const ArrayFacts facts = array_facts(array.get());
  EXPECT_EQ(facts.ndim, 2);
  EXPECT_EQ(facts.shape[1], 4);
  EXPECT_EQ(facts.strides[0], 16);
  EXPECT_EQ(facts.dtype, DType::kFloat32);
  EXPECT_TRUE(facts.plain && facts.writeable && facts.c_contiguous);
  EXPECT_FALSE(facts.f_contiguous);
}

TEST_F(NumpyApi, arrays_that_kernels_cannot_read_are_not_plain) {
  const char* kNotPlain[] = {
      "np.zeros(3, dtype='>f8')",
      "np.zeros(3, dtype=object)",
      "np.zeros(3, dtype='M8[s]')",
      "np.zeros(3, dtype=np.complex128)",
      "np.zeros(3, dtype=np.float16)",
      "np.ma.zeros(3)",
      "np.matrix([[1.0]])",
      "np.zeros(3, dtype=[('a', 'i1'), ('b', 'f8')])['b']",
      "np.frombuffer(bytes(25), dtype=np.uint8)[1:].view(np.float64)",
      "np.zeros(3, dtype=np.dtype('f8', metadata={'unit': 'm'}))",
  };
  for (const char* expression : kNotPlain)
    EXPECT_FALSE(array_facts(evaluate_python(expression).get()).plain) << expression;
  const char* kPlain[] = {"np.zeros(3)[::-1]",
                          "np.zeros((3, 4)).T",
                          "np.broadcast_to(np.zeros(3), (2, 3))",
                          "np.zeros((0, 3))",
                          "np.array(1.0)",
                          "__import__('pickle').loads(__import__('pickle').dumps(np.zeros(3)))"};
  for (const char* expression : kPlain)
    EXPECT_TRUE(array_facts(evaluate_python(expression).get()).plain) << expression;
}

TEST_F(NumpyApi, exactness_of_the_ndarray_type) {
  EXPECT_TRUE(is_exact_ndarray(evaluate_python("np.zeros(3)").get()));
  EXPECT_FALSE(is_exact_ndarray(evaluate_python("np.ma.zeros(3)").get()));
  EXPECT_TRUE(is_any_ndarray(evaluate_python("np.ma.zeros(3)").get()));
  EXPECT_FALSE(is_any_ndarray(evaluate_python("[1]").get()));
}

TEST_F(NumpyApi, scalars_of_every_dtype_survive_a_round_trip) {
#define SUTURE_DTYPE(id, numpy_name, ...)                           \
  {                                                                 \
    PyRef scalar = evaluate_python("np." numpy_name "(1)");         \
    ASSERT_EQ(numpy_scalar_dtype(scalar.get()), DType::id);         \
    alignas(8) char value[8] = {};                                  \
    ASSERT_TRUE(read_numpy_scalar(scalar.get(), DType::id, value)); \
    PyRef again = make_numpy_scalar(DType::id, value);              \
    EXPECT_EQ(repr(again.get()), repr(scalar.get()));               \
    EXPECT_EQ(Py_TYPE(again.get()), Py_TYPE(scalar.get()));         \
  }
#include "ops/dtypes.def"
  EXPECT_EQ(numpy_scalar_dtype(evaluate_python("1.0").get()), std::nullopt);
  EXPECT_EQ(numpy_scalar_dtype(evaluate_python("np.complex64(1)").get()), std::nullopt);
  double out;
  EXPECT_FALSE(read_numpy_scalar(evaluate_python("np.float32(1)").get(), DType::kFloat64, &out));
}

TEST_F(NumpyApi, new_array_has_the_strides_asked_for_and_owns_its_data) {
  const int64_t shape[] = {2, 3, 4}, strides[] = {4, 8, 1};  // order of axes: 1, 0, 2
  PyRef dict = run_python("");
  PyRef array = new_array(DType::kInt32, shape, strides);
  PyDict_SetItemString(dict.get(), "a", array.get());
  EXPECT_EQ(
      repr(evaluate_python("a.shape, a.strides, a.flags.owndata, a.flags.c_contiguous, a.flags.writeable, "
                           "a.flags.aligned, a.transpose(1, 0, 2).flags.c_contiguous, a.base",
                           dict.get())
               .get()),
      "((2, 3, 4), (16, 32, 4), True, False, True, True, True, None)");
}

TEST_F(NumpyApi, new_array_knows_both_contiguities_and_rank_zero) {
  const int64_t shape[] = {3, 2}, strides[] = {1, 3};
  PyRef fortran = new_array(DType::kFloat64, shape, strides);
  EXPECT_TRUE(array_facts(fortran.get()).f_contiguous);
  EXPECT_FALSE(array_facts(fortran.get()).c_contiguous);
  PyRef scalar = new_array(DType::kFloat64, {}, {});
  EXPECT_EQ(array_facts(scalar.get()).ndim, 0);
  EXPECT_TRUE(array_facts(scalar.get()).c_contiguous);
  const int64_t empty[] = {0, 5}, empty_strides[] = {5, 1};
  PyRef none = new_array(DType::kFloat64, empty, empty_strides);
  EXPECT_TRUE(array_facts(none.get()).c_contiguous);
}

TEST_F(NumpyApi, new_view_looks_like_numpys_own_slice) {
  PyRef dict = run_python("owner = np.arange(12.0).reshape(3, 4)\nrow = owner.base[4:8]\nown = owner.base");
  PyView owner = item(dict.get(), "owner");
  const int64_t shape[] = {3}, strides[] = {4};
  PyRef view =
      new_view(owner, static_cast<double*>(array_data(owner)) + 1, DType::kFloat64, shape, strides, true);
  PyDict_SetItemString(dict.get(), "v", view.get());
  EXPECT_EQ(
      repr(evaluate_python(
               "v.tolist(), v.base is own, owner[:, 1].base is own, v.flags.owndata, v.flags.writeable, "
               "v.strides == owner[:, 1].strides",
               dict.get())
               .get()),
      "([1.0, 5.0, 9.0], True, True, False, True, True)");
  PyRef readonly = new_view(owner, array_data(owner), DType::kFloat64, shape, strides, false);
  EXPECT_FALSE(array_facts(readonly.get()).writeable);
}

TEST_F(NumpyApi, overlap_answers_equal_numpys) {
  PyRef dict = run_python(R"(
x = np.zeros(20); m = np.zeros((6, 6))
pairs = [(x[:10], x[10:]), (x[:11], x[10:]), (x[::2], x[1::2]), (x[::2], x[::3]), (x, x), (x, np.zeros(20)),
         (m[:, :3], m[:, 3:]), (m, m.T), (m[::2], m[1::2]), (x[:0], x), (m[::-1], m[2:3, 2:3]), (x[::-1][::2], x[::2])]
)");
  PyView pairs = item(dict.get(), "pairs");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(pairs); ++i) {
    PyView pair = PyList_GET_ITEM(pairs, i);
    PyDict_SetItemString(dict.get(), "p", pair);
    PyView a = PyTuple_GET_ITEM(pair, 0);
    PyView b = PyTuple_GET_ITEM(pair, 1);
    EXPECT_EQ(may_share_memory(a, b), evaluate_python("np.may_share_memory(*p)", dict.get()).get() == Py_True)
        << i;
    EXPECT_EQ(shares_memory_exact(a, b), evaluate_python("np.shares_memory(*p)", dict.get()).get() == Py_True)
        << i;
  }
}

TEST_F(NumpyApi, error_state_follows_geterr) {
  EXPECT_EQ(error_state(), kErrorStateOfNumpy);
  EXPECT_EQ(watched_fp_flags(error_state()), FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID);
  PyRef dict =
      run_python("scope = np.errstate(divide='raise', under='log', invalid='ignore')\nscope.__enter__()");
  EXPECT_EQ(watched_fp_flags(error_state()), FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
  evaluate_python("scope.__exit__(None, None, None)", dict.get());
  EXPECT_EQ(error_state(), kErrorStateOfNumpy);
  run_python("old = np.seterr(all='ignore')\nresult = old");
  EXPECT_EQ(error_state(), 0);
  run_python("np.seterr(divide='warn', over='warn', under='ignore', invalid='warn')");
  EXPECT_EQ(error_state(), kErrorStateOfNumpy);
}

TEST_F(NumpyApi, raising_error_state_raises_for_what_is_not_ignored_and_puts_the_state_back) {
  PyRef dict = run_python("one = np.array([1.0]); zero = np.array([0.0]); tiny = np.array([1e-300])");
  {
    RaisingErrorState raising;
    PyRef code = PyRef::steal(Py_CompileString("one / zero", "<test>", Py_eval_input));
    PyRef result = PyRef::steal(PyEval_EvalCode(code.get(), dict.get(), dict.get()));
    EXPECT_EQ(testing::take_exception(), "FloatingPointError: divide by zero encountered in divide");
    EXPECT_EQ(repr(evaluate_python("tiny * tiny", dict.get()).get()),
              "array([0.])");  // underflow is ignored by default
  }
  EXPECT_EQ(error_state(), kErrorStateOfNumpy);
}

TEST_F(NumpyApi, wrapped_memory_and_copies) {
  double memory[] = {1, 2, 3, 4, 5, 6};
  const int64_t shape[] = {2, 3}, strides[] = {1, 2};
  PyRef array = wrap_memory(memory, DType::kFloat64, shape, strides);
  EXPECT_EQ(repr(array.get()), "array([[1., 3., 5.],\n       [2., 4., 6.]])");
  PyRef copy = copy_array(array.get());
  EXPECT_TRUE(array_facts(copy.get()).f_contiguous);
  EXPECT_TRUE(copy_into(array.get(), evaluate_python("np.zeros((2, 3))").get()));
  EXPECT_EQ(memory[5], 0);
  EXPECT_EQ(repr(copy.get()), "array([[1., 3., 5.],\n       [2., 4., 6.]])");
}

TEST_F(NumpyApi, dtype_like_objects_are_understood_without_user_code) {
  EXPECT_EQ(dtype_from_object(evaluate_python("np.float32").get()), DType::kFloat32);
  EXPECT_EQ(dtype_from_object(evaluate_python("'i8'").get()), DType::kInt64);
  EXPECT_EQ(dtype_from_object(evaluate_python("float").get()), DType::kFloat64);
  EXPECT_EQ(dtype_from_object(evaluate_python("bool").get()), DType::kBool);
  EXPECT_EQ(dtype_from_object(evaluate_python("np.dtype('u2')").get()), DType::kUInt16);
  EXPECT_EQ(dtype_from_object(evaluate_python("'>f8'").get()), std::nullopt);
  EXPECT_EQ(dtype_from_object(evaluate_python("object").get()), std::nullopt);
  EXPECT_EQ(dtype_from_object(evaluate_python("'no such dtype'").get()), std::nullopt);
  EXPECT_EQ(dtype_from_object(Py_None), std::nullopt);
  PyRef trap =
      testing::python_object("class T:\n  @property\n  def dtype(self): raise SystemExit\nresult = T()");
  EXPECT_EQ(dtype_from_object(trap.get()), std::nullopt);
  EXPECT_EQ(testing::take_exception(), "");
}

TEST_F(NumpyApi, dtype_text_is_numpys) {
  EXPECT_EQ(dtype_text(evaluate_python("np.zeros(1, '>f8')").get()), ">f8");
  EXPECT_EQ(dtype_text(evaluate_python("np.zeros(1)").get()), "float64");
}

TEST_F(NumpyApi, making_and_dropping_objects_leaks_nothing) {
  PyRef base = evaluate_python("np.zeros(4)");
  const Py_ssize_t references = Py_REFCNT(base.get());
  const int64_t shape[] = {4}, strides[] = {1};
  for (int i = 0; i < 100; ++i) {
    new_view(base.get(), array_data(base.get()), DType::kFloat64, shape, strides, true);
    error_state();
  }
  EXPECT_EQ(Py_REFCNT(base.get()), references);
}

}  // namespace
}  // namespace suture
