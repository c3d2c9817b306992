// compile_frame.
//
//   guards of all entries failed
//     -> learn what varies            automatic_dynamic
//     -> capture                      trace_frame: graph, guards, how the frame ends
//     -> backend                      native: passes, loops, schedule, C++, machine code; or a Python
//     callable
//     -> output bytecode              only when the frame breaks, keeps a loop in Python or has side effects
//     -> guard tree, cache entry
//
// Three ways out: an entry; a skip (the frame runs in the interpreter from now on, with a reason); an Error
// kPython that the caller of the function sees (suture.GraphBreak under fullgraph, KeyboardInterrupt: also one that
// came while Python was asked something and was kept by discard_error). Errors
// kInternal never leave: they are reported, saved, and become a skip, unless strict mode re-raises them.
#include "driver/compile_frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture/capture.h"
#include "capture/output_bytecode.h"
#include "cpython/code_object.h"
#include "cpython/discard_error.h"
#include "cpython/jit_callable.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "driver/automatic_dynamic.h"
#include "driver/backend.h"
#include "driver/callees.h"
#include "driver/capture_watch.h"
#include "driver/compiler.h"
#include "driver/failed_compile.h"
#include "driver/fault_frame.h"
#include "driver/recompile_advice.h"
#include "driver/record_run.h"
#include "driver/report_guards.h"
#include "driver/reports.h"
#include "driver/stopwatch.h"
#include "driver/write_ahead.h"

namespace suture {
namespace {

CaptureOptions capture_options(const FrameInput& input, const FrameRecord& frame, const CompileContext& ctx,
                               const Marks& marks) {
  CaptureOptions options;
  options.dynamic = frame.dynamic;
  options.limits.max_unroll = static_cast<int>(ctx.options.number("max_unroll"));
  options.limits.max_inline_depth = static_cast<int>(ctx.options.number("max_inline_depth"));
  if (marks.empty()) return options;
  auto code = code_view(function_code(input.function));
  for (size_t i = 0; code.ok() && i < input.arguments.size() && i < code->local_names.size(); ++i) {
    marks.apply(input.arguments[i], code->local_names[i], options.dynamic);
  }
  return options;
}

CompileOutcome skip(std::string reason) { return {nullptr, std::move(reason)}; }

// A frame that returns, changes nothing and needs no Python bytecode is run from its recipes.
bool needs_bytecode(const Capture& capture) {
  return capture.end.kind != FrameEnd::Kind::kReturn || !capture.side_effects.empty();
}

// Results that nobody uses may still warn: 1 / x does, and so does NumPy.
bool has_graph(const Capture& capture) {
  return !capture.graph.outputs.empty() || std::ranges::any_of(capture.graph.nodes, [](const Node& node) {
    const OpKind kind = info(node.op).kind;
    return kind == OpKind::Elementwise || kind == OpKind::Reduce || kind == OpKind::Contract ||
           kind == OpKind::Effect;
  });
}

Result<OutputCode> transformed_function(const Capture& capture, const FrameInput& input,
                                        PyView compiled_graph, int entry, FrameRecord& frame,
                                        Compiler& compiler, const CompileContext& ctx) {
  ContinuationFrames continuations;
  MakeCallable make_callable = [&](PyRef function, FrameKind kind) -> Result<PyRef> {
    SUTURE_TRY(callable, compiler.compile_child(function.get(), kind, frame));
    continuations.frames.push_back(std::to_string(cache_of(callable.get()).frame_id()));
    return callable;
  };
  SUTURE_TRY(output, emit_output_bytecode(capture, input.function, compiled_graph, entry, make_callable));
  continuations.names = output.resume_names;
  report_output_bytecode(ctx, capture, output, continuations);
  if (capture.end.reason) report_break(ctx, *capture.end.reason, continuations);
  return output;
}

// An entry that runs the function itself for inputs like these: the types of all arguments, and what capture
// relied on.
Result<CompileOutcome> eager_entry(Capture capture, const FrameInput& input, int number) {
  auto entry = std::make_unique<CacheEntry>();
  entry->number = number;
  entry->eager_reason = capture.end.reason->title();
  GuardSet set = std::move(capture.guards);
  std::vector<Guard> types;
  for (size_t i = 0; i < input.arguments.size(); ++i) {
    PyView argument = input.arguments[i];
    Source source;
    source.index = static_cast<int>(i);
    source.name = capture.function.code.local_names[i];
    Guard guard;
    guard.source = set.sources.add(std::move(source));
    guard.where = capture.end.reason->where;
    guard.object = PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(argument)));
    types.push_back(guard);
    if (is_exact_ndarray(argument) && !(array_facts(argument).plain && array_facts(argument).dtype)) {
      guard.kind = GuardKind::kNotPlain;
      guard.object = {};
      types.push_back(std::move(guard));
    }
  }
  set.guards.insert(set.guards.begin(), types.begin(), types.end());
  SUTURE_TRY(guards, GuardTree::build(std::move(set), std::move(capture.graph.env)));
  entry->guards = std::move(guards);
  return CompileOutcome{std::move(entry), std::nullopt};
}

// What kills the process on the way is in its record; what fails leaves a file when the user wants one.
Result<PyRef> compile_recorded(Capture& capture, const FrameInput& input, Compiler& compiler,
                               CompileContext& ctx, Phases& phases) {
  leave_repro_before(capture, input, compiler, ctx);
  auto recorded = recorded_graph(capture, input_bindings(capture), compiler, ctx);
  Result<PyRef> made = Error::internal("backend", "nothing was compiled");
  {
    const OpenRecord record = record_compile(recorded.get(), present_inputs(capture, input), compiler);
    made = compile_graph(capture, input, compiler, ctx, phases);
  }
  if (!made.ok()) return leave_repro(std::move(made).error(), capture, input, compiler, ctx);
  record_runs(made->get(), std::move(recorded), compiler);
  return with_checked_runs(std::move(made).value(), capture, input, compiler, ctx);
}

Result<CompileOutcome> compile_captured(Capture& capture, const FrameInput& input, int entry_number,
                                        FrameRecord& frame, Compiler& compiler, CompileContext& ctx,
                                        Phases& phases) {
  auto entry = std::make_unique<CacheEntry>();
  entry->number = entry_number;
  SUTURE_TRY_VOID(inject_frame_fault(capture, ctx));

  if (has_graph(capture)) {
    report_graph(ctx, capture.graph);
    report_inputs(ctx, compiler, capture, input);
    add_symbol_inputs(capture);
    SUTURE_TRY(compiled, compile_recorded(capture, input, compiler, ctx, phases));
    record_first_run(compiled.get(), capture.graph.name, compiler, ctx);
    entry->compiled_graph = std::move(compiled);
  }

  if (needs_bytecode(capture)) {
    auto timer = phases.start("bytecode");
    SUTURE_TRY_VOID(compile_callee(capture, input, frame, compiler));
    SUTURE_TRY(output, transformed_function(capture, input, entry->compiled_graph.get(), entry_number, frame,
                                            compiler, ctx));
    entry->transformed = std::move(output.function);
    entry->entry_values = std::move(output.entry_values);
  } else {
    entry->input_recipes = capture.input_recipes;
    entry->recipes = capture.recipes;
    entry->value = capture.end.value;
  }

  auto timer = phases.start("guards");
  if (capture.graph.env.overflowed())
    return Error::internal("passes", "a question about sizes was asked that int64 cannot answer");
  report_symbols(ctx, capture, frame.dynamic);
  SUTURE_TRY(guards, GuardTree::build(std::move(capture.guards), capture.graph.env));
  entry->guards = std::move(guards);
  entry->on_guard_costs = guard_costs_reporter(ctx);
  GuardScratch scratch;
  std::vector<double> sample;
  if (entry->guards.measure(input, scratch, sample)) entry->guard_costs.add_sample(sample);
  report_guards(ctx, *entry, input.function);
  report_code(ctx, compiler, input, entry->transformed.get());
  return CompileOutcome{std::move(entry), std::nullopt};
}

// What was relied on in place of a value is known when the frame has been captured, so this is told then. `captured`: null
// when there is none.
void report_refused_call(const CodeCache& cache, const FrameInput& input, const FrameRecord& frame,
                         const CaptureOptions& options, const Capture* captured, const CompileContext& ctx) {
  const auto capture_with_symbols = [&] {
    CaptureOptions all = options;
    all.observer = nullptr;
    all.dynamic.mode = DynamicMode::kAlways;
    all.dynamic.fixed.clear();
    return trace_frame(input, all);
  };
  const RefusedCall call{cache, input, frame, options.dynamic, captured, capture_with_symbols};
  const bool limit = static_cast<int64_t>(cache.entries().size()) >= ctx.options.number("recompile_limit");
  limit ? report_recompile_limit(ctx, call) : report_recompile(ctx, call);
}

Result<CompileOutcome> compile_attempt(const CodeCache& cache, const FrameInput& input, FrameRecord& frame,
                                       Compiler& compiler, CompileContext& ctx) {
  Phases phases;
  auto whole = phases.start("total");
  report_frame_start(ctx, input, frame);

  auto capturing = phases.start("capture");
  CaptureWatch watch(ctx);
  CaptureOptions options = capture_options(input, frame, ctx, compiler.marks);
  options.observer = watch.observer();
  options.owns_arguments = frame.kind == FrameKind::kResume;
  Result<Capture> captured = trace_frame(input, options);
  capturing.stop();
  if (!cache.entries().empty() && (captured.ok() || captured.error().kind != ErrorKind::kPython)) {
    auto pause = phases.pause();
    report_refused_call(cache, input, frame, options, captured.ok() ? &*captured : nullptr, ctx);
  }
  SUTURE_TRY(capture, std::move(captured));
  ctx.id.attempt = capture.attempts - 1;

  if (frame.options.fullgraph && capture.end.reason && capture.end.reason->reason != BreakReason::kNoArrays)
    return raise_graph_break(ctx, *capture.end.reason, compiler);
  if (capture.end.kind == FrameEnd::Kind::kSkip) {
    report_skip(ctx, input, *capture.end.reason);
    if (info(capture.end.reason->reason).scope == BreakScope::kFunction)
      return skip(capture.end.reason->title());
    return eager_entry(std::move(capture), input, ctx.id.compile);
  }

  const std::string graph_name = capture.graph.name;
  SUTURE_TRY(outcome, compile_captured(capture, input, ctx.id.compile, frame, compiler, ctx, phases));
  if (raise_kept_error()) return Error::python("interrupt");
  whole.stop();
  report_frame_done(ctx, input, ctx.id.compile, outcome.entry->compiled_graph ? graph_name : "", phases);
  return outcome;
}

}  // namespace

Result<CompileOutcome> compile_frame(CodeCache& cache, const FrameInput& input, FrameRecord& frame,
                                     Compiler& compiler) {
  Options options = compiler.options;
  for (const auto& [name, value] : frame.options.overrides) SUTURE_TRY_VOID(options.set(name, value));
  // For this function only; the process-wide switch is tested at every call, so that it can be taken back.
  if (options.flag("disable")) return skip("disabled by options of this function");
  if (const int64_t limit = options.number("frame_limit"); limit >= 0 && frame.id >= limit)
    return skip(fmt::format("frame {} is beyond frame_limit={}", frame.id, limit));
  CompileContext ctx{compiler.trace, options, frame.options, {frame.id, frame.compiles++, 0}};

  if (!can_be_rewritten(running_python_version())) {
    const Break reason = unsupported_python_version(input);
    if (frame.options.fullgraph) return raise_graph_break(ctx, reason, compiler);
    report_skip(ctx, input, reason);
    return skip(reason.title());
  }
  if (!cache.entries().empty()) {
    if (options.flag("automatic_dynamic")) learn_dynamic(cache.entries(), input, frame.dynamic);
    if (static_cast<int64_t>(cache.entries().size()) >= options.number("recompile_limit")) {
      report_refused_call(cache, input, frame, capture_options(input, frame, ctx, compiler.marks), nullptr,
                          ctx);
      return skip(std::string(info(BreakReason::kRecompileLimit).title));
    }
  }

  auto outcome = compile_attempt(cache, input, frame, compiler, ctx);
  if (raise_kept_error()) return Error::python("interrupt");
  if (outcome.ok() || outcome.error().kind == ErrorKind::kPython) return outcome;
  return give_up(ctx, input, outcome.error(), compiler);
}

}  // namespace suture
