// A JitCallable is called, bound, named and pickled like the function it stands for.
#include "cpython/jit_callable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpython/call_binding.h"
#include "cpython/tail_call.h"
#include "support/embed.h"

namespace suture {
namespace {

using testing::evaluate_python;
using testing::item;
using testing::repr;
using testing::run_python;
using testing::take_exception;

// Answers a call with the bound arguments as a tuple, or calls the function.
class Recorder : public FrameState {
 public:
  Recorder(int* live, bool call) : live_(live), call_(call) { ++*live_; }
  ~Recorder() override { --*live_; }
  PyObject* on_call(PyView function, std::span<PyObject* const> bound) override {
    first = bound.data();
    if (call_) return call_with_bound(function, bound);
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(bound.size()));
    for (size_t i = 0; i < bound.size(); ++i)
      PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyRef::borrow(bound[i]).release());
    return tuple;
  }
  int traverse(visitproc visit, void* arg) override {
    Py_VISIT(held.get());
    return 0;
  }
  void clear() override { held = {}; }
  PyRef held;
  PyObject* const* first = nullptr;

 private:
  int* live_;
  bool call_;
};

class JitCallables : public ::testing::Test {
 protected:
  PyRef names;
  // Outlives the test: the collector may free a callable later, and its recorder still counts.
  int& live = *new int(0);
  Recorder* state = nullptr;

  // Defines `source` and puts a callable around its `f` under the name `c`.
  void define(const std::string& source, bool call = false) {
    names = run_python(source);
    auto owned = std::make_unique<Recorder>(&live, call);
    state = owned.get();
    PyRef callable = make_jit_callable(item(names.get(), "f"), std::move(owned));
    PyDict_SetItemString(names.get(), "c", callable.get());
  }
  std::string value(const std::string& expression) {
    return repr(evaluate_python(expression, names.get()).get());
  }
  // Type and message of the exception that `expression` raises.
  std::string error(const std::string& expression) {
    PyRef code = PyRef::steal(Py_CompileString(expression.c_str(), "<test>", Py_eval_input));
    PyRef result = PyRef::steal(PyEval_EvalCode(code.get(), names.get(), names.get()));
    EXPECT_FALSE(result) << expression;
    return take_exception();
  }
};

TEST_F(JitCallables, arguments_are_bound_in_localsplus_order) {
  define("def f(a, b=2, /, c=3, *args, d, e=5, **kw): pass");
  EXPECT_EQ(value("c(1, d=4)"), "(1, 2, 3, 4, 5, (), {})");
  EXPECT_EQ(value("c(1, 20, 30, 40, 50, d=4, e=6, g=7, a=8)"),
            "(1, 20, 30, 4, 6, (40, 50), {'g': 7, 'a': 8})");
  EXPECT_EQ(value("c(*[1], **{'c': 9, 'd': 4})"), "(1, 2, 9, 4, 5, (), {})");
}

TEST_F(JitCallables, defaults_are_read_at_the_call) {
  define("def f(a, b=2, *, k=3): pass");
  EXPECT_EQ(value("c(1)"), "(1, 2, 3)");
  EXPECT_EQ(value("[setattr(f, '__defaults__', (20,)), setattr(f, '__kwdefaults__', {'k': 30}), c(1)][-1]"),
            "(1, 20, 30)");
}

TEST_F(JitCallables, wrong_arguments_raise_the_type_error_of_the_function) {
  define("def f(a, b, /, c, *, d): pass");
  for (const char* call : {"(1)", "(1, 2)", "(1, 2, 3)", "(1, 2, 3, 4, d=1)", "(1, 2, 3, c=3, d=1)",
                           "(1, 2, 3, d=1, z=1)", "(1, 2, b=2, c=3, d=4)", "(1, 2, 3, **{'d': 1, 1: 2})"})
    EXPECT_EQ(error(std::string("c") + call), error(std::string("f") + call)) << call;
}

TEST_F(JitCallables, a_plain_positional_call_copies_no_argument) {
  define("def f(a, b): pass");
  PyRef one = evaluate_python("1000"), two = evaluate_python("2000");
  PyObject* arguments[] = {one.get(), two.get()};
  PyRef result = PyRef::steal(PyObject_Vectorcall(item(names.get(), "c"), arguments, 2, nullptr));
  EXPECT_EQ(state->first, arguments);
}

TEST_F(JitCallables, calls_with_bound_arguments_reach_the_function_unchanged) {
  define("def f(a, b=2, /, *args, d, **kw): return a, b, args, d, kw", /*call=*/true);
  EXPECT_EQ(value("c(1, d=4)"), "(1, 2, (), 4, {})");
  EXPECT_EQ(value("c(1, 2, 3, d=4, a=5, z=6)"), "(1, 2, (3,), 4, {'a': 5, 'z': 6})");
}

TEST_F(JitCallables, binds_as_a_method_and_works_under_staticmethod_and_classmethod) {
  define("def f(self, x): pass");
  EXPECT_EQ(value("[type('A', (), {'m': c})().m(3)[1], type('A', (), {'m': staticmethod(c)}).m(1, 2), "
                  "type('A', (), {'m': classmethod(c)}).m(5)[1]]"),
            "[3, (1, 2), 5]");
  EXPECT_EQ(value("type('A', (), {'m': c}).m is c"), "True");
  EXPECT_EQ(value("(lambda a: a.m.__self__ is a and a.m.__func__ is c)(type('A', (), {'m': c})())"), "True");
}

TEST_F(JitCallables, carries_the_names_signature_and_attributes_of_the_function) {
  define("import inspect, functools\ndef f(a: int, b=2, *, k) -> str:\n  'doc of f'\nf.extra = 1");
  EXPECT_EQ(value("c.__name__, c.__qualname__, c.__doc__, c.__module__"),
            "('f', 'f', 'doc of f', '__suture_test__')");
  EXPECT_EQ(value("c.__wrapped__ is f, c.extra, c.__defaults__, c.__code__ is f.__code__, c.__annotations__"),
            "(True, 1, (2,), True, {'a': <class 'int'>, 'return': <class 'str'>})");
  EXPECT_EQ(value("str(inspect.signature(c))"), "'(a: int, b=2, *, k) -> str'");
  EXPECT_EQ(value("str(inspect.signature(type('A', (), {'m': c})().m))"), "'(b=2, *, k) -> str'");
  EXPECT_EQ(value("[setattr(c, 'mine', 5), c.mine, c.__dict__, hasattr(f, 'mine')][1:]"),
            "[5, {'mine': 5}, False]");
  EXPECT_EQ(value("[setattr(c, '__name__', 'g'), f.__name__, setattr(c, '__name__', 'f')][1]"), "'g'");
  EXPECT_EQ(value("functools.wraps(c)(lambda: 0).__name__, callable(c), hasattr(c, 'nothing')"),
            "('f', True, False)");
  EXPECT_EQ(error("c.nothing"), "AttributeError: 'function' object has no attribute 'nothing'");
  EXPECT_THAT(value("c"), ::testing::StartsWith("<suture.compile of f at 0x"));
}

TEST_F(JitCallables, pickles_and_copies_by_reference) {
  define(
      "import sys, types, pickle, copy\nm = types.ModuleType('made'); sys.modules['made'] = m\n"
      "def f(): pass\nf.__module__ = 'made'");
  evaluate_python("setattr(m, 'f', c)", names.get());
  EXPECT_EQ(value("pickle.loads(pickle.dumps(c)) is c, copy.copy(c) is c, copy.deepcopy([c])[0] is c"),
            "(True, True, True)");
}

TEST_F(JitCallables, supports_weak_references_and_frees_its_state) {
  define("import weakref\ndef f(): pass");
  evaluate_python("globals().__setitem__('w', weakref.ref(c))", names.get());
  EXPECT_EQ(live, 1);
  evaluate_python("globals().pop('c') and None", names.get());
  EXPECT_EQ(value("w()"), "None");
  EXPECT_EQ(live, 0);
}

TEST_F(JitCallables, a_cycle_through_its_state_or_dict_is_collected) {
  define("import gc\ndef f(): pass");
  state->held = PyRef::borrow(item(names.get(), "c"));
  evaluate_python("setattr(c, 'me', c)", names.get());
  PyDict_DelItemString(names.get(), "c");
  EXPECT_EQ(live, 1);
  evaluate_python("gc.collect()", names.get());
  EXPECT_EQ(live, 0);
}

TEST_F(JitCallables, a_recursive_function_through_its_own_callable_is_collected) {
  {
    PyRef scope = run_python("def f(n): return c(n - 1) if n else 0");
    PyRef callable = make_jit_callable(item(scope.get(), "f"), std::make_unique<Recorder>(&live, true));
    PyDict_SetItemString(scope.get(), "c", callable.get());
    EXPECT_EQ(repr(evaluate_python("c(5)", scope.get()).get()), "0");
  }
  evaluate_python("__import__('gc').collect()");
  EXPECT_EQ(live, 0);
}

TEST_F(JitCallables, endless_recursion_is_a_recursion_error) {
  define("def f(): return c()", /*call=*/true);
  EXPECT_THAT(error("c()"), ::testing::StartsWith("RecursionError: maximum recursion depth exceeded"));
}

TEST_F(JitCallables, exceptions_pass_through) {
  define("def f(x): raise KeyError(x)", /*call=*/true);
  EXPECT_EQ(error("c('gone')"), "KeyError: 'gone'");
}

// A function that is made where that callable's was would give its own tail call to its caller.
TEST_F(JitCallables, a_tail_call_of_a_bypassed_callable_is_over_when_it_starts) {
  define("def f(a): return a");
  state->bypass = true;
  PyRef call = PyRef::steal(PyTuple_Pack(3, tail_call_marker(), item(names.get(), "c"), Py_None));
  PyRef result = PyRef::steal(finish_tail_call(call.release()));
  EXPECT_EQ(result.get(), Py_None);
  EXPECT_FALSE(starts_as_tail_call(item(names.get(), "f")));
}

TEST_F(JitCallables, calls_are_counted_and_a_bypassed_callable_passes_its_arguments_on) {
  define("def f(*a, **k): return a, k");
  EXPECT_EQ(value("c(1, z=2)"), "((1,), {'z': 2})");
  state->first = nullptr;
  state->bypass = true;
  EXPECT_EQ(value("c(1, z=2)"), "((1,), {'z': 2})");
  EXPECT_EQ(state->first, nullptr);
  EXPECT_EQ(state->calls, 2);
}

TEST_F(JitCallables, binding_leaks_nothing) {
  define("def f(a, b=2, /, c=3, *args, d, e=5, **kw): pass\nbig = [object()]");
  PyView big = item(names.get(), "big");
  const Py_ssize_t before = Py_REFCNT(big);
  for (int i = 0; i < 100; ++i) {
    value("c(big, big, big, big, d=big, z=big)");
    value("c(big, d=big)");
  }
  error("c(big, big, big, big)");
  error("c(big, d=big, e=big, c=big, b=big, **{'z': big, 5: big})");
  EXPECT_EQ(Py_REFCNT(big), before);
}

TEST_F(JitCallables, more_parameters_than_fit_inline_work) {
  std::string parameters, arguments;
  for (int i = 0; i < 60; ++i) {
    parameters += "p" + std::to_string(i) + "=" + std::to_string(i) + ", ";
    arguments += std::to_string(i) + ", ";
  }
  define("def f(" + parameters + "**kw): pass");
  EXPECT_EQ(value("c(100, p59=7)[0], c(100, p59=7)[58], c(100, p59=7)[59], len(c())"), "(100, 58, 7, 61)");
}

TEST(MakeJitCallable, refuses_what_is_no_function) {
  int live = 0;
  EXPECT_FALSE(make_jit_callable(evaluate_python("len").get(), std::make_unique<Recorder>(&live, true)));
  EXPECT_EQ(take_exception(), "TypeError: only a Python function can be compiled");
  EXPECT_EQ(live, 0);
}

}  // namespace
}  // namespace suture
