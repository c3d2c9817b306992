// Sources are named as a user would write them, and fetched without running user code.
#include "cpython/objects.h"
#include "guard_fixture.h"

namespace suture {
namespace {

class Sources : public GuardFixture {
 protected:
  SourceId key(SourceId parent, const char* expression) {
    return set.sources.add({.kind = SourceKind::kKey, .parent = parent, .key = eval(expression)});
  }
  SourceId derived(SourceKind kind, SourceId parent, int index = -1, const char* name = "") {
    return set.sources.add({.kind = kind, .parent = parent, .index = index, .name = name});
  }
  std::string str(SourceId id) { return set.sources.str(id); }
};

TEST_F(Sources, are_named_as_the_user_writes_them) {
  EXPECT_EQ(str(x()), "x");
  EXPECT_EQ(str(element(attribute(local(0, "self"), "w"), 0)), "self.w[0]");
  EXPECT_EQ(str(key(local(0, "d"), "'k'")), "d['k']");
  EXPECT_EQ(str(attribute(global("np"), "pi")), "np.pi");
  EXPECT_EQ(str(key(derived(SourceKind::kGlobalsOf, global("helper")), "'scale'")), "scale");
  EXPECT_EQ(str(derived(SourceKind::kClosureOf, global("helper"), 1)), "helper.__closure__[1].cell_contents");
  EXPECT_EQ(str(derived(SourceKind::kDefaultOf, global("helper"), -1)), "helper.__defaults__[-1]");
  EXPECT_EQ(str(derived(SourceKind::kKwDefaultOf, global("helper"), -1, "eps")),
            "helper.__kwdefaults__['eps']");
  EXPECT_EQ(str(derived(SourceKind::kTypeOf, x())), "type(x)");
  EXPECT_EQ(str(derived(SourceKind::kBaseOf, x())), "x.base");
  EXPECT_EQ(str(derived(SourceKind::kMroOf, derived(SourceKind::kTypeOf, x()))), "type(x).__mro__");
  EXPECT_EQ(
      str(set.sources.add({.kind = SourceKind::kSuper, .parent = x(), .name = "m", .key = eval("int")})),
      "super(int, x).m");
}

TEST_F(Sources, equal_sources_get_one_id) {
  EXPECT_EQ(attribute(x(), "w"), attribute(x(), "w"));
  EXPECT_EQ(key(x(), "'a'"), key(x(), "'a'"));
  EXPECT_NE(key(x(), "1"), key(x(), "True"));
  EXPECT_NE(attribute(x(), "w"), attribute(y(), "w"));
}

TEST_F(Sources, every_kind_fetches_its_value) {
  names = testing::run_python(R"(
import types
ran = []
scale = 3
class A:
    size = 'class'
    def __init__(self): self.w = [10, 11]
    def __getattr__(self, name): ran.append(name)
    def m(self): pass
class B(A):
    def m(self): pass
def outer():
    cell = 'cell'
    def f(x, y=1, *, eps=0.5): return cell, x
    return f
f = outer()
a = A(); b = B(); d = {'k': 'value'}; method = a.m
view = np.zeros(4)[1:]
)");
  const auto check = [&](SourceId id, const char* value_of_x, const char* expected) {
    Frame call = frame(value_of_x);
    PyView value = fetch(set.sources, id, call.input());
    EXPECT_EQ(value, eval(expected).get()) << str(id);
    EXPECT_EQ(testing::take_exception(), "");
  };
  const SourceId function = set.sources.add({.kind = SourceKind::kFunction});
  check(x(), "a", "a");
  check(set.sources.add({.kind = SourceKind::kCell, .index = 0, .name = "cell"}), "1",
        "f.__closure__[0].cell_contents");
  check(global("scale"), "1", "scale");
  check(set.sources.add({.kind = SourceKind::kBuiltin, .name = "len"}), "1", "len");
  check(function, "1", "f");
  check(attribute(x(), "w"), "a", "a.w");
  check(attribute(x(), "size"), "a", "A.size");
  check(derived(SourceKind::kAttr, x(), static_cast<int>(Binding::kInstance), "m"), "a", "A.m");
  check(derived(SourceKind::kClassAttr, derived(SourceKind::kTypeOf, x()), -1, "m"), "a", "A.m");
  check(set.sources.add({.kind = SourceKind::kSuper, .parent = x(), .name = "m", .key = eval("B")}), "b",
        "A.m");
  check(attribute(global("np"), "pi"), "1", "np.pi");
  check(element(attribute(x(), "w"), 1), "a", "a.w[1]");
  check(key(x(), "'k'"), "d", "d['k']");
  check(derived(SourceKind::kGlobalsOf, function), "1", "f.__globals__");
  check(derived(SourceKind::kClosureOf, function, 0), "1", "f.__closure__[0].cell_contents");
  check(derived(SourceKind::kDefaultOf, function, -1), "1", "f.__defaults__[-1]");
  check(derived(SourceKind::kKwDefaultOf, function, -1, "eps"), "1", "f.__kwdefaults__['eps']");
  check(derived(SourceKind::kCodeOf, function), "1", "f.__code__");
  check(derived(SourceKind::kSelfOf, x()), "method", "a");
  check(derived(SourceKind::kFuncOf, x()), "method", "A.m");
  check(derived(SourceKind::kTypeOf, x()), "a", "A");
  check(derived(SourceKind::kMroOf, derived(SourceKind::kTypeOf, x())), "b", "B.__mro__");
  check(derived(SourceKind::kBaseOf, x()), "view", "view.base");
  // Bound in another way, it is another value.
  EXPECT_EQ(fetch(set.sources, attribute(x(), "m"), frame("a").input()), nullptr);
  EXPECT_EQ(fetch(set.sources, attribute(x(), "absent"), frame("a").input()), nullptr);
  EXPECT_EQ(fetch(set.sources, element(x(), 5), frame("(1,)").input()), nullptr);
  EXPECT_EQ(fetch(set.sources, element(x(), 0), frame("d").input()), nullptr);
  EXPECT_EQ(fetch(set.sources, local(9, "z"), frame("d").input()), nullptr);
  EXPECT_EQ(testing::repr(get("ran")), "[]");
}

}  // namespace
}  // namespace suture
