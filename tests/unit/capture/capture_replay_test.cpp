// The replay of captures that capture_fixture.h promises, and its own test.
#include "capture_fixture.h"

namespace suture {
namespace {

// Equal in type, dtype, shape, strides and bits, recursively.
constexpr const char* kSame = R"(
def same(a, b, path='result'):
    if type(a) is not type(b):
        return f'{path}: {type(a)} instead of {type(b)}'
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape:
            return f'{path}: {a.dtype}{a.shape} instead of {b.dtype}{b.shape}'
        if not np.array_equal(a, b, equal_nan=a.dtype.kind == 'f'):
            return f'{path}: {a} instead of {b}'
        return ''
    if isinstance(a, np.generic):
        if a.dtype != b.dtype:
            return f'{path}: {a.dtype} instead of {b.dtype}'
        return '' if a == b or (a != a and b != b) else f'{path}: {a!r} instead of {b!r}'
    if isinstance(a, (tuple, list)):
        if len(a) != len(b):
            return f'{path}: {len(a)} items instead of {len(b)}'
        for i, (x, y) in enumerate(zip(a, b)):
            if text := same(x, y, f'{path}[{i}]'):
                return text
        return ''
    if isinstance(a, dict):
        if list(a) != list(b):
            return f'{path}: keys {list(a)} instead of {list(b)}'
        for k in a:
            if text := same(a[k], b[k], f'{path}[{k!r}]'):
                return text
        return ''
    if hasattr(a, '__dict__') and not callable(a):
        return same(vars(a), vars(b), path + '.__dict__')
    return '' if a == b or callable(a) else f'{path}: {a!r} instead of {b!r}'
)";

PyRef call_python(PyView callable, const std::vector<PyView>& arguments) {
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(arguments.size())));
  for (size_t i = 0; i < arguments.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyRef::borrow(arguments[i]).release());
  PyRef result = PyRef::steal(PyObject_Call(callable, tuple.get(), nullptr));
  EXPECT_TRUE(result) << testing::take_exception();
  return result;
}

}  // namespace

PyRef CaptureFixture::run_graph() {
  const NumpySource source = to_numpy_source(capture.graph);
  PyRef module = testing::run_python(source.text);
  std::vector<PyRef> held;
  std::vector<PyView> arguments;
  for (RecipeId recipe : capture.input_recipes)
    arguments.push_back(
        fetch(capture.guards.sources, capture.recipes[static_cast<size_t>(recipe)].source, input()));
  const std::vector<int64_t> hints = capture.graph.env.hints();
  for (SymbolId symbol : source.symbol_parameters) {
    held.push_back(PyRef::steal(PyLong_FromLongLong(hints[static_cast<size_t>(symbol)])));
    arguments.push_back(held.back().get());
  }
  PyView forward = testing::item(module.get(), "forward");
  EXPECT_NE(forward, nullptr) << source.text;
  return forward ? call_python(forward, arguments) : PyRef();
}

PyRef CaptureFixture::tuple_of(const std::vector<RecipeId>& ids, size_t from) {
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(ids.size() - from)));
  for (size_t i = from; i < ids.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i - from), rebuild(ids[i]).release());
  return tuple;
}

PyRef CaptureFixture::rebuild(RecipeId id) {
  PyRef& slot = rebuilt_[static_cast<size_t>(id)];
  if (!slot) slot = rebuild_new(capture.recipes[static_cast<size_t>(id)]);
  return slot;
}

PyRef CaptureFixture::rebuild_new(const Recipe& recipe) {
  using Kind = Recipe::Kind;
  switch (recipe.kind) {
    case Kind::kGraphOutput: return PyRef::borrow(PyTuple_GetItem(outputs_.get(), recipe.index));
    case Kind::kSource: return PyRef::borrow(fetch(capture.guards.sources, recipe.source, input()));
    case Kind::kConstant: return recipe.object;
    case Kind::kSymInt: return PyRef::steal(PyLong_FromLongLong(capture.graph.env.hint(recipe.sym)));
    case Kind::kTuple: return tuple_of(recipe.children);
    case Kind::kList: return PyRef::steal(PySequence_List(tuple_of(recipe.children).get()));
    case Kind::kSet: return PyRef::steal(PySet_New(tuple_of(recipe.children).get()));
    case Kind::kDict: {
      PyRef dict = PyRef::steal(PyDict_New());
      for (size_t i = 0; i < recipe.children.size(); i += 2)
        PyDict_SetItem(dict.get(), rebuild(recipe.children[i]).get(), rebuild(recipe.children[i + 1]).get());
      return dict;
    }
    case Kind::kCall:
      if (recipe.object) ADD_FAILURE() << "a call with keywords is not rebuilt here";
      return PyRef::steal(
          PyObject_CallObject(rebuild(recipe.children[0]).get(), tuple_of(recipe.children, 1).get()));
    case Kind::kAttribute:
      return PyRef::steal(PyObject_GetAttrString(rebuild(recipe.children[0]).get(), recipe.name.c_str()));
    case Kind::kIterator: return PyRef::steal(PyObject_GetIter(rebuild(recipe.children[0]).get()));
    case Kind::kRange:
      return PyRef::steal(
          PyObject_CallObject(reinterpret_cast<PyObject*>(&PyRange_Type), tuple_of(recipe.children).get()));
    case Kind::kCell: return PyRef::steal(PyCell_New(rebuild(recipe.children[0]).get()));
    case Kind::kFunction: {
      PyRef function = PyRef::steal(PyFunction_New(recipe.object.get(), rebuild(recipe.children[0]).get()));
      PyRef defaults = rebuild(recipe.children[1]);
      if (defaults.get() != Py_None) PyFunction_SetDefaults(function.get(), defaults.get());
      if (recipe.children.size() > 4)
        PyFunction_SetClosure(function.get(), tuple_of(recipe.children, 4).get());
      return function;
    }
    default:
      ADD_FAILURE() << "recipe kind " << static_cast<int>(recipe.kind) << " is not rebuilt here";
      return PyRef::borrow(Py_None);
  }
}

void CaptureFixture::apply(const SideEffect& effect) {
  PyRef value = effect.value >= 0 ? rebuild(effect.value) : PyRef();
  PyRef target = effect.target >= 0 ? rebuild(effect.target) : PyRef();
  switch (effect.kind) {
    case SideEffect::Kind::kStoreGlobal:
      PyDict_SetItemString(PyFunction_GetGlobals(called.get()), effect.name.c_str(), value.get());
      break;
    case SideEffect::Kind::kStoreAttr:
      PyObject_SetAttrString(target.get(), effect.name.c_str(), value.get());
      break;
    case SideEffect::Kind::kListAssign:
      PyList_SetSlice(target.get(), 0, PyList_GET_SIZE(target.get()), value.get());
      break;
    case SideEffect::Kind::kDictDelete: PyDict_DelItem(target.get(), rebuild(effect.key).get()); break;
    case SideEffect::Kind::kDictStore:
      PyDict_SetItem(target.get(), rebuild(effect.key).get(), value.get());
      break;
    case SideEffect::Kind::kStoreCell: {
      const int index =
          capture.guards.sources[capture.recipes[static_cast<size_t>(effect.target)].source].index;
      PyCell_Set(PyTuple_GetItem(PyFunction_GetClosure(called.get()), index), value.get());
      break;
    }
  }
}

PyRef CaptureFixture::replay() {
  tree = build_tree();
  GuardScratch scratch;
  const int failed = tree.evaluate(input(), scratch);
  EXPECT_EQ(failed, -1) << "guard of the very frame it was made from: " << tree.describe(failed);
  EXPECT_EQ(capture.end.kind, FrameEnd::Kind::kReturn)
      << (capture.end.reason ? capture.end.reason->message() : "");
  if (capture.end.kind != FrameEnd::Kind::kReturn) return {};
  outputs_ = run_graph();
  if (!outputs_) return {};
  rebuilt_.assign(capture.recipes.size(), PyRef());
  PyRef value = rebuild(capture.end.value);
  for (const SideEffect& effect : capture.side_effects)
    if (effect.value >= 0) (void)rebuild(effect.value);
  for (const SideEffect& effect : capture.side_effects) apply(effect);
  return value;
}

void CaptureFixture::expect_same_as_python(const std::string& function,
                                           const std::vector<std::string>& arguments,
                                           CaptureOptions options) {
  trace(function, arguments, options);
  PyRef actual = replay();
  std::vector<PyRef> actual_arguments = owned;
  std::vector<PyRef> fresh;
  std::vector<PyView> fresh_views;
  for (const std::string& text : arguments) fresh.push_back(eval(text));
  for (const PyRef& object : fresh) fresh_views.push_back(object.get());
  // A frame with *args and **kwargs takes them as the bound tuple and dict.
  PyRef expected = call_python(called.get(), fresh_views);
  if (!actual || !expected) return;
  PyRef same = testing::run_python(kSame);
  PyView compare = testing::item(same.get(), "same");
  PyRef text = call_python(compare, {actual.get(), expected.get()});
  EXPECT_STREQ(PyUnicode_AsUTF8(text.get()), "") << to_text(capture.graph);
  for (size_t i = 0; i < fresh.size(); ++i) {
    text = call_python(compare, {actual_arguments[i].get(), fresh[i].get()});
    EXPECT_STREQ(PyUnicode_AsUTF8(text.get()), "") << "argument " << i << " after the call";
  }
}

using CaptureReplay = CaptureFixture;

TEST_F(CaptureReplay, a_straight_line_of_numpy_calls_gives_the_result_of_python) {
  define("def f(x, n):\n    y = np.sin(x) + 1\n    return np.maximum(y * 2, 0) * n\n");
  expect_same_as_python("f", {"np.linspace(-3, 3, 12).reshape(3, 4)", "3.0"});
  EXPECT_THAT(ops(), ::testing::ElementsAre("sin", "add", "mul", "maximum", "mul"));
}

TEST_F(CaptureReplay, a_wrong_value_is_noticed) {
  define("def f(x):\n    return x + 1\n");
  trace("f", {"np.ones(3)"});
  PyRef value = replay();
  ASSERT_TRUE(value);
  EXPECT_EQ(testing::repr(value.get()), "array([2., 2., 2.])");
}

}  // namespace suture
