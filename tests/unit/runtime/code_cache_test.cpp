// What happens at a call: guards, the entry that was hit last, compiles, skips, and the value built from
// recipes.
#include "runtime/code_cache.h"

#include "launch_fixture.h"

namespace suture {
namespace {

class CodeCaches : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(import_numpy().ok());
    PyGC_Collect();  // namespaces of earlier tests are cycles
    live = live_cache_entries();
  }
  int64_t live = 0;

  PyRef names;
  CodeCache* cache = nullptr;
  std::function<Result<CompileOutcome>(const FrameInput&)> compile =
      [](const FrameInput&) -> Result<CompileOutcome> {
    return CompileOutcome{nullptr, "nothing to compile"};
  };

  // Defines `source`, and `c`: its function f behind a cache that compiles through `compile`.
  void define(const std::string& source) {
    names = testing::run_python(source);
    auto owned = std::make_unique<CodeCache>(
        [this](CodeCache&, const FrameInput& input) { return compile(input); }, 7);
    cache = owned.get();
    PyDict_SetItemString(names.get(), "c",
                         make_jit_callable(testing::item(names.get(), "f"), std::move(owned)).get());
  }
  PyRef eval(const std::string& expression) { return testing::evaluate_python(expression, names.get()); }
  std::string value(const std::string& expression) { return testing::repr(eval(expression).get()); }
  std::string error(const std::string& expression) {
    PyRef code = PyRef::steal(Py_CompileString(expression.c_str(), "<test>", Py_eval_input));
    PyRef result = PyRef::steal(PyEval_EvalCode(code.get(), names.get(), names.get()));
    EXPECT_FALSE(result) << testing::repr(result.get());
    return testing::take_exception();
  }

  // An entry for calls whose first argument equals `expected`.
  struct EntryBuilder {
    std::unique_ptr<CacheEntry> entry = std::make_unique<CacheEntry>();
    GuardSet set;
    ShapeEnv env;
    SourceId local(int index, const char* name) {
      return set.sources.add({.kind = SourceKind::kLocal, .index = index, .name = name});
    }
    void expect(PyRef constant) {
      Guard guard;
      guard.kind = GuardKind::kConstant;
      guard.source = local(0, "x");
      guard.object = std::move(constant);
      set.guards.push_back(std::move(guard));
    }
    RecipeId add(Recipe::Kind kind, std::vector<RecipeId> children = {}) {
      entry->recipes.emplace_back();
      entry->recipes.back().kind = kind;
      entry->recipes.back().children = std::move(children);
      return static_cast<RecipeId>(entry->recipes.size()) - 1;
    }
    RecipeId constant(PyRef object) {
      const RecipeId id = add(Recipe::Kind::kConstant);
      entry->recipes.back().object = std::move(object);
      return id;
    }
    RecipeId source(SourceId source) {
      const RecipeId id = add(Recipe::Kind::kSource);
      entry->recipes.back().source = source;
      return id;
    }
    RecipeId output(int index) {
      const RecipeId id = add(Recipe::Kind::kGraphOutput);
      entry->recipes.back().index = index;
      return id;
    }
    CompileOutcome finish(RecipeId value) {
      Result<GuardTree> tree = GuardTree::build(std::move(set), std::move(env));
      EXPECT_TRUE(tree.ok());
      entry->guards = std::move(tree).value();
      entry->value = value;
      return {std::move(entry), std::nullopt};
    }
  };
  // Compiles f(x) to the constant it returned.
  void compile_to_constants() {
    compile = [this](const FrameInput& input) -> Result<CompileOutcome> {
      EntryBuilder builder;
      builder.expect(PyRef::borrow(input.arguments[0]));
      PyRef result = PyRef::steal(PyObject_CallOneArg(input.function, input.arguments[0]));
      return builder.finish(builder.constant(std::move(result)));
    };
  }
};

TEST_F(CodeCaches, a_miss_compiles_and_a_hit_runs_no_python) {
  define("ran = []\ndef f(x): ran.append(x); return -x");
  compile_to_constants();
  EXPECT_EQ(value("[c(1), c(1), c(2), c(1), c(2)]"), "[-1, -1, -2, -1, -2]");
  EXPECT_EQ(value("ran"), "[1, 2]");
  EXPECT_EQ(cache->counters().calls, 5);
  EXPECT_EQ(cache->counters().hits, 3);
  EXPECT_EQ(cache->counters().compiles, 2);
  EXPECT_EQ(cache->counters().recompiles, 1);
  EXPECT_EQ(cache->entries().size(), 2u);
  EXPECT_EQ(cache->entries()[0]->hits, 3);  // its own first call counts
}

TEST_F(CodeCaches, a_skip_calls_the_function_with_its_arguments_from_then_on) {
  define("def f(a, *rest, k=1, **kw): return a, rest, k, kw");
  int compiles = 0;
  compile = [&](const FrameInput&) -> Result<CompileOutcome> {
    ++compiles;
    return CompileOutcome{nullptr, "a reason"};
  };
  EXPECT_EQ(value("[c(1, 2, k=3, z=4), c(5), c(6, k=7)]"),
            "[(1, (2,), 3, {'z': 4}), (5, (), 1, {}), (6, (), 7, {})]");
  EXPECT_EQ(compiles, 1);
  EXPECT_EQ(cache->skip_reason(), "a reason");
  EXPECT_TRUE(cache->bypass);
  EXPECT_EQ(cache->counters().calls, 3);
}

TEST_F(CodeCaches, after_a_skip_existing_entries_still_serve_their_calls) {
  define("ran = []\ndef f(x): ran.append(x); return -x");
  compile_to_constants();
  eval("c(1)");
  compile = [](const FrameInput&) -> Result<CompileOutcome> {
    return CompileOutcome{nullptr, "recompile limit"};
  };
  EXPECT_EQ(value("[c(2), c(1), c(3), ran]"), "[-2, -1, -3, [1, 2, 3]]");
  EXPECT_FALSE(cache->bypass);
}

TEST_F(CodeCaches, python_exceptions_of_the_compiler_reach_the_caller_and_other_errors_do_not) {
  define("def f(x): return -x");
  compile = [](const FrameInput&) -> Result<CompileOutcome> {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    return Error::python("capture");
  };
  EXPECT_EQ(error("c(1)"), "KeyboardInterrupt: ");
  EXPECT_EQ(cache->skip_reason(), std::nullopt);  // the next call tries again
  compile = [](const FrameInput&) -> Result<CompileOutcome> {
    return Error::internal("schedule", "a law was broken");
  };
  EXPECT_EQ(value("c(1)"), "-1");
  EXPECT_EQ(cache->skip_reason(), "a law was broken");
}

TEST_F(CodeCaches, a_call_while_compiling_runs_the_function_itself) {
  define("def f(x): return -x");
  int depth = 0;
  compile = [&](const FrameInput& input) -> Result<CompileOutcome> {
    EXPECT_EQ(++depth, 1);
    EXPECT_EQ(value("c(20)"), "-20");
    EntryBuilder builder;
    builder.expect(PyRef::borrow(input.arguments[0]));
    return builder.finish(builder.constant(eval("'compiled'")));
  };
  EXPECT_EQ(value("c(1)"), "'compiled'");
}

TEST_F(CodeCaches, an_entry_that_rejects_its_own_call_runs_eagerly) {
  define("def f(x): return -x");
  compile = [&](const FrameInput&) -> Result<CompileOutcome> {
    EntryBuilder builder;
    builder.expect(eval("99"));
    return builder.finish(builder.constant(eval("'compiled'")));
  };
  EXPECT_EQ(value("[c(1), c(99)]"), "[-1, 'compiled']");
}

TEST_F(CodeCaches, transformed_functions_get_the_arguments_spread) {
  define("def f(a, *rest, k=1, **kw): pass");
  compile = [&](const FrameInput&) -> Result<CompileOutcome> {
    EntryBuilder builder;
    builder.entry->transformed =
        testing::python_object("def t(a, *rest, k=1, **kw): return 't', a, rest, k, kw\nresult = t");
    return builder.finish(-1);
  };
  EXPECT_EQ(value("[c(1, 2, k=3, z=4), c(5)]"), "[('t', 1, (2,), 3, {'z': 4}), ('t', 5, (), 1, {})]");
}

TEST_F(CodeCaches, values_are_built_from_recipes_and_a_shared_recipe_is_one_object) {
  define("def f(x, y): pass");
  using Kind = Recipe::Kind;
  compile = [&](const FrameInput& input) -> Result<CompileOutcome> {
    EntryBuilder b;
    b.expect(PyRef::borrow(input.arguments[0]));
    const RecipeId y = b.source(b.local(1, "y"));
    const RecipeId one = b.constant(eval("1")), two = b.constant(eval("2")), key = b.constant(eval("'k'"));
    const RecipeId shared = b.add(Kind::kList, {one, y});
    const RecipeId cell = b.add(Kind::kCell, {two});
    const RecipeId empty_cell = b.add(Kind::kCell, {b.add(Kind::kUnbound)});
    const RecipeId function =
        b.add(Kind::kFunction,
              {b.source(b.set.sources.add({.kind = SourceKind::kGlobalsOf,
                                           .parent = b.set.sources.add({.kind = SourceKind::kFunction})})),
               b.add(Kind::kTuple, {two}), b.constant(eval("None")), b.constant(eval("None")), cell});
    b.entry->recipes[static_cast<size_t>(function)].object =
        eval("(lambda k: lambda v=0: (v, k))(0).__code__");
    const RecipeId method = b.add(Kind::kBoundMethod, {function, shared});
    const RecipeId attribute = b.add(Kind::kAttribute, {shared});
    b.entry->recipes.back().name = "__len__";
    const RecipeId value =
        b.add(Kind::kTuple, {shared, shared, b.add(Kind::kDict, {key, shared}), b.add(Kind::kSet, {one, two}),
                             b.add(Kind::kSlice, {one, two, one}), b.add(Kind::kRange, {one, two, one}),
                             b.add(Kind::kIterator, {shared}), cell, empty_cell, function, method, attribute,
                             b.add(Kind::kCall, {b.constant(eval("zip")), shared, shared})});
    return b.finish(value);
  };
  eval("globals().__setitem__('r', c(5, 'y'))");
  EXPECT_EQ(value("r[0], r[2], r[3], r[4], r[5], list(r[6])"),
            "([1, 'y'], {'k': [1, 'y']}, {1, 2}, slice(1, 2, 1), range(1, 2), [1, 'y'])");
  EXPECT_EQ(value("r[0] is r[1] is r[2]['k'], r[7].cell_contents, r[9]('v'), r[9](), r[10]() == (r[0], 2), "
                  "r[11](), list(r[12])"),
            "(True, 2, ('v', 2), (2, 2), True, 2, [(1, 1), ('y', 'y')])");
  EXPECT_EQ(value("r[9].__closure__[0] is r[7], r[8]"), "(True, " + value("r[8]") + ")");
  EXPECT_EQ(value("c(5, 'y')[0] is r[0]"), "False");  // fresh objects at every call
}

TEST_F(CodeCaches, graphs_get_their_inputs_by_source_and_symbol_and_give_outputs) {
  define("class A: pass\na = A(); a.w = 10\ndef f(x, n): pass");
  compile = [&](const FrameInput& input) -> Result<CompileOutcome> {
    EntryBuilder b;
    b.expect(PyRef::borrow(input.arguments[0]));
    const SourceId n = b.local(1, "n");
    const SourceId a = b.set.sources.add({.kind = SourceKind::kGlobal, .name = "a"});
    const SourceId w = b.set.sources.add({.kind = SourceKind::kAttr, .parent = a, .name = "w"});
    const SymInt symbol = b.env.create_symbol("n", 3, INT64_MIN, INT64_MAX, false);
    b.set.bindings.push_back({0, n, SymbolBinding::What::kIntValue, -1});
    b.entry->compiled_graph = make_compiled_graph(eval("lambda w, n, two: (w + n, [w], n * two)"), "g", 3);
    b.entry->input_recipes = {b.source(w), b.add(Recipe::Kind::kSymInt), b.constant(eval("2"))};
    b.entry->recipes[1].sym = symbol * 100;
    const RecipeId size = b.add(Recipe::Kind::kSymInt);
    b.entry->recipes[static_cast<size_t>(size)].sym = symbol + 1;
    return b.finish(b.add(Recipe::Kind::kTuple, {b.output(2), b.output(1), size, b.output(1), b.source(w)}));
  };
  eval("globals().__setitem__('r', c(0, 3))");
  EXPECT_EQ(value("r, r[1] is r[3]"), "((600, [10], 4, [10], 10), True)");
  EXPECT_EQ(value("c(0, 5)[0]"), "1000");
  EXPECT_EQ(cache->entries().size(), 1u);
}

TEST_F(CodeCaches, a_value_that_cannot_be_built_is_a_skip) {
  define("def f(x): return -x");
  compile = [&](const FrameInput&) -> Result<CompileOutcome> {
    EntryBuilder b;
    return b.finish(b.add(Recipe::Kind::kNull));
  };
  EXPECT_EQ(value("c(1)"), "-1");
  EXPECT_EQ(cache->skip_reason(), "the compiled frame's value cannot be built");
}

TEST_F(CodeCaches, reset_forgets_entries_skip_and_counters) {
  define("def f(x): return -x");
  compile_to_constants();
  eval("c(1)");
  cache->reset();
  EXPECT_TRUE(cache->entries().empty());
  EXPECT_EQ(cache->counters().calls, 0);
  EXPECT_EQ(value("c(1)"), "-1");
  EXPECT_EQ(cache->counters().compiles, 1);
}

TEST_F(CodeCaches, reset_during_a_call_keeps_the_running_entry_alive) {
  define("def f(x): pass");
  compile = [&](const FrameInput& input) -> Result<CompileOutcome> {
    EntryBuilder b;
    b.expect(PyRef::borrow(input.arguments[0]));
    b.entry->compiled_graph = make_compiled_graph(eval("lambda: (reset(), (1, 2))[1]"), "g", 2);
    return b.finish(b.add(Recipe::Kind::kList, {b.output(1), b.output(0)}));
  };
  static CodeCache* reset_target;
  reset_target = cache;
  static PyMethodDef reset_method = {"reset",
                                     [](PyObject*, PyObject*) -> PyObject* {
                                       reset_target->reset();
                                       Py_RETURN_NONE;
                                     },
                                     METH_NOARGS, nullptr};
  PyDict_SetItemString(names.get(), "reset", PyRef::steal(PyCFunction_New(&reset_method, nullptr)).get());
  EXPECT_EQ(value("c(1)"), "[2, 1]");
  EXPECT_TRUE(cache->entries().empty());
  EXPECT_EQ(live_cache_entries(), live);
}

TEST_F(CodeCaches, replacing_the_code_of_the_function_starts_anew) {
  define("def f(x): return -x\ndef g(x): return 'other'");
  compile_to_constants();
  EXPECT_EQ(value("[c(1), setattr(f, '__code__', g.__code__), c(1)]"), "[-1, None, 'other']");
  EXPECT_EQ(cache->entries().size(), 1u);
}

TEST_F(CodeCaches, profiling_adds_up_times_and_sees_skipped_calls) {
  static bool on = true;
  define("def f(x): return sum(range(1000))");
  cache->profile_when(&on);
  eval("c(1)");
  EXPECT_GT(cache->counters().first_ms, 0);
  EXPECT_EQ(cache->counters().time_ms, 0);
  eval("c(1)");
  EXPECT_GT(cache->counters().time_ms, 0);
  on = false;
  const double before = cache->counters().time_ms;
  eval("c(1)");
  EXPECT_EQ(cache->counters().time_ms, before);
}

TEST_F(CodeCaches, entries_and_their_objects_are_freed_with_the_callable_also_from_a_cycle) {
  define("import gc\ndef f(x): return [x]");
  compile_to_constants();
  eval("c(1)");
  eval("c(2)");
  EXPECT_EQ(live_cache_entries(), live + 2);
  // The entry's constant refers to the callable.
  eval("c(1).append(c)");
  PyDict_DelItemString(names.get(), "c");
  eval("gc.collect()");
  EXPECT_EQ(live_cache_entries(), live);
}

TEST_F(CodeCaches, calls_keep_no_argument_alive) {
  define("def f(x, y): return None");
  compile = [&](const FrameInput& input) -> Result<CompileOutcome> {
    EntryBuilder b;
    b.expect(PyRef::borrow(input.arguments[0]));
    return b.finish(b.add(Recipe::Kind::kTuple, {b.source(b.local(1, "y"))}));
  };
  PyRef big = eval("globals().__setitem__('big', [0]) or big");
  const Py_ssize_t before = Py_REFCNT(big.get());
  for (int i = 0; i < 100; ++i) eval("c(1, big)");
  EXPECT_EQ(Py_REFCNT(big.get()), before);
}

}  // namespace
}  // namespace suture
