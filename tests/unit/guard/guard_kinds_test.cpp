// For every guard kind: a value that passes, a value that fails, and the exact sentence of the failure.
#include "guard_fixture.h"

namespace suture {
namespace {

using GuardKinds = GuardFixture;

TEST_F(GuardKinds, type) {
  add_object(GuardKind::kType, x(), eval("int"));
  build();
  EXPECT_EQ(tree.describe(0), "type(x) is int");
  EXPECT_EQ(verdict("3"), "holds");
  EXPECT_EQ(verdict("True"), "type of 'x' changed. expected int, actual bool");
  EXPECT_EQ(verdict("np.zeros(3)"), "type of 'x' changed. expected int, actual numpy.ndarray");
}

TEST_F(GuardKinds, identity) {
  add_object(GuardKind::kIdentity, global("np"), eval("np"));
  build();
  EXPECT_EQ(verdict("1"), "holds");
  eval("globals().__setitem__('np', len)");
  const std::string sentence = verdict("1");
  EXPECT_THAT(sentence, ::testing::HasSubstr("'np' is another object. expected <module numpy>"));
  EXPECT_THAT(sentence, ::testing::HasSubstr("actual <built-in len>"));
}

TEST_F(GuardKinds, constant) {
  add_object(GuardKind::kConstant, x(), eval("2.0"));
  build();
  EXPECT_EQ(tree.describe(0), "x == 2.0");
  EXPECT_EQ(verdict("1.0 + 1.0"), "holds");
  EXPECT_EQ(verdict("3.0"), "value of 'x' changed. expected 2.0, actual 3.0");
  EXPECT_EQ(verdict("2"), "type of 'x' changed. expected float (2.0), actual int (2)");
  EXPECT_EQ(verdict("'a'"), "type of 'x' changed. expected float (2.0), actual str ('a')");
}

TEST_F(GuardKinds, a_constant_of_another_type_is_told_as_that) {
  add_object(GuardKind::kConstant, x(), eval("1"));
  build();
  EXPECT_EQ(verdict("True"), "type of 'x' changed. expected int (1), actual bool (True)");
  EXPECT_EQ(verdict("np.int64(1)"),
            "type of 'x' changed. expected int (1), actual numpy.int64 (<numpy.int64 object>)");
  add_object(GuardKind::kConstant, x(), eval("np.dtype('f8')"));
  build();
  EXPECT_TRUE(verdict("np.dtype('f4')").starts_with("value of 'x' changed.")) << verdict("np.dtype('f4')");
}

TEST_F(GuardKinds, constants_differ_by_type_and_sign_of_zero_but_nan_equals_itself) {
  const std::pair<const char*, const char*> kSame[] = {{"float('nan')", "float('nan')"},
                                                       {"(1, 'a', None)", "(1, 'a', None)"},
                                                       {"10**30", "10**30"},
                                                       {"slice(0, 3)", "slice(0, 3)"},
                                                       {"frozenset({1, 2})", "frozenset({2, 1})"},
                                                       {"np.dtype('f8')", "np.dtype('<f8')"},
                                                       {"np.float32(1)", "np.float32(1)"},
                                                       {"range(3)", "range(3)"},
                                                       {"b'ab'", "b'ab'"},
                                                       {"1j", "1j"}};
  const std::pair<const char*, const char*> kDifferent[] = {{"0.0", "-0.0"},
                                                            {"1", "True"},
                                                            {"(1,)", "(1.0,)"},
                                                            {"range(0)", "range(5, 5)"},
                                                            {"frozenset({1})", "frozenset({True})"},
                                                            {"np.float32(1)", "np.float64(1)"},
                                                            {"slice(0, 3)", "slice(0, 4)"},
                                                            {"[1]", "[1]"},
                                                            {"-0j", "0j"}};
  for (const auto& [expected, actual] : kSame) {
    add_object(GuardKind::kConstant, x(), eval(expected));
    build();
    EXPECT_EQ(verdict(actual), "holds") << expected;
  }
  for (const auto& [expected, actual] : kDifferent) {
    add_object(GuardKind::kConstant, x(), eval(expected));
    build();
    EXPECT_NE(verdict(actual), "holds") << expected;
  }
}

TEST_F(GuardKinds, an_array_that_kernels_do_not_hold) {
  add(GuardKind::kNotPlain, x());
  build();
  EXPECT_EQ(verdict("np.zeros(3, complex)"), "holds");
  EXPECT_EQ(verdict("np.zeros(3, '>f8')"), "holds");
  EXPECT_EQ(verdict("np.zeros(3)"),
            "'x' is now a plain array. expected an array that kernels do not hold, actual numpy.ndarray");
}

TEST_F(GuardKinds, array) {
  add(GuardKind::kArray, x());
  build();
  EXPECT_EQ(tree.describe(0), "type(x) is np.ndarray and x.flags.aligned and x.dtype.isnative");
  EXPECT_EQ(verdict("np.zeros(3)"), "holds");
  EXPECT_EQ(verdict("[1]"), "'x' is not a plain aligned native array. expected numpy.ndarray, actual list");
  EXPECT_EQ(verdict("np.matrix([1])"),
            "'x' is not a plain aligned native array. expected numpy.ndarray, actual numpy.matrix");
  EXPECT_EQ(
      verdict("np.zeros(3, '>f8')"),
      "'x' is not a plain aligned native array. expected numpy.ndarray, actual numpy.ndarray of dtype >f8");
  EXPECT_EQ(verdict("np.zeros(3, 'i1,f8')['f1']"),
            "'x' is not a plain aligned native array. expected numpy.ndarray, actual numpy.ndarray that is "
            "not aligned");
}

TEST_F(GuardKinds, dtype_rank_size_and_stride) {
  add_plain_array(x(), {32, 4});
  add_number(GuardKind::kStride, x(), 32, 0);
  build();
  EXPECT_EQ(tree.describe(1), "x.dtype == float64");
  EXPECT_EQ(tree.describe(2), "x.ndim == 2");
  EXPECT_EQ(tree.describe(3), "x.shape[0] == 32");
  EXPECT_EQ(tree.describe(5), "x.strides[0] == 32");
  EXPECT_EQ(verdict("np.zeros((32, 4))"), "holds");
  EXPECT_EQ(verdict("np.zeros((32, 4), np.float32)"),
            "array 'x' dtype mismatch. expected float64, actual float32");
  EXPECT_EQ(verdict("np.zeros(32)"), "array 'x' rank mismatch. expected 2, actual 1");
  EXPECT_EQ(verdict("np.zeros((48, 4))"), "array 'x' size mismatch at index 0. expected 32, actual 48");
  EXPECT_EQ(verdict("np.zeros((32, 5))"), "array 'x' size mismatch at index 1. expected 4, actual 5");
  EXPECT_EQ(verdict("np.zeros((4, 32)).T"), "array 'x' stride mismatch at index 0. expected 32, actual 8");
}

TEST_F(GuardKinds, contiguous_and_writeable) {
  add_number(GuardKind::kContiguous, x(), 'C');
  add_number(GuardKind::kWriteable, x(), 1);
  build();
  EXPECT_EQ(tree.describe(0), "x.flags.c_contiguous");
  EXPECT_EQ(verdict("np.zeros((2, 3))"), "holds");
  EXPECT_EQ(verdict("np.zeros((3, 2)).T"),
            "array 'x' memory layout changed. expected c_contiguous, actual strides (8, 16)");
  EXPECT_EQ(verdict("np.frombuffer(bytes(8))"),
            "array 'x' writeable flag changed. expected True, actual False");
}

TEST_F(GuardKinds, new_strides) {
  add_number(GuardKind::kNewStrides, x(), 'C');
  build();
  EXPECT_EQ(tree.describe(0), "x.strides == np.empty_like(x, order='C').strides");
  EXPECT_EQ(verdict("np.zeros((3, 1))"), "holds");
  EXPECT_EQ(verdict("np.zeros((0, 5))"), "holds");
  EXPECT_EQ(
      verdict("np.zeros(3)[:, None]"),
      "array 'x' memory layout changed. expected np.empty_like(x, order='C').strides, actual strides (8, 0)");
  EXPECT_EQ(verdict("np.zeros((6, 5))[:0]"),
            "array 'x' memory layout changed. expected np.empty_like(x, order='C').strides, actual strides "
            "(40, 8)");
}

TEST_F(GuardKinds, length) {
  add_number(GuardKind::kLength, x(), 2);
  build();
  EXPECT_EQ(tree.describe(0), "len(x) == 2");
  EXPECT_EQ(verdict("[1, 2]"), "holds");
  EXPECT_EQ(verdict("(1, 2, 3)"), "length of 'x' changed. expected 2, actual 3");
  EXPECT_EQ(verdict("7"), "length of 'x' changed. expected 2, actual int");
}

TEST_F(GuardKinds, dict_keys_compare_in_order) {
  add_object(GuardKind::kDictKeys, x(), eval("('a', 'b')"));
  build();
  EXPECT_EQ(tree.describe(0), "list(x) == ['a', 'b']");
  EXPECT_EQ(verdict("{'a': 1, 'b': 2}"), "holds");
  EXPECT_EQ(verdict("{'b': 1, 'a': 2}"), "keys of 'x' changed. expected ['a', 'b'], actual ['b', 'a']");
}

TEST_F(GuardKinds, absent) {
  SourceId globals =
      set.sources.add({.kind = SourceKind::kGlobalsOf,
                       .parent = set.sources.add({.kind = SourceKind::kFunction, .name = "f"})});
  add_object(GuardKind::kAbsent, globals, eval("'len'"));
  build();
  EXPECT_EQ(tree.describe(0), "'len' not in f.__globals__");
  EXPECT_EQ(verdict("1"), "holds");
  eval("globals().__setitem__('len', 1)");
  EXPECT_EQ(verdict("1"), "'f.__globals__' now has 'len'. expected it to be absent, actual present");
}

TEST_F(GuardKinds, absent_of_a_class_looks_as_special_methods_do) {
  const SourceId type = set.sources.add({.kind = SourceKind::kTypeOf, .parent = x()});
  add_object(GuardKind::kAbsent, type, eval("'__len__'"));
  build();
  EXPECT_EQ(tree.describe(0), "'__len__' not in type(x)");
  EXPECT_EQ(verdict("1"), "holds");
  EXPECT_EQ(verdict("type('M', (type,), {'__len__': len})('V', (), {})()"), "holds");
  EXPECT_EQ(verdict("()"), "'type(x)' now has '__len__'. expected it to be absent, actual present");
}

TEST_F(GuardKinds, registrations) {
  Guard guard;
  guard.kind = GuardKind::kRegistrations;
  guard.source = x();
  guard.number = abc_registrations();
  set.guards.push_back(guard);
  build();
  EXPECT_EQ(verdict("1"), "holds");
  eval("__import__('numbers').Number.register(type('V', (), {}))");
  EXPECT_THAT(verdict("1"), ::testing::StartsWith(
                                "classes were registered with abstract base classes since 'x' was asked."));
}

TEST_F(GuardKinds, code) {
  add_object(GuardKind::kCode, global("g"), eval("g.__code__"));
  build();
  EXPECT_EQ(verdict("1"), "holds");
  eval("setattr(g, '__code__', (lambda: 2).__code__)");
  EXPECT_THAT(verdict("1"), ::testing::HasSubstr("function 'g' has other code. expected <code g, "));
}

TEST_F(GuardKinds, int_range) {
  add(GuardKind::kIntRange, x());
  bind(y(), SymbolBinding::What::kIntValue, -1, "y", 5, 0, 100);
  build();
  EXPECT_EQ(tree.describe(0), "x in range(-2**63, 2**63)");
  EXPECT_EQ(tree.describe(1), "y in range(0, 101)");
  EXPECT_EQ(verdict("-3", "7"), "holds");
  EXPECT_EQ(scratch.symbols[0], 7);
  EXPECT_EQ(verdict("2**70", "7"),
            "int 'x' left its range. expected in range(-2**63, 2**63), actual 1180591620717411303424");
  EXPECT_EQ(verdict("1", "101"), "int 'y' left its range. expected in range(0, 101), actual 101");
}

TEST_F(GuardKinds, size_range_and_shape_facts) {
  add(GuardKind::kArray, x());
  add_number(GuardKind::kRank, x(), 2);
  const SymInt size = bind(x(), SymbolBinding::What::kSize, 0, "x.shape[0]", 48);
  EXPECT_TRUE(env.le(size + 1, 64));
  build();
  EXPECT_EQ(tree.describe(2), "x.shape[0] >= 2");
  EXPECT_EQ(tree.describe(3), "x.shape[0] + 1 <= 64");
  EXPECT_EQ(verdict("np.zeros((50, 1))"), "holds");
  EXPECT_EQ(scratch.symbols[0], 50);
  EXPECT_EQ(verdict("np.zeros((1, 1))"), "array 'x' size mismatch at index 0. expected >= 2, actual 1");
  EXPECT_EQ(verdict("np.zeros((80, 1))"),
            "sizes no longer satisfy x.shape[0] + 1 <= 64. expected true, actual 81 <= 64 is false");
}

TEST_F(GuardKinds, stride_range) {
  add(GuardKind::kArray, x());
  add_number(GuardKind::kRank, x(), 1);
  bind(x(), SymbolBinding::What::kStride, 0, "x.strides[0] // 8", 3, 1, INT64_MAX);
  build();
  EXPECT_EQ(verdict("np.zeros(12)[::4]"), "holds");
  EXPECT_EQ(scratch.symbols[0], 4);
  EXPECT_EQ(verdict("np.zeros(12)[::-2]"), "array 'x' stride mismatch at index 0. expected >= 1, actual -2");
}

TEST_F(GuardKinds, no_overlap) {
  add(GuardKind::kNoOverlap, x()).other = y();
  build();
  EXPECT_EQ(tree.describe(0), "not np.shares_memory(x, y)");
  EXPECT_EQ(verdict("np.zeros(3)", "np.zeros(3)"), "holds");
  eval("globals().__setitem__('m', np.zeros(9))");
  EXPECT_EQ(verdict("m[::2]", "m[1::2]"), "holds");
  EXPECT_EQ(verdict("m[:5]", "m[4:]"), "arrays 'x' and 'y' share memory. expected none, actual overlap");
}

TEST_F(GuardKinds, same_and_not_same_object) {
  add(GuardKind::kSameObject, x()).other = y();
  build();
  EXPECT_EQ(verdict("k", "k"), "holds");
  EXPECT_EQ(verdict("k", "8"),
            "'x' and 'y' are no longer the same object. expected the same, actual different");
  add(GuardKind::kNotSameObject, x()).other = y();
  build();
  EXPECT_EQ(verdict("k", "8"), "holds");
  EXPECT_EQ(verdict("k", "k"), "'x' and 'y' are now the same object. expected different, actual the same");
}

TEST_F(GuardKinds, a_source_that_cannot_be_fetched_fails_its_first_guard) {
  const SourceId w = attribute(x(), "w");
  add_object(GuardKind::kType, element(w, 0), eval("int"));
  add_object(GuardKind::kConstant, element(w, 0), eval("1"));
  build();
  EXPECT_EQ(tree.describe(0), "type(x.w[0]) is int");
  names = testing::run_python("def f(x, y): pass\nclass A: pass\na = A(); a.w = [1]\nb = A()");
  EXPECT_EQ(verdict("a"), "holds");
  EXPECT_EQ(verdict("b"), "type of 'x.w[0]' changed. expected int, actual <missing>");
  EXPECT_EQ(tree.failing(frame("b").input()), std::vector<int>{0});
}

}  // namespace
}  // namespace suture
