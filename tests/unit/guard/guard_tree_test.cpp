// Properties of whole trees: agreement of the fast and the explaining path, and ownership.
#include "guard/guard_tree.h"

#include <chrono>
#include <random>

#include "guard_fixture.h"

namespace suture {
namespace {

using GuardTrees = GuardFixture;

// A frame that satisfies many guards, then random replacements of its arguments: the flat program, the search
// for the first failing guard and the list of all failing guards must agree every time.
TEST_F(GuardTrees, evaluate_accepts_exactly_when_no_guard_fails_under_random_mutation) {
  add_plain_array(x(), {3, 4});
  add_number(GuardKind::kContiguous, x(), 'C');
  add_number(GuardKind::kWriteable, x(), 1);
  add_object(GuardKind::kType, y(), eval("list"));
  add_number(GuardKind::kLength, y(), 3);
  add(GuardKind::kArray, element(y(), 0));
  add_number(GuardKind::kRank, element(y(), 0), 1);
  add_number(GuardKind::kStride, element(y(), 0), 8, 0);
  add_object(GuardKind::kConstant, element(y(), 1), eval("'mode'"));
  add(GuardKind::kNoOverlap, x()).other = element(y(), 0);
  add_object(GuardKind::kIdentity, attribute(global("np"), "sin"), eval("np.sin"));
  const SymInt size = bind(element(y(), 0), SymbolBinding::What::kSize, 0, "y[0].shape[0]", 5);
  const SymInt n = bind(element(y(), 2), SymbolBinding::What::kIntValue, -1, "y[2]", 4, INT64_MIN);
  ASSERT_TRUE(env.lt(n, size));
  build();

  const char* kFirst[] = {"m",
                          "m[:, ::1]",
                          "np.zeros((3, 4))",
                          "np.zeros((4, 3)).T",
                          "np.zeros((3, 5))",
                          "np.zeros(12)",
                          "np.zeros((3, 4), 'f4')",
                          "np.zeros((3, 4), '>f8')",
                          "np.zeros((6, 4))[::2]",
                          "7",
                          "None",
                          "np.broadcast_to(1.0, (3, 4))",
                          "np.ma.zeros((3, 4))"};
  const char* kSecond[] = {"[np.zeros(5), 'mode', 4]",
                           "[np.zeros(5), 'mode', 5]",
                           "[np.zeros(1), 'mode', 0]",
                           "[m[0], 'mode', 1]",
                           "[np.zeros(9)[::2], 'mode', 1]",
                           "[np.zeros(5), 'made', 4]",
                           "[np.zeros(5), 'mode']",
                           "(np.zeros(5), 'mode', 4)",
                           "[np.zeros(7), 'mode', 2**80]",
                           "[1, 2, 3]",
                           "[np.zeros((5, 1)), 'mode', 1]",
                           "[np.zeros(8), 'mode', -1]",
                           "3"};
  eval("globals().__setitem__('m', np.zeros((3, 4)))");
  int accepted = 0;
  std::vector<double> ns;
  for (const char* first : kFirst) {
    for (const char* second : kSecond) {
      Frame call = frame(first, second);
      const int guard = tree.evaluate(call.input(), scratch);
      const std::vector<int> failing = tree.failing(call.input());
      EXPECT_EQ(guard, failing.empty() ? -1 : failing.front()) << first << ", " << second;
      EXPECT_EQ(tree.matches(call.input(), scratch), guard < 0);
      const int refusing = tree.refusing(call.input(), scratch);
      EXPECT_EQ(refusing < 0, guard < 0);
      EXPECT_TRUE(refusing < 0 || std::ranges::find(failing, refusing) != failing.end())
          << first << ", " << second << ": " << tree.describe(refusing);
      EXPECT_EQ(tree.measure(call.input(), scratch, ns), guard < 0);
      if (guard < 0) ++accepted;
      for (int index : failing) {
        const std::string sentence = tree.explain_failure(index, call.input()).sentence();
        EXPECT_THAT(sentence, ::testing::HasSubstr("expected")) << first << ", " << second;
        EXPECT_THAT(sentence, ::testing::HasSubstr("actual"));
        EXPECT_THAT(sentence, ::testing::Not(::testing::HasSubstr("{")));
      }
      EXPECT_EQ(testing::take_exception(), "");
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST_F(GuardTrees, random_subsets_of_array_guards_agree_with_their_explanation) {
  std::mt19937 random(20240817);
  const char* kArrays[] = {
      "np.zeros((2, 3))", "np.zeros((3, 2)).T", "np.zeros((2, 3), 'i4')", "np.zeros((2, 1, 3))[:, 0]",
      "np.zeros((0, 3))", "np.array(1.0)",      "np.zeros((2, 3))[::-1]", "np.broadcast_to(1.0, (2, 3))"};
  const GuardKind kKinds[] = {GuardKind::kArray,      GuardKind::kDtype,    GuardKind::kRank,
                              GuardKind::kSize,       GuardKind::kStride,   GuardKind::kContiguous,
                              GuardKind::kNewStrides, GuardKind::kWriteable};
  for (int round = 0; round < 300; ++round) {
    const PyRef model = eval(kArrays[random() % std::size(kArrays)]);
    const ArrayFacts facts = array_facts(model.get());
    for (int i = 0; i < 6; ++i) {
      const GuardKind kind = kKinds[random() % std::size(kKinds)];
      const int axis = facts.ndim ? static_cast<int>(random() % static_cast<unsigned>(facts.ndim)) : 0;
      const int64_t sometimes_wrong = random() % 8 == 0;
      int64_t number = 0;
      if (kind == GuardKind::kDtype) number = static_cast<int64_t>(*facts.dtype);
      if (kind == GuardKind::kRank) number = facts.ndim;
      if (kind == GuardKind::kSize) number = facts.ndim ? facts.shape[axis] : 0;
      if (kind == GuardKind::kStride) number = facts.ndim ? facts.strides[axis] : 0;
      if (kind == GuardKind::kWriteable) number = facts.writeable;
      if (kind == GuardKind::kContiguous || kind == GuardKind::kNewStrides)
        number = facts.f_contiguous ? 'F' : 'C';
      else
        number += sometimes_wrong;
      if (kind == GuardKind::kDtype) number %= static_cast<int64_t>(DType::kFloat64) + 1;
      add_number(kind, x(), number, axis);
    }
    build();
    for (const char* text : kArrays) {
      Frame call = frame(text);
      const std::vector<int> failing = tree.failing(call.input());
      EXPECT_EQ(tree.evaluate(call.input(), scratch), failing.empty() ? -1 : failing.front()) << text;
    }
  }
}

TEST_F(GuardTrees, user_instances_are_held_weakly_and_arrays_are_not_kept_alive) {
  names = testing::run_python(
      "import weakref\ndef f(x, y): pass\nclass A: pass\na = A(); big = np.zeros(5)\n"
      "wa = weakref.ref(a); wb = weakref.ref(big)");
  add_object(GuardKind::kIdentity, x(), eval("a"));
  add_object(GuardKind::kIdentity, y(), eval("big"));
  build();
  EXPECT_EQ(verdict("a", "big"), "holds");
  eval("[globals().pop(n) for n in ('a', 'big')]");
  EXPECT_EQ(testing::repr(eval("wa(), wb()").get()), "(None, None)");
  EXPECT_THAT(
      verdict("A()", "1"),
      ::testing::HasSubstr("'x' is another object. expected <collected>, actual <__suture_test__.A object>"));
}

TEST_F(GuardTrees, functions_modules_and_classes_are_held_visited_and_released_by_clear) {
  PyRef function = testing::python_object("def h(): pass\nresult = h");
  const Py_ssize_t before = Py_REFCNT(function.get());
  add_object(GuardKind::kIdentity, x(), function);
  build();
  EXPECT_EQ(Py_REFCNT(function.get()), before + 1);
  std::vector<PyObject*> visited;
  const visitproc visit = [](PyObject* object, void* list) {
    static_cast<std::vector<PyObject*>*>(list)->push_back(object);
    return 0;
  };
  EXPECT_EQ(tree.traverse(visit, &visited), 0);
  EXPECT_THAT(visited, ::testing::ElementsAre(function.get()));
  tree.clear();
  EXPECT_EQ(Py_REFCNT(function.get()), before);
}

TEST_F(GuardTrees, attributes_of_a_module_are_compared_again_when_the_module_changes) {
  names = testing::run_python(
      "import types\ndef f(x, y): pass\nm = types.ModuleType('m'); m.a, m.b, m.other = len, max, 0\n"
      "m.sub = types.ModuleType('m.sub'); m.sub.c = min");
  const SourceId module = global("m"), inner = attribute(module, "sub");
  add_object(GuardKind::kIdentity, module, eval("m"));
  add_object(GuardKind::kIdentity, attribute(module, "a"), eval("m.a"));
  add_object(GuardKind::kIdentity, inner, eval("m.sub"));
  add_object(GuardKind::kIdentity, attribute(inner, "c"), eval("m.sub.c"));
  add_object(GuardKind::kIdentity, attribute(module, "b"), eval("m.b"));
  build();
  const auto after = [&](const char* change) {
    eval(change);
    return verdict("1").substr(0, verdict("1").find(" is another object."));
  };
  EXPECT_EQ(after("0"), "holds");
  EXPECT_EQ(after("setattr(m, 'other', 1)"), "holds");
  EXPECT_EQ(after("setattr(m, 'b', min)"), "'m.b'");
  EXPECT_EQ(after("setattr(m, 'b', max)"), "holds");
  EXPECT_EQ(after("delattr(m, 'a')"), "'m.a'");
  EXPECT_EQ(after("setattr(m, 'a', len)"), "holds");
  EXPECT_EQ(after("setattr(m.sub, 'c', max)"), "'m.sub.c'");
  EXPECT_EQ(after("setattr(m.sub, 'c', min)"), "holds");
  EXPECT_EQ(after("setattr(m, 'sub', types.ModuleType('m.sub'))"), "'m.sub'");
}

TEST_F(GuardTrees, evaluation_changes_no_reference_count) {
  add_plain_array(x(), {3});
  add_object(GuardKind::kIdentity, attribute(global("np"), "sin"), eval("np.sin"));
  build();
  Frame call = frame("np.zeros(3)");
  const Py_ssize_t of_array = Py_REFCNT(call.raw[0]), of_sin = Py_REFCNT(eval("np.sin").get());
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(tree.evaluate(call.input(), scratch), -1);
  EXPECT_EQ(Py_REFCNT(call.raw[0]), of_array);
  EXPECT_EQ(Py_REFCNT(eval("np.sin").get()), of_sin);
}

TEST_F(GuardTrees, an_incomplete_guard_is_an_internal_error) {
  add(GuardKind::kType, x());
  Result<GuardTree> result = GuardTree::build(std::move(set), std::move(env));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "type guard without object");
  EXPECT_EQ(result.error().kind, ErrorKind::kInternal);
}

}  // namespace
}  // namespace suture
