// Cost of one compiled call on two 8-element arrays, part by part: guards, graph, whole call; against np.add.
//
// The kernel is written by hand, so what is measured is the dispatcher and NumPy's allocation. Prints the
// median of rounds.
#include <Python.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <vector>

#include "cpython/jit_callable.h"
#include "cpython/numpy_api.h"
#include "runtime/code_cache.h"
#include "runtime/compiled_graph.h"

namespace suture {
namespace {

constexpr int64_t kElements = 8;

class Kernels : public KernelLibrary {
 public:
  suture_kernel_fn find(const std::string&) const override {
    return [](void* const* buffers, const int64_t* sizes) -> uint32_t {
      const auto* a = static_cast<const double*>(buffers[0]);
      const auto* b = static_cast<const double*>(buffers[1]);
      auto* out = static_cast<double*>(buffers[2]);
      for (int64_t i = 0; i < sizes[0]; ++i) out[i] = a[i] + b[i];
      return 0;
    };
  }
};

BufferSpec vector_of_doubles(BufferSpec::Kind kind, const SymInt& size, int input = -1) {
  BufferSpec spec;
  spec.kind = kind;
  spec.input = input;
  spec.shape = {size};
  spec.strides = {1};
  return spec;
}

PyRef make_graph(bool symbolic) {
  NativeGraph graph;
  const SymInt size = symbolic ? SymInt::symbol(0) : SymInt(kElements);
  graph.plan.buffers = {vector_of_doubles(BufferSpec::Kind::kInput, size, 0),
                        vector_of_doubles(BufferSpec::Kind::kInput, size, 1),
                        vector_of_doubles(BufferSpec::Kind::kOutput, size)};
  LaunchStep step;
  step.kernel = "add";
  step.buffers = {0, 1, 2};
  step.sizes = {size};
  graph.plan.steps = {step};
  graph.plan.outputs = {2};
  graph.library = std::make_shared<Kernels>();
  if (symbolic) graph.symbol_count = 1, graph.bindings = {{0, 0, 0, false}};
  return std::move(make_compiled_graph(std::move(graph), "add")).value();
}

void guard_array(GuardSet& set, SourceId source) {
  const auto add = [&](GuardKind kind, int64_t number, int index = -1) {
    Guard guard;
    guard.kind = kind;
    guard.source = source;
    guard.number = number;
    guard.index = index;
    set.guards.push_back(std::move(guard));
  };
  add(GuardKind::kArray, 0);
  add(GuardKind::kDtype, static_cast<int64_t>(DType::kFloat64));
  add(GuardKind::kRank, 1);
  add(GuardKind::kSize, kElements, 0);
  add(GuardKind::kStride, 8, 0);
}

void guard_identity(GuardSet& set, SourceId source, PyRef object) {
  Guard guard;
  guard.kind = GuardKind::kIdentity;
  guard.source = source;
  guard.object = std::move(object);
  set.guards.push_back(std::move(guard));
}

void guard_attributes(GuardSet& set, PyView globals, const char* name,
                      std::initializer_list<const char*> attributes) {
  PyView module = PyDict_GetItemString(globals, name);
  const SourceId source = set.sources.add({.kind = SourceKind::kGlobal, .name = name});
  guard_identity(set, source, PyRef::borrow(module));
  for (const char* attribute : attributes)
    guard_identity(set, set.sources.add({.kind = SourceKind::kAttr, .parent = source, .name = attribute}),
                   PyRef::steal(PyObject_GetAttrString(module, attribute)));
}

GuardTree make_guards(PyView globals, std::initializer_list<const char*> of_numpy) {
  GuardSet set;
  for (int i = 0; i < 2; ++i)
    guard_array(set, set.sources.add({.kind = SourceKind::kLocal, .index = i, .name = i ? "y" : "x"}));
  if (of_numpy.size() > 0) guard_attributes(set, globals, "np", of_numpy);
  return std::move(GuardTree::build(std::move(set), {})).value();
}

// Processor time of this thread: other programs on the machine do not count.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double nanoseconds(const std::function<void()>& call) {
  constexpr int kRounds = 15, kCalls = 20000;
  std::vector<double> rounds;
  for (int r = 0; r < kRounds; ++r) {
    const double begin = now();
    for (int i = 0; i < kCalls; ++i) call();
    rounds.push_back((now() - begin) / kCalls);
  }
  std::ranges::sort(rounds);
  return rounds[kRounds / 2];
}

void report(const char* what, const std::function<void()>& call) {
  std::printf("%-58s %7.1f ns\n", what, nanoseconds(call));
}

void call_object(PyView callable, std::span<PyObject* const> arguments) {
  Py_XDECREF(PyObject_Vectorcall(callable, arguments.data(), arguments.size(), nullptr));
}

PyRef compiled_function(PyView function, PyView globals, bool symbolic) {
  CompileFn compile = [globals, symbolic](CodeCache&, const FrameInput&) -> Result<CompileOutcome> {
    auto entry = std::make_unique<CacheEntry>();
    entry->guards = make_guards(globals, {"add"});
    entry->compiled_graph = make_graph(symbolic);
    for (SourceId source : {0, 1}) {
      Recipe recipe;
      recipe.kind = Recipe::Kind::kSource;
      recipe.source = source;
      entry->recipes.push_back(recipe);
      entry->input_recipes.push_back(source);
    }
    Recipe value;
    value.kind = Recipe::Kind::kGraphOutput;
    value.index = 0;
    entry->recipes.push_back(value);
    entry->value = 2;
    return CompileOutcome{std::move(entry), std::nullopt};
  };
  return make_jit_callable(function, std::make_unique<CodeCache>(std::move(compile), 0));
}

int run() {
  if (!import_numpy().ok()) return PyErr_Print(), 1;
  PyRef globals = PyRef::steal(PyDict_New());
  PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins());
  PyRef ran = PyRef::steal(PyRun_String(
      "import numpy as np\ndef f(x, y): return np.add(x, y)\nx = np.ones(8)\ny = np.ones(8)\nadd = np.add\n",
      Py_file_input, globals.get(), globals.get()));
  if (!ran) return PyErr_Print(), 1;
  const auto get = [&](const char* name) { return PyDict_GetItemString(globals.get(), name); };
  PyObject* arguments[] = {get("x"), get("y")};
  const FrameInput input{get("f"), arguments};
  GuardScratch scratch;
  const GuardTree arrays = make_guards(globals.get(), {}), all = make_guards(globals.get(), {"add"});
  const GuardTree many =
      make_guards(globals.get(), {"add", "sin", "cos", "exp", "log", "sqrt", "where", "pi"});
  const PyRef graph = make_graph(false), symbolic_graph = make_graph(true);
  const PyRef compiled = compiled_function(get("f"), globals.get(), false);
  const PyRef skipped =
      make_jit_callable(get("f"), std::make_unique<CodeCache>(
                                      [](CodeCache&, const FrameInput&) -> Result<CompileOutcome> {
                                        return CompileOutcome{nullptr, "skip"};
                                      },
                                      1));
  const int64_t shape[] = {kElements}, strides[] = {1};
  std::span<PyObject* const> given(arguments);

  report("guards of two arrays", [&] { arrays.matches(input, scratch); });
  report("guards of two arrays, np and np.add", [&] { all.matches(input, scratch); });
  report("guards of two arrays, np and eight of its attributes", [&] { many.matches(input, scratch); });
  report("allocate and free the output", [&] { new_array(DType::kFloat64, shape, strides); });
  report("graph call (returns a tuple)", [&] { call_object(graph.get(), given); });
  report("graph call, symbolic sizes", [&] { call_object(symbolic_graph.get(), given); });
  report("compiled function, whole call", [&] { call_object(compiled.get(), given); });
  report("skipped function, whole call", [&] { call_object(skipped.get(), given); });
  report("plain function", [&] { call_object(get("f"), given); });
  report("np.add(x, y)", [&] { call_object(get("add"), given); });
  report("error state", [&] { error_state(); });
  return 0;
}

}  // namespace
}  // namespace suture

int main() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, SUTURE_BENCH_PYTHON);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) Py_ExitStatusException(status);
  return suture::run();
}
