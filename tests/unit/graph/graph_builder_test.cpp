// GraphBuilder: what a reader of capture relies on. Exhaustive comparison with NumPy is in
// layout_oracle_test.cpp.
#include "graph/graph_builder.h"

#include <gtest/gtest.h>

namespace suture {
namespace {

TensorType array(DType dtype, std::vector<SymInt> shape) {
  TensorType type;
  type.dtype = dtype;
  type.strides = contiguous_strides(shape, Order::kC);
  type.shape = std::move(shape);
  return type;
}
TensorType f64(std::vector<SymInt> shape) { return array(DType::kFloat64, std::move(shape)); }
TensorType scalar(ValueClass value_class, DType dtype) {
  TensorType type;
  type.dtype = dtype;
  type.value_class = value_class;
  return type;
}

class Builder : public ::testing::Test {
 protected:
  Graph graph;
  GraphBuilder b{graph};
  NodeId py_int(int64_t value) { return b.constant(value, ValueClass::kPyInt, DType::kInt64); }
  NodeId py_float(double value) { return b.constant(value, ValueClass::kPyFloat, DType::kFloat64); }
  std::string type(const Result<NodeId>& id) {
    return id.ok() ? graph.node(*id).type.str() : "error: " + id.error().message;
  }
  Result<NodeId> add(OpId op, std::vector<NodeId> operands, std::string target = "np.f", Attrs attrs = {}) {
    return b.add(op, std::move(operands), attrs, std::move(target));
  }
};

TEST_F(Builder, rank_0_results_of_ufuncs_are_numpy_scalars_and_of_where_arrays) {
  NodeId x = b.placeholder("x", f64({}));
  EXPECT_EQ(type(add(OpId::kSin, {x})), "f64 scalar");
  EXPECT_EQ(type(add(OpId::kWhere, {x, x, x})), "f64[]");
}

TEST_F(Builder, python_numbers_stay_python_numbers_under_operators_and_become_numpy_scalars_in_functions) {
  NodeId a = b.placeholder("a", scalar(ValueClass::kPyFloat, DType::kFloat64)), one = py_int(1);
  EXPECT_EQ(type(add(OpId::kAdd, {a, one}, "+")), "py_float");
  EXPECT_EQ(type(add(OpId::kDivide, {one, one}, "/")), "py_float");
  EXPECT_EQ(type(add(OpId::kLess, {a, one}, "<")), "py_bool");
  EXPECT_EQ(type(add(OpId::kAdd, {a, one}, "np.add")), "f64 scalar");
  Attrs builtin;
  builtin.value_class = ValueClass::kPyFloat;
  EXPECT_EQ(type(add(OpId::kAbsolute, {a}, "abs", builtin)), "py_float");
  EXPECT_EQ(type(add(OpId::kSin, {a}, "np.sin")), "f64 scalar");
}

TEST_F(Builder, conversions_give_the_class_that_is_asked_for) {
  NodeId x = b.placeholder("x", f64({}));
  Attrs to;
  to.dtype = DType::kFloat32;
  EXPECT_EQ(type(add(OpId::kCast, {x}, "ndarray.astype", to)), "f32[]");
  to.value_class = ValueClass::kNumpyScalar;
  EXPECT_EQ(type(add(OpId::kCast, {x}, "np.float32", to)), "f32 scalar");
  to.dtype = DType::kFloat64;
  to.value_class = ValueClass::kPyFloat;
  EXPECT_EQ(type(add(OpId::kCast, {x}, "float", to)), "py_float");
}

TEST_F(Builder, what_numpy_rejects_is_refused_with_a_sentence) {
  NodeId bytes = b.placeholder("u", array(DType::kUInt8, {3})),
         flags = b.placeholder("m", array(DType::kBool, {3}));
  NodeId x = b.placeholder("x", f64({3})), y = b.placeholder("y", f64({4})),
         none = b.placeholder("e", f64({0}));
  NodeId narrow = b.placeholder("f", array(DType::kFloat32, {3}));
  Attrs all;
  all.all_axes = true;
  EXPECT_EQ(type(add(OpId::kAdd, {bytes, py_int(300)}, "+")),
            "error: Python integer 300 out of bounds for uint8");
  EXPECT_EQ(type(add(OpId::kAdd, {x, y})),
            "error: operands could not be broadcast together with shapes (3,) (4,)");
  EXPECT_EQ(type(add(OpId::kSubtract, {flags, flags})), "error: np.subtract refuses bool");
  EXPECT_EQ(type(add(OpId::kMax, {none}, "np.max", all)),
            "error: zero-size array to reduction operation maximum which has no identity");
  EXPECT_EQ(type(add(OpId::kArgmax, {none}, "np.argmax", all)),
            "error: attempt to get argmax of an empty sequence");
  EXPECT_EQ(type(add(OpId::kMultiply, {narrow, py_float(1e300)}, "*")),
            "error: Python float 1e+300 overflows float32");
}

TEST_F(Builder, in_place_operators_cast_by_same_kind_and_plain_stores_unsafely) {
  NodeId i = b.placeholder("i", array(DType::kInt64, {3})), x = b.placeholder("x", f64({3}));
  NodeId sum = *add(OpId::kAdd, {i, x}, "+=");
  EXPECT_EQ(type(add(OpId::kStore, {i, sum}, "+=")),
            "error: Cannot cast ufunc output from dtype('float64') to dtype('int64') with casting rule "
            "'same_kind'");
  EXPECT_TRUE(add(OpId::kStore, {i, x}, "=").ok());
  NodeId narrow = b.placeholder("f", array(DType::kFloat32, {3}));
  EXPECT_TRUE(add(OpId::kStore, {narrow, *add(OpId::kAdd, {narrow, x}, "+=")}, "+=").ok());
}

TEST_F(Builder, broadcast_views_are_read_only) {
  Attrs to;
  to.dims = {2, 3};
  NodeId view = *add(OpId::kBroadcastTo, {b.placeholder("x", f64({3}))}, "np.broadcast_to", to);
  EXPECT_FALSE(graph.node(view).type.writeable);
  EXPECT_EQ(graph.node(view).type.strides, (std::vector<SymInt>{0, 1}));
  EXPECT_EQ(type(add(OpId::kStore, {view, py_float(1)}, "=")), "error: assignment destination is read-only");
}

TEST_F(Builder, views_share_storage_and_copies_do_not) {
  NodeId x = b.placeholder("x", f64({4, 3}));
  Attrs swap, flat;
  swap.axes = {1, 0};
  flat.dims = {-1};
  NodeId t = *add(OpId::kTranspose, {x}, "np.transpose", swap);
  NodeId copied = *add(OpId::kReshape, {t}, "ndarray.ravel", flat),
         viewed = *add(OpId::kReshape, {x}, "ndarray.ravel", flat);
  EXPECT_EQ(graph.storage_of(t), x);
  EXPECT_EQ(graph.storage_of(viewed), x);
  EXPECT_EQ(graph.storage_of(copied), copied);
  EXPECT_TRUE(graph.node(copied).attrs.copies);
  Attrs element;
  element.index = {{IndexItem::Kind::kInt, 1, 1, 0}, {IndexItem::Kind::kInt, 2, 1, 0}};
  NodeId item = *add(OpId::kSlice, {x}, "[]", element);
  EXPECT_EQ(graph.node(item).type.str(), "f64 scalar");
  EXPECT_EQ(graph.storage_of(item), item) << "a scalar is a copy of the element";
  element.ellipsis = true;
  NodeId zero_d = *add(OpId::kSlice, {x}, "[]", element);
  EXPECT_EQ(graph.node(zero_d).type.str(), "f64[]");
  EXPECT_EQ(graph.storage_of(zero_d), x);
  EXPECT_FALSE(graph.mutates_inputs());
  ASSERT_TRUE(add(OpId::kStore, {t, py_float(0)}, "=").ok());
  EXPECT_TRUE(graph.mutates_inputs());
}

TEST_F(Builder, symbolic_elementwise_code_over_contiguous_arrays_records_no_facts) {
  SymInt s0 = graph.env.create_symbol("x.shape[0]", 32, 2, INT64_MAX, true);
  SymInt s1 = graph.env.create_symbol("x.shape[1]", 48, 2, INT64_MAX, true);
  NodeId x = b.placeholder("x", f64({s0, s1}));
  NodeId y = *add(OpId::kAdd, {*add(OpId::kSin, {x}), py_int(1)}, "+");
  Attrs swap, last;
  swap.axes = {1, 0};
  last.axes = {1};
  NodeId t = *add(OpId::kTranspose, {y}, "np.transpose", swap);
  NodeId u = *add(OpId::kExp, {t});
  EXPECT_EQ(graph.node(u).type.strides, (std::vector<SymInt>{1, s1}))
      << "K order keeps the transposed layout";
  EXPECT_EQ(type(add(OpId::kSum, {u}, "np.sum", last)), "f64[s1]");
  EXPECT_TRUE(graph.env.facts().empty());
}

TEST_F(Builder, equal_symbolic_sizes_become_one_fact) {
  SymInt s0 = graph.env.create_symbol("x.shape[0]", 32, 2, INT64_MAX, true);
  SymInt s1 = graph.env.create_symbol("y.shape[0]", 32, 2, INT64_MAX, true);
  NodeId x = b.placeholder("x", f64({s0})), y = b.placeholder("y", f64({s1}));
  b.set_place({"a.py", "f", 5});
  ASSERT_TRUE(add(OpId::kAdd, {x, y}, "+").ok());
  ASSERT_TRUE(add(OpId::kMultiply, {y, x}, "*").ok());
  ASSERT_EQ(graph.env.facts().size(), 1u);
  EXPECT_EQ(graph.env.facts()[0].str(), "s0 == s1");
  EXPECT_EQ(graph.env.facts()[0].where.line, 5);
}

TEST_F(Builder, a_symbolic_int_that_meets_a_small_dtype_is_bounded_by_facts) {
  SymInt n = graph.env.create_symbol("n", 7, INT64_MIN, INT64_MAX, false);
  NodeId x = b.placeholder("x", array(DType::kUInt8, {3}));
  EXPECT_EQ(type(add(OpId::kAdd, {x, b.symbol_value(n)}, "+")), "u8[3]");
  ASSERT_EQ(graph.env.facts().size(), 2u);
  EXPECT_EQ(graph.env.facts()[0].str(), "0 <= s0");
  EXPECT_EQ(graph.env.facts()[1].str(), "s0 < 256");
}

TEST_F(Builder, slices_with_symbolic_length_never_become_size_0_or_1_unnoticed) {
  SymInt s0 = graph.env.create_symbol("x.shape[0]", 32, 2, INT64_MAX, true);
  NodeId x = b.placeholder("x", f64({s0}));
  Attrs attrs;
  attrs.index = {{IndexItem::Kind::kSlice, 1, 1, s0 - 1}};
  EXPECT_EQ(type(add(OpId::kSlice, {x}, "[]", attrs)), "f64[s0 - 1]");
  ASSERT_EQ(graph.env.facts().size(), 1u);
  EXPECT_EQ(graph.env.facts()[0].str(), "2 <= s0 - 1");
}

TEST_F(Builder, op_count_counts_calls_of_the_user_views_among_them_and_inputs_not) {
  NodeId x = b.placeholder("x", f64({4, 3}));
  Attrs swap;
  swap.axes = {1, 0};
  NodeId t = *add(OpId::kTranspose, {x}, "np.transpose", swap);
  ASSERT_TRUE(add(OpId::kSin, {t}).ok());
  EXPECT_EQ(graph.op_count(), 2u);
}

TEST_F(Builder, an_in_place_operator_is_one_call_every_time_it_runs) {
  NodeId x = b.placeholder("x", f64({4}));
  for (int turn = 0; turn < 3; ++turn) {
    NodeId sum = *add(OpId::kAdd, {x, x}, "+=");
    ASSERT_TRUE(add(OpId::kStore, {x, sum}, "+=").ok());
  }
  EXPECT_EQ(graph.op_count(), 3u);
}

TEST_F(Builder, the_same_function_of_its_own_result_is_two_calls) {
  NodeId x = b.placeholder("x", f64({4}));
  NodeId once = *add(OpId::kSin, {x}, "np.sin");
  ASSERT_TRUE(add(OpId::kSin, {once}, "np.sin").ok());
  EXPECT_EQ(graph.op_count(), 2u);
}

}  // namespace
}  // namespace suture
