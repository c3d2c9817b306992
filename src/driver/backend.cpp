#include "driver/backend.h"

#include <fmt/format.h>

#include <algorithm>

#include "cpython/discard_error.h"
#include "cpython/objects.h"
#include "driver/compiler.h"
#include "driver/failed_compile.h"
#include "driver/inject_fault.h"
#include "driver/native_backend.h"
#include "driver/replay.h"
#include "driver/reports.h"
#include "graph/print.h"
#include "graph/symbols.h"
#include "passes/pass_runner.h"
#include "runtime/compiled_graph.h"

namespace suture {
namespace {

using InputBinding = NativeGraph::InputBinding;

int input_with_source(const Capture& capture, SourceId source) {
  for (size_t i = 0; i < capture.input_recipes.size(); ++i) {
    const Recipe& recipe = capture.recipes[static_cast<size_t>(capture.input_recipes[i])];
    if (recipe.kind == Recipe::Kind::kSource && recipe.source == source) return static_cast<int>(i);
  }
  return -1;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The objects the graph's inputs hold in this call, for backends that want examples.
Result<PyRef> example_inputs(const Capture& capture, const FrameInput& input) {
  PyRef list = PyRef::steal(PyList_New(0));
  if (!list) return Error::python("backend");
  for (RecipeId id : capture.input_recipes) {
    const Recipe& recipe = capture.recipes[static_cast<size_t>(id)];
    PyObject* value =
        recipe.kind == Recipe::Kind::kSource ? fetch(capture.guards.sources, recipe.source, input) : Py_None;
    if (!value)
      return Error::internal("backend",
                             "an input cannot be fetched: " + capture.guards.sources.str(recipe.source));
    if (PyList_Append(list.get(), value) < 0) return Error::python("backend");
  }
  return list;
}

// "prog.py:5 [0/1]": where the user's function begins, and which compile it is; of a part of the function also where that
// begins: "prog.py:5 resume:9 [2/0]".
std::string place_of(const CodeView& code, const FrameRecord* frame, const CompileId& id) {
  const size_t slash = code.filename.rfind('/');
  const std::string file = code.filename.substr(slash == std::string::npos ? 0 : slash + 1);
  const bool part = frame && (frame->kind == FrameKind::kResume || frame->kind == FrameKind::kIteration);
  const std::string compile = CompileId{id.frame, id.compile, 0}.str();
  if (!part) return fmt::format("{}:{} [{}]", file, code.first_line, compile);
  const char* what = frame->kind == FrameKind::kResume ? "resume" : "loop";
  return fmt::format("{}:{} {}:{} [{}]", file, frame->user_line, what, code.first_line, compile);
}

// A backend that raises costs its user the compiled code, not the result; strict mode shows the exception
// itself, and who wants a reproduction of the failure gets it with that.
Error backend_failure(const CompileContext& ctx) {
  const bool stop = !pending_error_is_ordinary() || PyErr_ExceptionMatches(PyExc_MemoryError);
  const bool wanted = repro_after(ctx.options) == ReproAfter::kCapture;
  if (stop || wanted || ctx.options.flag("strict")) return Error::python("backend");
  const std::string text = pending_exception_text();
  discard_error();
  return Error::unsupported("backend", text);
}

// A callable that raises in a frame with handlers or effects: Python runs the frame. What was written into the
// inputs meanwhile is unknown, so graphs that write are left alone.
Result<PyRef> make_foreign(const GraphSource& source, PyRef callable) {
  const bool reruns = source.foreign_reruns && !source.graph.mutates_inputs();
  PyRef graph = make_compiled_graph(std::move(callable), source.graph.name, source.graph.outputs.size(),
                                    reruns ? RunAgain::kFrame : RunAgain::kGraph);
  if (!graph) return Error::python("backend");
  return graph;
}

Result<PyRef> compile_foreign(GraphSource& source, PyRef replay, Compiler& compiler, CompileContext& ctx) {
  SUTURE_TRY(graph, compiler.hooks.make_graph_object(source.graph, std::move(replay), source.bindings));
  SUTURE_TRY(examples, source.examples());
  PyRef callable = PyRef::steal(
      PyObject_CallFunctionObjArgs(ctx.frame.backend_callable.get(), graph.get(), examples.get(), nullptr));
  if (!callable) return backend_failure(ctx);
  if (const ShapeEnv* env = compiler.hooks.relied_on(graph.get())) source.graph.env = *env;
  if (!PyCallable_Check(callable.get())) {
    PyErr_Format(
        PyExc_TypeError,
        "backend '%s' returned %s; it must return a callable that takes the graph inputs and returns a tuple",
        ctx.frame.backend.c_str(), type_name(callable.get()).c_str());
    return backend_failure(ctx);
  }
  return make_foreign(source, std::move(callable));
}

}  // namespace

std::vector<InputBinding> input_bindings(const Capture& capture) {
  std::vector<InputBinding> bindings;
  for (const SymbolBinding& b : capture.guards.bindings) {
    const bool value = b.what == SymbolBinding::What::kIntValue;
    bindings.push_back({b.symbol, input_with_source(capture, b.source), value ? -1 : b.axis,
                        b.what == SymbolBinding::What::kStride});
  }
  return bindings;
}

std::vector<PyRef> present_inputs(const Capture& capture, const FrameInput& input) {
  std::vector<PyRef> objects;
  for (RecipeId id : capture.input_recipes) {
    const Recipe& recipe = capture.recipes[static_cast<size_t>(id)];
    PyView value = recipe.kind == Recipe::Kind::kSource ? fetch(capture.guards.sources, recipe.source, input)
                                                        : recipe.object.get();
    if (!value) return {};
    objects.push_back(PyRef::borrow(value));
  }
  return objects;
}

void add_symbol_inputs(Capture& capture) {
  for (const SymbolBinding& binding : capture.guards.bindings) {
    if (input_with_source(capture, binding.source) >= 0) continue;
    Recipe recipe;
    recipe.kind = Recipe::Kind::kSource;
    recipe.source = binding.source;
    capture.recipes.push_back(std::move(recipe));
    capture.input_recipes.push_back(static_cast<RecipeId>(capture.recipes.size()) - 1);
  }
}

Result<BackendArguments> backend_arguments(const Capture& capture, const FrameInput& input,
                                           Compiler& compiler) {
  std::vector<InputBinding> bindings = input_bindings(capture);
  SUTURE_TRY(replay,
             make_replay(capture.graph, capture.call_sites, bindings, function_globals(input.function)));
  SUTURE_TRY(graph, compiler.hooks.make_graph_object(capture.graph, std::move(replay), std::move(bindings)));
  Result<PyRef> inputs = example_inputs(capture, input);
  if (!inputs.ok() && inputs.error().kind == ErrorKind::kPython) return std::move(inputs).error();
  PyRef list = inputs.ok() ? std::move(inputs).value() : PyRef::borrow(Py_None);
  return BackendArguments{std::move(graph), std::move(list)};
}

Result<Graph> lower_graph(const Graph& captured, Compiler& compiler, CompileContext& ctx) {
  Graph graph = captured;
  SUTURE_TRY(fault, FaultInjector::make(ctx, captured.name));
  PassOptions options{.skip = split(ctx.options.text("skip_passes")),
                      .keep_text = ctx.trace.wants(EventId::kPassDone),
                      .limit = ctx.options.number("pass_limit"),
                      .edit = fault ? fault->after_pass() : PassEdit()};
  SUTURE_TRY(passes, run_pipeline(graph, options));
  report_passes(ctx, compiler, captured, options, passes);
  return graph;
}

Result<Graph> lower_source(GraphSource& source, Compiler& compiler, CompileContext& ctx) {
  SUTURE_TRY(lowered, lower_graph(source.graph, compiler, ctx));
  source.graph.env = lowered.env;
  return lowered;
}

Result<PyRef> compile_graph(GraphSource& source, Compiler& compiler, CompileContext& ctx, Phases& phases) {
  SUTURE_TRY(replay, make_replay(source.graph, source.call_sites, source.bindings, source.globals));
  if (ctx.frame.backend_callable) {
    auto timer = phases.start("backend");
    return compile_foreign(source, std::move(replay), compiler, ctx);
  }
  if (ctx.frame.backend == "eager") return make_foreign(source, std::move(replay));
  if (ctx.frame.backend == "lowered_eager") {
    SUTURE_TRY(lowered, lower_source(source, compiler, ctx));
    SUTURE_TRY(callable, compiler.hooks.make_interpreter(lowered, source.bindings));
    return make_foreign(source, std::move(callable));
  }
  return compile_native(source, std::move(replay), compiler, ctx, phases);
}

Result<PyRef> compile_graph(Capture& capture, const FrameInput& input, Compiler& compiler,
                            CompileContext& ctx, Phases& phases) {
  // A frame that ends with its graph has nothing to lose: the function itself is the most exact replay.
  const bool whole_frame = capture.needs_rerun || capture.end.kind == FrameEnd::Kind::kReturn;
  GraphSource source{.graph = capture.graph,
                     .call_sites = capture.call_sites,
                     .bindings = input_bindings(capture),
                     .globals = function_globals(input.function),
                     .function = capture.function.code.qualname,
                     .place = place_of(capture.function.code, compiler.record(ctx.id.frame).get(), ctx.id),
                     .again = whole_frame ? RunAgain::kFrame : RunAgain::kGraph,
                     .foreign_reruns = capture.needs_rerun,
                     .examples = [&] { return example_inputs(capture, input); },
                     .inputs_to_measure = [&] { return present_inputs(capture, input); }};
  return compile_graph(source, compiler, ctx, phases);
}

std::vector<NativeGraph::InputBinding> standalone_bindings(const Graph& graph) {
  std::vector<InputBinding> bindings;
  for (const SymbolCarrier& carrier : symbol_carriers(graph))
    bindings.push_back({carrier.symbol, carrier.input, carrier.axis, carrier.stride});
  return bindings;
}

GraphSource standalone_source(Graph& graph, std::vector<InputBinding> bindings) {
  return {
      .graph = graph,
      .bindings = std::move(bindings),
      .function = graph.name,
      .place = graph.name,
      .examples = [] { return Result<PyRef>(Error::internal("backend", "a graph without example inputs")); },
      .inputs_to_measure = [] { return std::vector<PyRef>(); }};
}

Result<PyRef> compile_graph(Graph& graph, std::vector<InputBinding> bindings, FrameOptions options,
                            PyView inputs, Compiler& compiler) {
  PyRef list = PyRef::steal(PySequence_List(inputs));
  if (!list) return Error::python("backend");
  options.overrides.emplace_back("strict", "True");
  Options chosen = compiler.options;
  for (const auto& [name, value] : options.overrides) SUTURE_TRY_VOID(chosen.set(name, value));
  CompileContext ctx{compiler.trace, chosen, std::move(options), {compiler.new_frame_id(), 0, 0}};
  Phases phases;
  GraphSource source = standalone_source(graph, std::move(bindings));
  source.examples = [&]() -> Result<PyRef> { return list; };
  return compile_graph(source, compiler, ctx, phases);
}

}  // namespace suture
