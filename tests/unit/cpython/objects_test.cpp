// lookup_attribute answers as getattr would, and says how, without running a line of user code.
#include "cpython/objects.h"

#include <gtest/gtest.h>

#include "support/embed.h"

namespace suture {
namespace {

using testing::item;
using testing::run_python;
using Where = AttributeLookup::Where;

AttributeLookup lookup(PyView object, const char* name) {
  PyRef text = PyRef::steal(PyUnicode_InternFromString(name));
  AttributeLookup result = lookup_attribute(object, text.get());
  EXPECT_EQ(testing::take_exception(), "");
  return result;
}

constexpr const char* kClasses = R"(
ran = []
class Base:
    inherited = 5
    def step(self): ran.append('step')
    @staticmethod
    def plain(): ran.append('plain')
    @classmethod
    def make(cls): ran.append('make')
    @property
    def area(self): ran.append('area'); return 3
class A(Base):
    def __init__(self): self.w = [1]
class Slotted:
    __slots__ = ('a', 'b')
    def __init__(self): self.a = 7
class Asking:
    known = 1
    def __getattr__(self, name): ran.append(name); return 9
class Closed:
    x = 1
    def __getattribute__(self, name): ran.append(name); return 9
class Custom:
    def __get__(self, obj, cls): ran.append('get'); return 9
class Holder:
    d = Custom()
class Meta(type):
    def __getattr__(cls, name): ran.append(name); return 1
    @property
    def meta_property(cls): ran.append('meta'); return 1
class WithMeta(metaclass=Meta):
    present = 2
a, s, q, c, h = A(), Slotted(), Asking(), Closed(), Holder()
shadow = A()
shadow.step = 'mine'
import types
asked = types.ModuleType('asked')
asked.__getattr__ = lambda name: ran.append(name)
)";

class LookupAttribute : public ::testing::Test {
 protected:
  PyRef dict = run_python(kClasses);
  PyView get(const char* name) { return item(dict.get(), name); }
  ~LookupAttribute() override { EXPECT_EQ(testing::repr(get("ran")), "[]") << "user code ran"; }
};

TEST_F(LookupAttribute, instance_dict_values_are_found_on_the_instance) {
  const AttributeLookup w = lookup(get("a"), "w");
  EXPECT_EQ(w.where, Where::kInstance);
  EXPECT_EQ(testing::repr(w.value.get()), "[1]");
}

TEST_F(LookupAttribute, inherited_plain_data_is_type_data) {
  const AttributeLookup v = lookup(get("a"), "inherited");
  EXPECT_EQ(v.where, Where::kTypeData);
  EXPECT_EQ(testing::repr(v.value.get()), "5");
}

TEST_F(LookupAttribute, functions_static_and_class_methods_and_properties_come_unbound) {
  PyView a = get("a");
  PyRef base_step = testing::evaluate_python("Base.__dict__['step']", dict.get());
  PyRef base_plain = testing::evaluate_python("Base.__dict__['plain'].__func__", dict.get());
  PyRef base_make = testing::evaluate_python("Base.__dict__['make'].__func__", dict.get());
  PyRef base_area = testing::evaluate_python("Base.__dict__['area']", dict.get());
  EXPECT_EQ(lookup(a, "step").where, Where::kMethod);
  EXPECT_EQ(lookup(a, "step").value.get(), base_step.get());
  EXPECT_EQ(lookup(a, "plain").where, Where::kStaticMethod);
  EXPECT_EQ(lookup(a, "plain").value.get(), base_plain.get());
  EXPECT_EQ(lookup(a, "make").where, Where::kClassMethod);
  EXPECT_EQ(lookup(a, "make").value.get(), base_make.get());
  EXPECT_EQ(lookup(a, "area").where, Where::kProperty);
  EXPECT_EQ(lookup(a, "area").value.get(), base_area.get());
}

TEST_F(LookupAttribute, an_instance_value_shadows_a_method) {
  const AttributeLookup v = lookup(get("shadow"), "step");
  EXPECT_EQ(v.where, Where::kInstance);
  EXPECT_EQ(testing::repr(v.value.get()), "'mine'");
}

TEST_F(LookupAttribute, slots_are_read_and_an_unset_slot_is_missing) {
  EXPECT_EQ(lookup(get("s"), "a").where, Where::kInstance);
  EXPECT_EQ(testing::repr(lookup(get("s"), "a").value.get()), "7");
  EXPECT_EQ(lookup(get("s"), "b").where, Where::kMissing);
}

TEST_F(LookupAttribute, missing_is_missing_unless_getattr_would_be_asked) {
  EXPECT_EQ(lookup(get("a"), "nothing").where, Where::kMissing);
  EXPECT_EQ(lookup(get("q"), "nothing").where, Where::kOpaque);
  EXPECT_EQ(lookup(get("q"), "known").where, Where::kTypeData);
}

TEST_F(LookupAttribute, getattribute_overrides_and_custom_descriptors_are_opaque) {
  EXPECT_EQ(lookup(get("c"), "x").where, Where::kOpaque);
  EXPECT_EQ(lookup(get("h"), "d").where, Where::kOpaque);
  EXPECT_EQ(lookup(get("Holder"), "d").where, Where::kOpaque);
}

TEST_F(LookupAttribute, classes_give_their_functions_as_they_are) {
  PyRef base_step = testing::evaluate_python("Base.__dict__['step']", dict.get());
  EXPECT_EQ(lookup(get("A"), "step").where, Where::kTypeData);
  EXPECT_EQ(lookup(get("A"), "step").value.get(), base_step.get());
  EXPECT_EQ(lookup(get("A"), "make").where, Where::kClassMethod);
  EXPECT_EQ(lookup(get("A"), "inherited").where, Where::kTypeData);
  EXPECT_EQ(lookup(get("A"), "__name__").where, Where::kOpaque);
}

TEST_F(LookupAttribute, metaclass_hooks_make_only_missing_names_opaque) {
  EXPECT_EQ(lookup(get("WithMeta"), "present").where, Where::kTypeData);
  EXPECT_EQ(lookup(get("WithMeta"), "absent").where, Where::kOpaque);
  EXPECT_EQ(lookup(get("WithMeta"), "meta_property").where, Where::kOpaque);
}

TEST_F(LookupAttribute, module_members_are_instance_values) {
  EXPECT_EQ(lookup(get("np"), "pi").where, Where::kInstance);
  EXPECT_EQ(lookup(get("types"), "nothing").where, Where::kMissing);
  EXPECT_EQ(lookup(get("asked"), "nothing").where, Where::kOpaque);
}

TEST_F(LookupAttribute, attributes_of_c_types_are_opaque) {
  PyRef array = testing::evaluate_python("np.zeros(3)");
  EXPECT_EQ(lookup(array.get(), "shape").where, Where::kOpaque);
  EXPECT_EQ(lookup(array.get(), "nothing").where, Where::kMissing);
}

TEST(TypeName, has_the_module_except_for_builtins) {
  EXPECT_EQ(type_name(testing::evaluate_python("np.zeros(3)").get()), "numpy.ndarray");
  EXPECT_EQ(type_name(testing::evaluate_python("np.ndarray").get()), "numpy.ndarray");
  EXPECT_EQ(type_name(testing::evaluate_python("3").get()), "int");
  PyRef mine = testing::python_object("class Outer:\n  class Inner: pass\nresult = Outer.Inner()");
  EXPECT_EQ(type_name(mine.get()), "__suture_test__.Outer.Inner");
}

TEST(ShortRepr, prints_builtin_values_and_never_calls_a_user_repr) {
  EXPECT_EQ(short_repr(testing::evaluate_python("(1, 'a', None, 2.5)").get()), "(1, 'a', None, 2.5)");
  EXPECT_EQ(short_repr(testing::evaluate_python("'x' * 100").get(), 10), "'xxxxxx...");
  PyRef mine = testing::python_object("class C:\n  def __repr__(self): raise SystemError\nresult = (1, C())");
  EXPECT_EQ(short_repr(mine.get()), "(1, <__suture_test__.C object>)");
  EXPECT_EQ(short_repr(PyTuple_GET_ITEM(mine.get(), 1)), "<__suture_test__.C object>");
  EXPECT_EQ(short_repr(testing::evaluate_python("np").get()), "<module numpy>");
  EXPECT_EQ(short_repr(testing::evaluate_python("len").get()), "<built-in len>");
  PyRef function = testing::python_object("def f(): pass\nresult = f");
  EXPECT_EQ(short_repr(function.get()), "<function f>");
}

TEST(FunctionParts, are_those_of_the_function) {
  PyRef function =
      testing::python_object("def outer(k):\n  def f(): return k\n  return f\nresult = outer(41)");
  EXPECT_TRUE(is_python_function(function.get()));
  EXPECT_TRUE(PyCode_Check(function_code(function.get())));
  EXPECT_EQ(testing::repr(cell_contents(PyTuple_GET_ITEM(function_closure(function.get()), 0))), "41");
  EXPECT_TRUE(PyDict_Check(function_builtins(function.get())));
}

TEST(PendingExceptionText, describes_and_keeps_the_exception) {
  PyErr_SetString(PyExc_ValueError, "bad shape");
  EXPECT_EQ(pending_exception_text(), "ValueError: bad shape");
  EXPECT_EQ(testing::take_exception(), "ValueError: bad shape");
  EXPECT_EQ(pending_exception_text(), "");
}

}  // namespace
}  // namespace suture
