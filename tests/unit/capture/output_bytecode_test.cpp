// Transformed functions from hand-made captures.
#include "output_support.h"

namespace suture::testing {
namespace {

PyRef call(const Emitted& emitted, PyView arguments) {
  return PyRef::steal(PyObject_CallObject(callable_of(emitted).get(), arguments));
}

std::string called(const Emitted& emitted, const std::string& arguments, PyView space) {
  PyRef result = call(emitted, evaluate_python(arguments, space).get());
  return result ? repr(result.get()) : take_exception();
}

std::vector<std::string> parameters(PyView function) {
  auto view = code_view(function_code(function));
  return {view->local_names.begin(), view->local_names.begin() + view->arg_count};
}

constexpr const char* kSeed = R"(
def f(x, n):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return np.maximum(y, 0) * n
def graph(x):
    y = np.sin(x) + 1
    return (y.sum() > 0, y)
x = np.arange(4.0)
)";

CaptureBuilder seed_capture(PyView space) {
  CaptureBuilder b(PyRef::borrow(item(space, "f")));
  const int jump = b.find(Opcode::POP_JUMP_FORWARD_IF_FALSE);
  b.capture.input_recipes = {b.argument("x")};
  const RecipeId condition = b.output(0), y = b.output(1);
  b.break_at(jump, {condition}, {{b.local("n"), b.argument("n")}, {b.local("y"), y}});
  return b;
}

TEST(OutputBytecode, ADataDependentBranchJumpsInPythonAndResumesOnBothSides) {
  PyRef space = run_python(kSeed);
  CaptureBuilder b = seed_capture(space.get());
  auto emitted = emit(b, item(space.get(), "graph"));
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  const int jump = b.capture.end.at;
  const int taken = b.capture.function.instructions[static_cast<size_t>(jump)].target;
  EXPECT_EQ(emitted->code.resume_names,
            (std::vector<std::string>{"__resume_at_" + std::to_string(b.offset(jump + 1)) + "_2",
                                      "__resume_at_" + std::to_string(b.offset(taken)) + "_3"}));
  EXPECT_EQ(emitted->kinds, (std::vector{FrameKind::kResume, FrameKind::kResume}));
  EXPECT_EQ(parameters(emitted->made[0].get()), (std::vector<std::string>{"n", "y"}));
  EXPECT_EQ(parameters(emitted->made[1].get()), (std::vector<std::string>{"n", "y"}));
  EXPECT_EQ(parameters(emitted->code.function.get()), (std::vector<std::string>{"x", "n"}));
  EXPECT_EQ(called(*emitted, "(x, 3.0)", space.get()), repr(evaluate_python("f(x, 3.0)", space.get()).get()));
  EXPECT_EQ(called(*emitted, "(x - 9.0, 3.0)", space.get()),
            repr(evaluate_python("f(x - 9.0, 3.0)", space.get()).get()));
}

TEST(OutputBytecode, TheSamePlaceMakesEqualResumeCodeForEveryEntry) {
  PyRef space = run_python(kSeed);
  CaptureBuilder b = seed_capture(space.get());
  auto first = emit(b, item(space.get(), "graph"));
  auto second = emit(b, item(space.get(), "graph"));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(PyObject_RichCompareBool(function_code(first->made[0].get()),
                                     function_code(second->made[0].get()), Py_EQ),
            1);
}

TEST(OutputBytecode, CallablesAreFreeVariablesSoThatTheCollectorSeesThem) {
  PyRef space = run_python(kSeed);
  CaptureBuilder b = seed_capture(space.get());
  auto emitted = emit(b, item(space.get(), "graph"));
  ASSERT_TRUE(emitted.ok());
  PyDict_SetItemString(space.get(), "t", emitted->code.function.get());
  EXPECT_EQ(
      repr(evaluate_python("t.__code__.co_freevars[0], t.__closure__[0].cell_contents is graph", space.get())
               .get()),
      "('__compiled_fn_1', True)");
}

TEST(OutputBytecode, ACallInTheMiddleRunsOnceAndPassesOnlyWhatIsNeededLater) {
  PyRef space = run_python(R"(
seen = []
def note(*args, **kw): seen.append((args, kw))
def f(x, unused):
    y = x + 1
    note('y is', y, end='')
    return y * x
def graph(x): return (x + 1,)
)");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  const RecipeId x = b.argument("x"), y = b.output(0);
  b.capture.input_recipes = {x};
  const RecipeId note = b.source({SourceKind::kGlobal, kNoSource, -1, "note", {}, {}});
  PyRef text = PyRef::steal(PyUnicode_FromString("y is")), empty = PyRef::steal(PyUnicode_FromString(""));
  b.break_at(b.find(Opcode::KW_NAMES),
             {b.plain(Recipe::Kind::kNull), note, b.constant(text), y, b.constant(empty)},
             {{b.local("x"), x}, {b.local("y"), y}});
  auto emitted = emit(b, item(space.get(), "graph"));
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  ASSERT_EQ(emitted->made.size(), 1u);
  EXPECT_EQ(parameters(emitted->made[0].get()), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(called(*emitted, "(4, None)", space.get()), "20");
  EXPECT_EQ(repr(item(space.get(), "seen")), "[(('y is', 5), {'end': ''})]");
}

TEST(OutputBytecode, ACallWhoseResultIsReturnedAtOnceNeedsNoResumeFunction) {
  PyRef space = run_python("def f(g, x):\n    return g(x)\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  b.break_at(b.find(Opcode::PRECALL), {b.plain(Recipe::Kind::kNull), b.argument("g"), b.argument("x")}, {});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok());
  EXPECT_TRUE(emitted->made.empty());
  EXPECT_EQ(called(*emitted, "(len, [1, 2])", space.get()), "2");
}

TEST(OutputBytecode, ACallAtTheEndOfAFunctionReturnsNoneWithoutAResumeFunction) {
  PyRef space = run_python("def f(g, x):\n    g(x)\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  b.break_at(b.find(Opcode::PRECALL), {b.plain(Recipe::Kind::kNull), b.argument("g"), b.argument("x")}, {});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok());
  EXPECT_TRUE(emitted->made.empty());
  EXPECT_EQ(called(*emitted, "(len, [1, 2])", space.get()), "None");
}

TEST(OutputBytecode, AResultThatIsStoredTravelsUnderTheNameOfItsVariable) {
  PyRef space = run_python("def f(g, x):\n    y = g(x)\n    return y + x\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  b.break_at(b.find(Opcode::PRECALL), {b.plain(Recipe::Kind::kNull), b.argument("g"), b.argument("x")},
             {{b.local("x"), b.argument("x")}});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok());
  EXPECT_EQ(parameters(emitted->made[0].get()), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(called(*emitted, "(abs, -3)", space.get()), "0");
}

TEST(OutputBytecode, SwappedLocalsAreReadBeforeAnyIsOverwritten) {
  PyRef space = run_python("def f(a, b):\n    a, b = b, a\n    del a\n    return b\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  b.break_at(b.find(Opcode::DELETE_FAST), {},
             {{b.local("a"), b.argument("b")}, {b.local("b"), b.argument("a")}});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_EQ(called(*emitted, "(1, 2)", space.get()), "1");
}

TEST(OutputBytecode, AnExceptionOfTheInstructionShowsTheUsersLine) {
  PyRef space = run_python("def f(g, x):\n    y = x\n    y = (y +\n         g(x))\n    return y + 1\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  b.break_at(b.find(Opcode::PRECALL),
             {b.argument("x"), b.plain(Recipe::Kind::kNull), b.argument("g"), b.argument("x")}, {});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok());
  PyDict_SetItemString(space.get(), "t", callable_of(*emitted).get());
  PyRef ran = PyRef::steal(PyRun_String(R"(
import traceback
try:
    t(len, 5)
except TypeError as e:
    found = [(f.name, f.lineno, f.colno, f.end_colno) for f in traceback.extract_tb(e.__traceback__)][1:]
)",
                                        Py_file_input, space.get(), space.get()));
  ASSERT_TRUE(ran) << take_exception();
  EXPECT_EQ(repr(item(space.get(), "found")), "[('f', 4, 9, 13)]");
}

TEST(OutputBytecode, KeywordOnlyParametersAndPackedArgumentsArePassedInOrder) {
  PyRef space = run_python("def f(a, /, b, *rest, c, **kw):\n    abs(a)\n    return a, b, rest, c, kw\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  const RecipeId fn = b.source({SourceKind::kBuiltin, kNoSource, -1, "abs", {}, {}});
  std::map<int, RecipeId> locals;
  for (const char* name : {"a", "b", "rest", "c", "kw"}) locals[b.local(name)] = b.argument(name);
  b.break_at(b.find(Opcode::PRECALL), {b.plain(Recipe::Kind::kNull), fn, b.argument("a")}, locals);
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_EQ(parameters(emitted->code.function.get()),
            (std::vector<std::string>{"a", "b", "c", "rest", "kw", "__entry_abs"}));
  EXPECT_EQ(called(*emitted, "(1, 2, 3, (4,), {'k': 5})", space.get()), "(1, 2, (4,), 3, {'k': 5})");
}

TEST(OutputBytecode, OneObjectThatIsNeededTwiceIsBuiltOnce) {
  PyRef space = run_python(
      "def f(g, x):\n    a = [x]\n    b = (a, a)\n    g(a)\n    return b[0] is b[1], b[0] is a, a\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  const RecipeId a = b.plain(Recipe::Kind::kList, {b.argument("x")});
  const RecipeId pair = b.plain(Recipe::Kind::kTuple, {a, a});
  b.break_at(b.find(Opcode::PRECALL), {b.plain(Recipe::Kind::kNull), b.argument("g"), a},
             {{b.local("a"), a}, {b.local("b"), pair}});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_EQ(called(*emitted, "((lambda l: l.append(7)), 1)", space.get()), "(True, True, [1, 7])");
}

TEST(OutputBytecode, SideEffectsAreReplayedInOrderBeforeTheReturn) {
  PyRef space = run_python(R"(
class Box: pass
box = Box()
counter = 0
old = [1, 2]
table = {'a': 1}
def outer():
    free = 1
    def f(box, l, d):
        nonlocal free
        return free
    return f
f = outer()
)");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  const RecipeId l = b.argument("l"), d = b.argument("d"), box = b.argument("box");
  const RecipeId cell = b.source({SourceKind::kCell, kNoSource, 0, "free", {}, {}});
  const RecipeId fresh = b.plain(Recipe::Kind::kList, {b.integer(7)});
  const RecipeId old_key = b.constant(PyRef::steal(PyUnicode_FromString("a")));
  const RecipeId key = b.constant(PyRef::steal(PyUnicode_FromString("b")));
  using Kind = SideEffect::Kind;
  b.capture.side_effects = {
      {Kind::kStoreAttr, box, -1, fresh, "items"},
      {Kind::kListAssign, l, -1, b.plain(Recipe::Kind::kList, {b.integer(8), fresh}), ""},
      {Kind::kDictDelete, d, old_key, -1, ""},
      {Kind::kDictStore, d, key, b.integer(9), ""},
      {Kind::kStoreGlobal, -1, -1, b.integer(10), "counter"},
      {Kind::kStoreCell, cell, -1, b.integer(11), ""}};
  // The value of the cell at ENTRY is returned, although the cell has been written by then.
  b.capture.end.value = b.plain(Recipe::Kind::kTuple, {cell, l});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_EQ(called(*emitted, "(box, old, table)", space.get()), "(1, [8, [7]])");
  EXPECT_EQ(repr(evaluate_python("old, table, box.items is old[1], counter, f.__closure__[0].cell_contents",
                                 space.get())
                     .get()),
            "([8, [7]], {'b': 9}, True, 10, 11)");
}

TEST(OutputBytecode, AFunctionAndTheRestOfTheFrameShareTheirCell) {
  PyRef space = run_python(R"(
def f(g, k):
    def h(): return k
    g(k)
    k = k + 100
    return h(), k
)");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  const int k = b.local("k");
  const RecipeId cell = b.plain(Recipe::Kind::kCell, {b.argument("k")});
  PyRef inner = PyRef::borrow(PyTuple_GET_ITEM(code_constants(function_code(b.function.get())).get(), 1));
  ASSERT_TRUE(PyCode_Check(inner.get()));
  const RecipeId none = b.constant(PyRef::borrow(Py_None));
  const RecipeId function = b.plain(Recipe::Kind::kFunction, {none, none, none, none, cell});
  b.capture.recipes[static_cast<size_t>(function)].object = inner;
  b.break_at(b.find(Opcode::PRECALL), {b.plain(Recipe::Kind::kNull), b.argument("g"), b.argument("k")},
             {{k, cell}, {b.local("h"), function}});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_EQ(called(*emitted, "(abs, 5)", space.get()), "(105, 105)");
}

TEST(OutputBytecode, ACellThatNobodySharesIsPassedByItsContents) {
  PyRef space = run_python("def f(g, k):\n    g(k)\n    return (lambda: k)()\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  b.break_at(b.find(Opcode::PRECALL), {b.plain(Recipe::Kind::kNull), b.argument("g"), b.argument("k")},
             {{b.local("k"), b.argument("k")}});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  auto view = code_view(function_code(emitted->made[0].get()));
  auto resumed = decode_function(*view);
  EXPECT_FALSE(holds_cell_at_entry(*resumed, 0));
  EXPECT_EQ(called(*emitted, "(abs, 5)", space.get()), "5");
}

TEST(OutputBytecode, AttributesThatAFunctionOfTheClassAnswersAreLoadedUnbound) {
  PyRef space = run_python(R"(
class C:
    def method(self): return 1
def f(c): return c.method
c = C()
)");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  b.argument("c");
  b.capture.end.value =
      b.source({SourceKind::kAttr, 0, static_cast<int>(Binding::kInstance), "method", {}, {}});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok());
  PyDict_SetItemString(space.get(), "t", callable_of(*emitted).get());
  EXPECT_EQ(repr(evaluate_python("t(c) is C.method", space.get()).get()), "True");
}

TEST(OutputBytecode, SymbolicIntsAreComputedFromTheSizesTheyAreBoundTo) {
  PyRef space = run_python("def f(x): return 0\nx = np.zeros((6, 5))\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  const RecipeId x = b.argument("x");
  const SourceId source = b.capture.recipes[static_cast<size_t>(x)].source;
  b.capture.guards.bindings = {{0, source, SymbolBinding::What::kSize, 0},
                               {1, source, SymbolBinding::What::kSize, 1}};
  Recipe plain, expression;
  plain.kind = expression.kind = Recipe::Kind::kSymInt;
  plain.sym = SymInt::symbol(1);
  expression.sym = floordiv(SymInt::symbol(0) * 7 + SymInt::symbol(1), SymInt(2)) - 1;
  b.capture.end.value = b.plain(Recipe::Kind::kTuple, {b.add(plain), b.add(expression)});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_EQ(called(*emitted, "(x,)", space.get()), "(5, 22)");
}

// --- loops -------------------------------------------------------------------------------------------------
TEST(OutputLoop, TheLoopStaysAndItsBodyIsOneFunctionPerIteration) {
  PyRef space = run_python(R"(
def f(items, scale):
    total = 0
    for i in items:
        if i < 0: break
        if i == 3: continue
        total += i * scale
    else:
        return ('all', total)
    return ('broken', total, i)
)");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  const RecipeId iterator = b.plain(Recipe::Kind::kIterator, {b.argument("items")});
  b.loop_at(b.find(Opcode::FOR_ITER), {iterator},
            {{b.local("total"), b.integer(0)}, {b.local("scale"), b.argument("scale")}});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_EQ(emitted->kinds[0], FrameKind::kIteration);
  EXPECT_EQ(parameters(emitted->made[0].get()), (std::vector<std::string>{"item", "scale", "total"}));
  PyView space_dict = space.get();
  EXPECT_EQ(called(*emitted, "([1, 2, 3, 4], 10)", space_dict), "('all', 70)");
  EXPECT_EQ(called(*emitted, "([1, 2, -1, 4], 10)", space_dict), "('broken', 30, -1)");
  EXPECT_EQ(called(*emitted, "([], 10)", space_dict), "('all', 0)");
}

TEST(OutputLoop, ManyIterationsDoNotNest) {
  PyRef space = run_python("def f(n):\n    t = 0\n    for i in n:\n        t += i\n    return t\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  b.loop_at(b.find(Opcode::FOR_ITER), {b.plain(Recipe::Kind::kIterator, {b.argument("n")})},
            {{b.local("t"), b.integer(0)}});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_EQ(called(*emitted, "(range(100000),)", space.get()), "4999950000");
}

TEST(OutputLoop, AWhileLoopKeepsItsConditionInTheBody) {
  PyRef space = run_python(
      "def f(n):\n    k = 0\n    while n > 1:\n        n = n // 2\n        k += 1\n    return k, n\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  auto loops = find_loops(b.capture.function);
  ASSERT_EQ(loops.size(), 1u);
  b.loop_at(loops[0].header, {}, {{b.local("n"), b.argument("n")}, {b.local("k"), b.integer(0)}});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_EQ(called(*emitted, "(1000,)", space.get()), "(9, 1)");
}

TEST(OutputLoop, AReturnInsideTheLoopLeavesWithItsValue) {
  PyRef space = run_python(
      "def f(items):\n    for i in items:\n        if i > 2:\n            return [i, i + 1]\n    return "
      "None\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  b.loop_at(b.find(Opcode::FOR_ITER), {b.plain(Recipe::Kind::kIterator, {b.argument("items")})}, {});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_EQ(called(*emitted, "([1, 2, 3, 4],)", space.get()), "[3, 4]");
  EXPECT_EQ(called(*emitted, "([1],)", space.get()), "None");
}

TEST(OutputLoop, ALocalThatOnlySomeIterationsBindIsUnboundAfterwardsWhenNoneDid) {
  PyRef space =
      run_python("def f(items):\n    for i in items:\n        if i > 2: last = i\n    return last\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  b.loop_at(b.find(Opcode::FOR_ITER), {b.plain(Recipe::Kind::kIterator, {b.argument("items")})}, {});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_EQ(called(*emitted, "([1, 3, 2],)", space.get()), "3");
  EXPECT_EQ(called(*emitted, "([1],)", space.get()),
            "UnboundLocalError: cannot access local variable 'last' where it is not associated with a value");
}

TEST(OutputLoop, FunctionsMadeInDifferentIterationsShareTheVariablesOfTheFrame) {
  PyRef space = run_python(
      "def f(items):\n    out = []\n    for i in items:\n        out.append(lambda: i)\n    return [g() for "
      "g in out]\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  b.loop_at(b.find(Opcode::FOR_ITER), {b.plain(Recipe::Kind::kIterator, {b.argument("items")})},
            {{b.local("out"), b.plain(Recipe::Kind::kList)}});
  auto emitted = emit(b);
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  EXPECT_EQ(called(*emitted, "([1, 2, 3],)", space.get()), "[3, 3, 3]");
}

// --- refusals ----------------------------------------------------------------------------------------------
TEST(OutputBytecode, CodeThatLooksAtItsOwnFrameIsRefused) {
  PyRef space = run_python("def f(g):\n    g()\n    return locals()\n");
  CaptureBuilder b(PyRef::borrow(item(space.get(), "f")));
  b.break_at(b.find(Opcode::PRECALL), {b.plain(Recipe::Kind::kNull), b.argument("g")},
             {{b.local("g"), b.argument("g")}});
  auto emitted = emit(b);
  ASSERT_FALSE(emitted.ok());
  EXPECT_EQ(emitted.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(emitted.error().message, "f uses locals, which may look at its frame");
}

}  // namespace
}  // namespace suture::testing
