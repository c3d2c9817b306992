// A compiled graph binds, allocates, launches and hands out results as NumPy would; anything unusual is
// replayed.
#include "runtime/compiled_graph.h"

#include "launch_fixture.h"

namespace suture {
namespace {

using CompiledGraphs = LaunchFixture;
using Kind = BufferSpec::Kind;

TEST_F(CompiledGraphs, runs_a_kernel_into_a_fresh_array) {
  const int a = input({2, 3}), b = input({2, 3}), out = output({2, 3});
  kernel("add", kernel_add, {a, b, out}, {6});
  graph.plan.outputs = {out};
  PyRef object = build();
  EXPECT_EQ(value("[r.tolist() for r in g(np.ones((2, 3)), np.full((2, 3), 2.0))]"),
            "[[[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]]");
  EXPECT_EQ(value("(lambda r: (type(r), r.flags.owndata, r.flags.c_contiguous, r.base))(g(np.ones((2, 3)), "
                  "np.ones((2, 3)))[0])"),
            "(<class 'numpy.ndarray'>, True, True, None)");
  EXPECT_EQ(testing::repr(object.get()), "<compiled graph f_graph_0>");
  EXPECT_EQ(replays, 0);
}

TEST_F(CompiledGraphs, outputs_have_the_strides_of_the_plan) {
  const int a = input({2, 3}), b = input({2, 3});
  BufferSpec spec = buffer(Kind::kOutput, {2, 3});
  spec.strides = {1, 2};
  const int out = add(spec);
  kernel("add", kernel_add, {a, b, out}, {6});
  graph.plan.outputs = {out};
  build();
  EXPECT_EQ(value("(lambda r: (r.strides, r.flags.f_contiguous, r.T.ravel().tolist()))(g(np.zeros((2, 3), "
                  "order='F'), "
                  "np.asfortranarray(np.arange(6.).reshape(2, 3)))[0])"),
            "((8, 16), True, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0])");
}

TEST_F(CompiledGraphs, scalars_come_in_and_go_out_as_their_classes) {
  const int a = input({4}), n = scalar(Kind::kInput, ValueClass::kPyFloat, DType::kFloat64);
  graph.plan.buffers[static_cast<size_t>(n)].input = 1;
  const int scaled = temporary({4});
  const int numpy_total = scalar(Kind::kOutput, ValueClass::kNumpyScalar, DType::kFloat64);
  const int python_total = scalar(Kind::kOutput, ValueClass::kPyFloat, DType::kFloat64);
  const int zero_d = output({});
  kernel("scale", kernel_scale, {a, n, scaled}, {4});
  for (int total : {numpy_total, python_total, zero_d}) kernel("sum", kernel_sum, {scaled, total}, {4});
  graph.plan.outputs = {numpy_total, python_total, zero_d, numpy_total};
  build();
  EXPECT_EQ(value("g(np.ones(4), 2.5)[:3]"), "(np.float64(10.0), 10.0, array(10.))");
  EXPECT_EQ(value("(lambda r: r[0] is r[3])(g(np.ones(4), 2.5))"), "True");
}

TEST_F(CompiledGraphs, ints_bools_and_numpy_scalars_are_unpacked_by_their_class) {
  const suture_kernel_fn pass = [](void* const* b, const int64_t*) -> uint32_t {
    *static_cast<int64_t*>(b[3]) = *static_cast<const int64_t*>(b[0]) + *static_cast<const bool*>(b[1]) +
                                   *static_cast<const int32_t*>(b[2]);
    *static_cast<bool*>(b[4]) = true;
    return 0;
  };
  const int i = scalar(Kind::kInput, ValueClass::kPyInt, DType::kInt64);
  const int b = scalar(Kind::kInput, ValueClass::kPyBool, DType::kBool);
  const int s = scalar(Kind::kInput, ValueClass::kNumpyScalar, DType::kInt32);
  const int sum = scalar(Kind::kOutput, ValueClass::kPyInt, DType::kInt64);
  const int truth = scalar(Kind::kOutput, ValueClass::kPyBool, DType::kBool);
  kernel("pass", pass, {i, b, s, sum, truth});
  graph.plan.outputs = {sum, truth};
  replay_with("lambda *a: ('replayed', a)");
  build();
  EXPECT_EQ(value("g(10, True, np.int32(5))"), "(16, True)");
  EXPECT_EQ(value("g(2**70, True, np.int32(5))[0]"), "'replayed'");  // does not fit, so NumPy decides
}

TEST_F(CompiledGraphs, an_input_is_returned_as_the_same_object_and_views_share_memory) {
  const int a = input({6}), part = view(a, {2}, {2}, 1), reversed = view(part, {2}, {-2}, 2);
  graph.plan.outputs = {a, part, reversed, part};
  build();
  EXPECT_EQ(
      value("(lambda x: (lambda r: (r[0] is x, r[1].tolist(), r[1].base is x, r[2].tolist(), r[2].base is x, "
            "r[1].flags.writeable, r[3] is r[1]))(g(x)))(np.arange(6.0))"),
      "(True, [1.0, 3.0], True, [3.0, 1.0], True, True, True)");
  EXPECT_EQ(value("(lambda x: [x.setflags(write=False), g(x)[1].flags.writeable][1])(np.arange(6.0))"),
            "False");
}

TEST_F(CompiledGraphs, views_may_be_written_where_their_base_may_and_the_plan_allows_it) {
  const int a = input({3}), wide = view(a, {2, 3}, {0, 1}, 0), same = view(a, {3}, {1}, 0);
  const int repeated = view(a, {2, 3}, {0, 1}, 0);
  for (int broadcast : {wide, same}) graph.plan.buffers[static_cast<size_t>(broadcast)].writeable = false;
  graph.plan.outputs = {wide, same, repeated};
  build();
  EXPECT_EQ(value("[r.flags.writeable for r in g(np.arange(3.0))]"), "[False, False, True]");
  EXPECT_EQ(
      value("(lambda x: [x.setflags(write=False), *(r.flags.writeable for r in g(x))])(np.arange(3.0))"),
      "[None, False, False, False]");
}

TEST_F(CompiledGraphs, symbols_are_bound_from_shapes_strides_and_ints) {
  ShapeEnv env;
  const SymInt n = env.create_symbol("x.shape[0]", 4, 2, INT64_MAX, true);
  const SymInt k = env.create_symbol("k", 1, INT64_MIN, INT64_MAX, false);
  const int a = input({n}), b = input({n}), twice = temporary({n + n}), out = output({n});
  (void)twice;
  const int size = scalar(Kind::kOutput, ValueClass::kPyInt, DType::kInt64);
  const suture_kernel_fn read_sizes = [](void* const* buffers, const int64_t* sizes) -> uint32_t {
    *static_cast<int64_t*>(buffers[0]) = sizes[0];
    return 0;
  };
  kernel("add", kernel_add, {a, b, out}, {n});
  kernel("sizes", read_sizes, {size}, {n * 10 + k});
  graph.plan.outputs = {out, size};
  graph.symbol_count = 2;
  graph.bindings = {{0, 0, 0, false}, {1, 2, -1, false}};
  build();
  EXPECT_EQ(value("[(r.tolist(), s) for r, s in [g(np.ones(3), np.ones(3), 7), g(np.ones(2), np.ones(2), "
                  "-1), g(np.ones(3), np.ones(3), 7)]]"),
            "[([2.0, 2.0, 2.0], 37), ([2.0, 2.0], 19), ([2.0, 2.0, 2.0], 37)]");
}

TEST_F(CompiledGraphs, a_watched_floating_point_condition_is_replayed_under_numpy) {
  const int a = input({2}), b = input({2}), out = output({2});
  kernel("divide", kernel_divide, {a, b, out}, {2});
  graph.plan.outputs = {out};
  replay_with("lambda a, b: (np.divide(a, b),)");
  build();
  EXPECT_EQ(value("g(np.ones(2), np.ones(2))[0].tolist()"), "[1.0, 1.0]");
  EXPECT_EQ(replays, 0);
  testing::run_python("import warnings");
  EXPECT_EQ(value("[w.category.__name__ + ': ' + str(w.message) for w in (lambda ws: [ws.__enter__(), "
                  "__import__('warnings').simplefilter('always'), "
                  "g(np.ones(2), np.zeros(2)), "
                  "ws.__exit__()][0])(__import__('warnings').catch_warnings(record=True))]"),
            "['RuntimeWarning: divide by zero encountered in divide']");
  EXPECT_EQ(replays, 1);
  EXPECT_EQ(value("[np.seterr(divide='ignore'), g(np.ones(2), np.zeros(2))[0].tolist(), "
                  "np.seterr(divide='warn')][1]"),
            "[inf, inf]");
  EXPECT_EQ(replays, 1);
  testing::evaluate_python("np.seterr(divide='raise')");
  EXPECT_EQ(error("g(np.ones(2), np.zeros(2))"), "FloatingPointError: divide by zero encountered in divide");
  testing::evaluate_python("np.seterr(divide='warn')");
}

TEST_F(CompiledGraphs, overwritten_inputs_have_their_old_contents_when_a_replay_starts) {
  const int a = input({3});
  kernel("increment", kernel_increment_and_complain, {a}, {3});
  graph.plan.outputs = {a};
  graph.plan.written = {a};
  graph.mutates_inputs = true;
  replay_with("lambda x: (np.copyto(x, [-v for v in x]), (x,))[1]");
  build();
  EXPECT_EQ(value("(lambda x: [g(x), x.tolist()][1])(np.array([1.0, 2.0, 3.0]))"), "[2.0, 3.0, 4.0]");
  EXPECT_EQ(replays, 0);
  EXPECT_EQ(value("(lambda x: [g(x), x.tolist()][1])(np.array([200.0, 2.0, 3.0]))"), "[-200.0, -2.0, -3.0]");
  EXPECT_EQ(replays, 1);
}

TEST_F(CompiledGraphs, overwritten_strided_inputs_are_restored_through_their_copy) {
  const int a = input({3});
  graph.plan.buffers[0].strides = {2};
  const suture_kernel_fn spoil = [](void* const* b, const int64_t*) -> uint32_t {
    for (int i = 0; i < 3; ++i) static_cast<double*>(b[0])[2 * i] = -1;
    return SUTURE_KERNEL_INT_DIVIDE;
  };
  kernel("spoil", spoil, {a});
  graph.mutates_inputs = true;  // nothing said about what is written: everything is saved
  graph.plan.outputs = {a};
  replay_with("lambda x: (x,)");
  build();
  EXPECT_EQ(value("(lambda x: [g(x[::2]), x.tolist()][1])(np.arange(6.0))"),
            "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]");
}

TEST_F(CompiledGraphs, numpy_runs_between_kernels) {
  const int a = input({2, 2}), b = input({2, 2}), sum = temporary({2, 2}), product = output({2, 2}),
            doubled = output({2, 2});
  kernel("add", kernel_add, {a, b, sum}, {4});
  LaunchStep matmul;
  matmul.kind = LaunchStep::Kind::kNumpyCall;
  matmul.op = OpId::kMatmul;
  matmul.buffers = {sum, b};
  matmul.result = product;
  graph.plan.steps.push_back(matmul);
  kernel("add2", kernel_add, {product, product, doubled}, {4});
  graph.plan.outputs = {product, doubled};
  build();
  EXPECT_EQ(value("[r.tolist() for r in g(np.eye(2), np.array([[1., 2.], [3., 4.]]))]"),
            "[[[8.0, 12.0], [18.0, 26.0]], [[16.0, 24.0], [36.0, 52.0]]]");
}

TEST_F(CompiledGraphs, a_numpy_reduction_gets_axis_keepdims_and_dtype) {
  const int a = input({2, 3}, DType::kFloat32);
  const int rows = output({2, 1}, DType::kFloat64);
  const int total = scalar(Kind::kOutput, ValueClass::kNumpyScalar, DType::kFloat32);
  LaunchStep sum;
  sum.kind = LaunchStep::Kind::kNumpyCall;
  sum.op = OpId::kSum;
  sum.buffers = {a};
  sum.result = rows;
  sum.axes = {1};
  sum.keepdims = true;
  sum.dtype = DType::kFloat64;
  graph.plan.steps.push_back(sum);
  sum.result = total;
  sum.axes = {0, 1};
  sum.all_axes = true;
  sum.keepdims = false;
  sum.dtype = std::nullopt;
  graph.plan.steps.push_back(sum);
  graph.plan.outputs = {rows, total};
  build();
  EXPECT_EQ(value("g(np.arange(6, dtype=np.float32).reshape(2, 3))"),
            "(array([[ 3.],\n       [12.]]), np.float32(15.0))");
}

TEST_F(CompiledGraphs, a_condition_inside_numpy_is_replayed_and_warned_of_once) {
  const int a = input({2}), b = input({2});
  const int dot = scalar(Kind::kOutput, ValueClass::kNumpyScalar, DType::kFloat64);
  LaunchStep step;
  step.kind = LaunchStep::Kind::kNumpyCall;
  step.op = OpId::kDot;
  step.buffers = {a, b};
  step.result = dot;
  graph.plan.steps.push_back(step);
  graph.plan.outputs = {dot};
  replay_with("lambda a, b: (np.dot(a, b),)");
  build();
  EXPECT_EQ(value("[str(w.message) for w in (lambda ws: [ws.__enter__(), "
                  "__import__('warnings').simplefilter('always'), "
                  "g(np.full(2, 1e200), np.full(2, 1e200)), "
                  "ws.__exit__()][0])(__import__('warnings').catch_warnings(record=True))]"),
            "['overflow encountered in dot']");
  EXPECT_EQ(replays, 1);
}

TEST_F(CompiledGraphs, a_numpy_result_of_another_layout_is_copied_into_the_planned_one) {
  const int a = input({2, 3}), b = input({3, 2});
  BufferSpec spec = buffer(Kind::kOutput, {2, 2});
  spec.strides = {1, 2};
  const int product = add(spec);
  LaunchStep step;
  step.kind = LaunchStep::Kind::kNumpyCall;
  step.buffers = {a, b};
  step.result = product;
  graph.plan.steps.push_back(step);
  graph.plan.outputs = {product};
  build();
  EXPECT_EQ(value("(lambda r: (r.flags.f_contiguous, r.tolist()))(g(np.ones((2, 3)), "
                  "np.arange(6.).reshape(3, 2))[0])"),
            "(True, [[6.0, 9.0], [6.0, 9.0]])");
}

TEST_F(CompiledGraphs, a_call_made_while_the_graph_runs_has_a_frame_of_its_own) {
  const int a = input({2}), b = input({2}), out = output({2});
  kernel("divide", kernel_divide, {a, b, out}, {2});
  graph.plan.outputs = {out};
  replay_with("lambda a, b: (a + g(a, np.ones(2))[0],)");
  build();
  EXPECT_EQ(value("g(np.ones(2), np.zeros(2))[0].tolist()"), "[2.0, 2.0]");
}

TEST_F(CompiledGraphs, foreign_callables_are_called_with_the_inputs) {
  PyRef graph_object = make_compiled_graph(testing::evaluate_python("lambda a, b: [a + b, a]"), "foreign", 2);
  PyDict_SetItemString(names.get(), "g", graph_object.get());
  EXPECT_EQ(value("g(1, 2)"), "(3, 1)");
  EXPECT_EQ(compiled_graph_output_count(graph_object.get()), -1);
  PyRef bad = make_compiled_graph(testing::evaluate_python("lambda a: 7"), "bad", 1);
  PyDict_SetItemString(names.get(), "g", bad.get());
  EXPECT_EQ(
      error("g(1)"),
      "TypeError: the callable of graph bad returned int; it must return a tuple of the graph's outputs");
  PyRef few = make_compiled_graph(testing::evaluate_python("lambda a: (a,)"), "few", 2);
  PyDict_SetItemString(names.get(), "g", few.get());
  EXPECT_EQ(error("g(1)"), "TypeError: the callable of graph few returned 1 outputs; the graph has 2");
}

TEST_F(CompiledGraphs, mistakes_of_ours_are_internal_errors_and_wrong_calls_type_errors) {
  const int a = input({2});
  kernel("missing", nullptr, {a});
  graph.library = library;
  Result<PyRef> made = make_compiled_graph(std::move(graph), "g");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, "kernel missing is not in its library");
  graph = {};
  graph.plan.buffers.push_back(buffer(Kind::kInput, {2}));
  graph.plan.buffers[0].input = 0;
  graph.plan.outputs = {0};
  build();
  EXPECT_EQ(error("g()"), "TypeError: f_graph_0 takes 1 inputs, got 0");
  EXPECT_EQ(error("g(x=1)"), "TypeError: a compiled graph takes positional arguments only");
}

TEST_F(CompiledGraphs, calls_leak_neither_inputs_nor_outputs_and_the_object_is_freed) {
  const int64_t live = live_compiled_graphs();
  const int a = input({2}), b = input({2}), out = output({2}), part = view(a, {1}, {1}, 1);
  kernel("divide", kernel_divide, {a, b, out}, {2});
  graph.plan.outputs = {out, part, a};
  replay_with("lambda a, b: (a, a, b)");
  PyRef object = build();
  EXPECT_EQ(live_compiled_graphs(), live + 1);
  PyRef x = testing::evaluate_python("np.ones(2)"), zero = testing::evaluate_python("np.zeros(2)");
  const Py_ssize_t of_x = Py_REFCNT(x.get()), of_zero = Py_REFCNT(zero.get());
  PyObject* good[] = {x.get(), x.get()};
  PyObject* bad[] = {x.get(), zero.get()};
  for (int i = 0; i < 100; ++i) {
    PyRef first = PyRef::steal(PyObject_Vectorcall(object.get(), good, 2, nullptr));
    PyRef second = PyRef::steal(PyObject_Vectorcall(object.get(), bad, 2, nullptr));
    EXPECT_EQ(Py_REFCNT(PyTuple_GET_ITEM(first.get(), 0)), 1);
  }
  EXPECT_EQ(replays, 100);
  EXPECT_EQ(Py_REFCNT(x.get()), of_x);
  EXPECT_EQ(Py_REFCNT(zero.get()), of_zero);
  PyDict_DelItemString(names.get(), "g");
  object = {};
  EXPECT_EQ(live_compiled_graphs(), live);
}

}  // namespace
}  // namespace suture
