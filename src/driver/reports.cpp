#include "driver/reports.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <cfenv>

#include "base/base64.h"
#include "capture/source_text.h"
#include "cpython/code_object.h"
#include "cpython/marshalled_code.h"
#include "cpython/objects.h"
#include "driver/compiler.h"
#include "driver/recompile_causes.h"
#include "driver/record_run.h"
#include "graph/print.h"
#include "graph/user_calls.h"
#include "plan/kernel_abi.h"

namespace suture {
namespace {

struct FunctionPlace {
  std::string name, file;
  int line = 0;
};

FunctionPlace place_of(const FrameInput& input) {
  auto code = code_view(function_code(input.function));
  if (!code.ok()) return {};
  return {function_qualname(input.function), code->filename, code->first_line};
}

Event& with_place(Event& event, const FrameInput& input) {
  FunctionPlace place = place_of(input);
  return event.set("function", place.name).set("file", place.file).set("line", int64_t{place.line});
}

Event& with_reason(Event& event, BreakReason reason) {
  const BreakReasonInfo& row = info(reason);
  return event.set("reason_id", std::string(row.code))
      .set("station", std::string(row.station))
      .set("severity", std::string(name_of(row.severity)));
}

// Of each cause one part: parallel lists, as events carry them.
std::vector<std::string> each(const std::vector<RecompileCause>& causes, std::string RecompileCause::* part) {
  std::vector<std::string> out;
  for (const RecompileCause& cause : causes) out.push_back(cause.*part);
  return out;
}

void set_causes(Event& event, const std::vector<RecompileCause>& causes) {
  event.set("entries", each(causes, &RecompileCause::entry))
      .set("kinds", each(causes, &RecompileCause::kind))
      .set("sources", each(causes, &RecompileCause::source))
      .set("subjects", each(causes, &RecompileCause::subject))
      .set("expected", each(causes, &RecompileCause::expected))
      .set("actual", each(causes, &RecompileCause::actual))
      .set("places", each(causes, &RecompileCause::place))
      .set("place_sources", each(causes, &RecompileCause::place_source))
      .set("assigned", each(causes, &RecompileCause::assigned))
      .set("passed", each(causes, &RecompileCause::passed))
      .set("actions", each(causes, &RecompileCause::action));
}

std::vector<std::string> all_failures(const CompileContext& ctx, const CodeCache& cache,
                                      const FrameInput& input) {
  std::vector<std::string> failures;
  for (const auto& entry : cache.entries())
    for (int guard : entry->guards.failing(input))
      failures.push_back(fmt::format("{}/{}: {}", ctx.id.frame, entry->number,
                                     entry->guards.explain_failure(guard, input).sentence()));
  return failures;
}

std::string conditions_text(uint32_t kernel_status, int fp_flags) {
  std::vector<std::string> names;
  if (fp_flags & FE_DIVBYZERO) names.push_back("divide by zero");
  if (fp_flags & FE_OVERFLOW) names.push_back("overflow");
  if (fp_flags & FE_UNDERFLOW) names.push_back("underflow");
  if (fp_flags & FE_INVALID) names.push_back("invalid value");
  if (kernel_status & SUTURE_KERNEL_INT_DIVIDE) names.push_back("integer division by zero");
  if (kernel_status & SUTURE_KERNEL_INT_OVERFLOW) names.push_back("integer scalar overflow");
  if (kernel_status & SUTURE_KERNEL_INT_POWER) names.push_back("negative integer power");
  if (kernel_status & SUTURE_KERNEL_BAD_CAST) names.push_back("float does not fit integer");
  if (kernel_status & SUTURE_KERNEL_PY_ERROR) names.push_back("Python arithmetic error");
  if (kernel_status & SUTURE_KERNEL_BUILD_DEPENDENT)
    names.push_back("zeros of both signs, or NaN in logaddexp");
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> kernel_names(const GeneratedCode& code) {
  std::vector<std::string> names;
  for (const KernelInfo& kernel : code.kernels) names.push_back(kernel.name);
  return names;
}

// Per kernel: what `each` says about it.
template <class Each>
std::vector<std::string> per_kernel(const GeneratedCode& code, Each each) {
  std::vector<std::string> out;
  for (const KernelInfo& kernel : code.kernels) out.push_back(each(kernel));
  return out;
}

std::vector<std::string> kernel_ops(const GeneratedCode& code) {
  return per_kernel(code,
                    [](const KernelInfo& kernel) { return fmt::format("{}", fmt::join(kernel.ops, ",")); });
}

std::vector<std::string> kernel_lines(const GeneratedCode& code) {
  return per_kernel(code, [](const KernelInfo& kernel) {
    std::string places;
    for (const UserSpan& line : kernel.lines) places += (places.empty() ? "" : ",") + line.place();
    return places;
  });
}

// The line of the text that declares each kernel, up to its opening brace.
std::vector<std::string> kernel_signatures(const GeneratedCode& code) {
  std::vector<std::string> signatures;
  for (const KernelInfo& kernel : code.kernels) {
    const size_t name = code.cpp.find(kernel.name + "(");
    const size_t begin = name == std::string::npos ? name : code.cpp.rfind('\n', name) + 1;
    if (begin == std::string::npos) {
      signatures.push_back(kernel.name);
      continue;
    }
    signatures.push_back(code.cpp.substr(begin, code.cpp.find('{', name) - begin));
  }
  return signatures;
}

// The type with the sizes of this call.
TensorType concrete(TensorType type, const ShapeEnv& env) {
  for (SymInt& size : type.shape) size = env.hint(size);
  return type;
}

int64_t thread_number() { return static_cast<int64_t>(gettid()); }

}  // namespace

void report_frame_start(const CompileContext& ctx, const FrameInput& input, const FrameRecord& frame) {
  if (!ctx.trace.wants(EventId::kFrameStart)) return;
  Event event(EventId::kFrameStart, ctx.id);
  with_place(event, input)
      .set("kind", std::string(name_of(frame.kind)))
      .set("attempt", int64_t{ctx.id.attempt});
  ctx.trace.emit(std::move(event));
}

void report_graph(const CompileContext& ctx, const Graph& graph) {
  if (!ctx.trace.wants(EventId::kGraphCaptured)) return;
  std::vector<std::string> ops, lines, values, types, sizes;
  for (const Node& node : graph.nodes) {
    values.push_back(node.name);
    types.push_back(node.type.str());
    sizes.push_back(concrete(node.type, graph.env).str());
  }
  for (NodeId call : user_calls(graph)) {
    ops.push_back(graph.node(call).target);
    lines.push_back(graph.node(call).where.place());
  }
  const auto count = static_cast<int64_t>(ops.size());
  ctx.trace.emit(Event(EventId::kGraphCaptured, ctx.id)
                     .set("graph", graph.name)
                     .set("code", to_numpy_source(graph).text)
                     .set("text", to_text(graph))
                     .set("ops", std::move(ops))
                     .set("op_lines", std::move(lines))
                     .set("values", std::move(values))
                     .set("types", std::move(types))
                     .set("sizes", std::move(sizes))
                     .set("op_count", count)
                     .set("backend", ctx.frame.backend));
}

namespace {

// The inlined callers, nearest first: "prog.py:12 in f".
std::vector<std::string> callers(const Break& reason) {
  std::vector<std::string> out;
  for (auto caller = reason.stack.rbegin(); caller != reason.stack.rend(); ++caller)
    out.push_back(fmt::format("{} in {}", caller->place(), caller->function));
  return out;
}

std::vector<std::string> caller_lines(const Break& reason) {
  std::vector<std::string> out;
  for (auto caller = reason.stack.rbegin(); caller != reason.stack.rend(); ++caller)
    out.push_back(source_line(*caller));
  return out;
}

// The break that the first one at the place is a consequence of, elsewhere; null when there is none.
const Break* cause_elsewhere(const Break& first) {
  const Break* cause = first.cause.get();
  while (cause && cause->cause) cause = cause->cause.get();
  return cause;
}

void set_cause(Event& event, const Break* cause) {
  event.set("cause_id", std::string(cause ? info(cause->reason).code : ""))
      .set("cause_file", cause ? cause->where.file : "")
      .set("cause_line", int64_t{cause ? cause->where.line : 0})
      .set("cause_function", cause ? cause->where.function : "")
      .set("cause_source", cause ? source_line(cause->where) : "")
      .set("cause_stack", cause ? callers(*cause) : std::vector<std::string>())
      .set("cause_stack_sources", cause ? caller_lines(*cause) : std::vector<std::string>());
}

void set_effect(Event& event, const Break* effect) {
  event.set("effect_id", std::string(effect ? info(effect->reason).code : ""))
      .set("effect", effect ? effect->explanation() : "")
      .set("effect_hints", effect ? effect->hints() : std::vector<std::string>());
}

Event break_event(const CompileContext& ctx, const Break& reason, const ContinuationFrames& continuations) {
  const Break& first = reason.first_here();
  Event event(EventId::kGraphBreak, ctx.id);
  with_reason(event, first.reason)
      .set("reason", first.title())
      .set("explanation", first.explanation())
      .set("hints", first.hints())
      .set("function", first.where.function)
      .set("file", first.where.file)
      .set("line", int64_t{first.where.line})
      .set("column", int64_t{first.where.column})
      .set("end_column", int64_t{first.where.end_line == first.where.line ? first.where.end_column : -1})
      .set("source", raw_source_line(first.where));
  set_effect(event, &first == &reason ? nullptr : &reason);
  set_cause(event, cause_elsewhere(first));
  event.set("stack", callers(reason))
      .set("stack_sources", caller_lines(reason))
      .set("resume", fmt::format("{}", fmt::join(continuations.names, ", ")))
      .set("resume_frames", continuations.frames);
  return event;
}

}  // namespace

void report_break(const CompileContext& ctx, const Break& reason, const ContinuationFrames& continuations) {
  if (ctx.trace.wants(EventId::kGraphBreak)) ctx.trace.emit(break_event(ctx, reason, continuations));
}

void report_skip(const CompileContext& ctx, const FrameInput& input, const Break& reason) {
  if (!ctx.trace.wants(EventId::kFrameSkipped)) return;
  const FunctionPlace place = place_of(input);
  const bool inside = reason.where.known();
  Event event(EventId::kFrameSkipped, ctx.id);
  with_reason(event, reason.reason)
      .set("function", place.name)
      .set("reason", reason.title())
      .set("explanation", reason.explanation())
      .set("hints", reason.hints())
      .set("file", inside ? reason.where.file : place.file)
      .set("line", int64_t{inside ? reason.where.line : place.line})
      .set("source", raw_source_line(inside ? reason.where : UserSpan{place.file, place.name, place.line}));
  ctx.trace.emit(std::move(event));
}

namespace {

std::vector<Event> pass_events(const CompileId& id, const std::vector<PassReport>& passes) {
  std::vector<Event> events;
  for (const PassReport& pass : passes)
    events.push_back(Event(EventId::kPassDone, id)
                         .set("name", pass.name)
                         .set("changed", pass.changed)
                         .set("ms", pass.ms)
                         .set("first_application", pass.first_application)
                         .set("applications", pass.applications)
                         .set("text", pass.text));
  return events;
}

// The texts after each pass, which the run itself did not print: the passes run once more.
std::vector<PassReport> with_texts(std::vector<PassReport> passes, Graph graph, PassOptions options) {
  options.keep_text = true;
  auto again = run_pipeline(graph, options);
  for (size_t i = 0; again.ok() && i < passes.size() && i < again->size(); ++i)
    passes[i].text = std::move((*again)[i].text);
  return passes;
}

}  // namespace

void report_passes(const CompileContext& ctx, Compiler& compiler, const Graph& captured,
                   const PassOptions& options, const std::vector<PassReport>& passes) {
  auto graph = std::make_shared<const Graph>(captured);
  compiler.report_unwritten(ctx.id, {EventId::kPassDone}, [id = ctx.id, graph, options, passes] {
    return pass_events(id, options.keep_text ? passes : with_texts(passes, *graph, options));
  });
}

namespace {

std::vector<Event> schedule_events(const CompileId& id, const Graph& lowered, const LoopProgram& loops,
                                   const Schedule& schedule) {
  std::vector<Event> events;
  events.push_back(Event(EventId::kLowered, id)
                       .set("lowered", to_text(lowered))
                       .set("before", to_text(loops))
                       .set("after", to_text(schedule)));
  for (const FusionVerdict& verdict : schedule.verdicts)
    events.push_back(Event(EventId::kFusionDecision, id)
                         .set("producer", verdict.producer)
                         .set("consumer", verdict.consumer)
                         .set("fused", verdict.fused)
                         .set("number", verdict.number)
                         .set("reason", verdict.reason)
                         .set("sentence", verdict.sentence));
  return events;
}

}  // namespace

void report_schedule(const CompileContext& ctx, Compiler& compiler, std::shared_ptr<const Lowered> lowered) {
  compiler.report_unwritten(ctx.id, {EventId::kLowered, EventId::kFusionDecision},
                            [id = ctx.id, lowered = std::move(lowered)] {
                              return schedule_events(id, lowered->graph, lowered->loops, lowered->schedule);
                            });
}

void report_kernels(const CompileContext& ctx, const Graph& graph, const GeneratedCode& code,
                    const KernelLibrary& library) {
  if (ctx.trace.wants(EventId::kKernelSource))
    ctx.trace.emit(
        Event(EventId::kKernelSource, ctx.id)
            .set("graph", graph.name)
            .set("kernels", kernel_names(code))
            .set("signatures", kernel_signatures(code))
            .set("kernel_ops", kernel_ops(code))
            .set("kernel_lines", kernel_lines(code))
            .set("bytes_read",
                 per_kernel(code, [](const KernelInfo& kernel) { return std::to_string(kernel.bytes_read); }))
            .set("bytes_written",
                 per_kernel(code,
                            [](const KernelInfo& kernel) { return std::to_string(kernel.bytes_written); }))
            .set("path", library.source_path)
            .set("code", code.cpp)
            .set("lines", code.line_table)
            .set("plan", plan_json(code.plan, graph.env)));
  if (!library.note.empty() && ctx.trace.wants(EventId::kCacheTrouble))
    ctx.trace.emit(
        Event(EventId::kCacheTrouble, ctx.id).set("path", library.cache_dir).set("message", library.note));
  if (!library.profile_trouble.empty() && ctx.trace.wants(EventId::kProfileTrouble))
    ctx.trace.emit(Event(EventId::kProfileTrouble, ctx.id).set("message", library.profile_trouble));
  if (!ctx.trace.wants(EventId::kKernelCompiled)) return;
  const CompileTimes& times = library.times;
  ctx.trace.emit(Event(EventId::kKernelCompiled, ctx.id)
                     .set("graph", graph.name)
                     .set("kernels", kernel_names(code))
                     .set("tool", library.tool)
                     .set("cache_hit", library.from_cache)
                     .set("cache_key", library.cache_key)
                     .set("cache_reason", library.cache_reason)
                     .set("ms", times.total())
                     .set("load_ms", times.load)
                     .set("frontend_ms", times.frontend)
                     .set("optimise_ms", times.optimise)
                     .set("codegen_ms", times.codegen)
                     .set("link_ms", times.link)
                     .set("code_bytes", static_cast<int64_t>(library.code_bytes)));
}

Event missing_assembly_event(const CompileId& id, const std::string& graph, const Error& why) {
  return Event(EventId::kKernelAssembly, id)
      .set("graph", graph)
      .set("text", std::string())
      .set("message", why.message);
}

Event assembly_event(const CompileId& id, const std::string& graph, Toolchain& toolchain,
                     const std::string& object) {
  auto listing = toolchain.disassemble(object);
  if (!listing.ok()) return missing_assembly_event(id, graph, listing.error());
  return Event(EventId::kKernelAssembly, id)
      .set("graph", graph)
      .set("text", std::move(*listing))
      .set("message", std::string());
}

void report_assembly(const CompileContext& ctx, const std::string& graph, Toolchain& toolchain,
                     const KernelLibrary& library) {
  if (ctx.trace.wants(EventId::kKernelAssembly))
    ctx.trace.emit(assembly_event(ctx.id, graph, toolchain, library.object));
}

void report_output_bytecode(const CompileContext& ctx, const Capture& capture, const OutputCode& output,
                            const ContinuationFrames& continuations) {
  if (!ctx.trace.wants(EventId::kOutputBytecode)) return;
  PyRef name = PyRef::steal(PyObject_GetAttrString(output.function.get(), "__name__"));
  const UserSpan where = capture.end.reason ? capture.end.reason->where : UserSpan();
  ctx.trace.emit(Event(EventId::kOutputBytecode, ctx.id)
                     .set("name", exact_text(name.get()).value_or("?"))
                     .set("file", where.file)
                     .set("line", int64_t{where.line})
                     .set("loop", capture.end.kind == FrameEnd::Kind::kLoop)
                     .set("continuations", continuations.names)
                     .set("continuation_frames", continuations.frames)
                     .set("instructions", static_cast<int64_t>(capture.function.instructions.size()))
                     .set("transformed", static_cast<int64_t>(output.instruction_count))
                     .set("before", output.listing_before)
                     .set("after", output.listing_after));
}

void report_symbols(const CompileContext& ctx, const Capture& capture, const DynamicPlan& plan) {
  if (!ctx.trace.wants(EventId::kDynamic)) return;
  for (const SymbolInfo& symbol : capture.graph.env.symbols()) {
    auto why = plan.symbolic.find(symbol.source);
    ctx.trace.emit(Event(EventId::kDynamic, ctx.id)
                       .set("symbol", symbol.name)
                       .set("source", symbol.source)
                       .set("hint", symbol.hint)
                       .set("why", why != plan.symbolic.end() ? why->second : std::string("dynamic=True")));
  }
  for (const ShapeFact& fact : capture.graph.env.facts())
    ctx.trace.emit(Event(EventId::kDynamic, ctx.id)
                       .set("why", std::string("fact"))
                       .set("fact", fact.str())
                       .set("place", fact.where.place()));
}

void report_frame_done(const CompileContext& ctx, const FrameInput& input, int entry,
                       const std::string& graph, const Phases& phases) {
  if (!ctx.trace.wants(EventId::kFrameDone)) return;
  Event event(EventId::kFrameDone, ctx.id);
  with_place(event, input)
      .set("entry", int64_t{entry})
      .set("graph", graph)
      .set("ms", phases.get("total"))
      .set("phases", phases.all())
      .set("phase_starts", phases.starts())
      .set("thread", thread_number());
  ctx.trace.emit(std::move(event));
}

void report_recompile(const CompileContext& ctx, const RefusedCall& call) {
  if (!ctx.trace.wants(EventId::kRecompile)) return;
  const std::vector<RecompileCause> causes = recompile_causes(ctx, call);
  Event event(EventId::kRecompile, ctx.id);
  with_place(event, call.input)
      .set("failures", each(causes, &RecompileCause::sentence))
      .set("failures_verbose", all_failures(ctx, call.cache, call.input));
  set_causes(event, causes);
  ctx.trace.emit(std::move(event));
}

void report_recompile_limit(const CompileContext& ctx, const RefusedCall& call) {
  if (!ctx.trace.wants(EventId::kRecompileLimit)) return;
  const std::vector<RecompileCause> causes = recompile_causes(ctx, call);
  Event event(EventId::kRecompileLimit, ctx.id);
  Break reason;
  reason.reason = BreakReason::kRecompileLimit;
  with_reason(with_place(event, call.input), reason.reason)
      .set("hints", reason.hints())
      .set("limit", ctx.options.number("recompile_limit"))
      .set("reasons", each(causes, &RecompileCause::sentence));
  set_causes(event, causes);
  ctx.trace.emit(std::move(event));
}

std::function<void(uint32_t, int)> replay_reporter(const CompileContext& ctx, const std::string& graph) {
  // The Trace outlives every compiled graph: it belongs to the module.
  return [&trace = ctx.trace, id = ctx.id, graph](uint32_t kernel_status, int fp_flags) {
    if (!trace.wants(EventId::kReplay)) return;
    trace.emit(Event(EventId::kReplay, id)
                   .set("graph", graph)
                   .set("conditions", conditions_text(kernel_status, fp_flags))
                   .set("count", int64_t{1}));
  };
}

namespace {

// Made from code objects that live on with the record: they hold constants only.
Event frame_code_event(const CompileId& id, const std::string& function, const std::string& name,
                       PyView original, PyView transformed) {
  const PythonVersion version = running_python_version();
  const auto bytes = [](PyView code) {
    const auto marshalled = code ? marshalled_code(code) : Result<std::string>("");
    return marshalled.ok() ? to_base64(*marshalled) : "";
  };
  return Event(EventId::kFrameCode, id)
      .set("name", name)
      .set("function", function)
      .set("python", fmt::format("{}.{}", version.major, version.minor))
      .set("original", bytes(original))
      .set("transformed", bytes(transformed));
}

}  // namespace

void report_code(const CompileContext& ctx, Compiler& compiler, const FrameInput& input, PyView transformed) {
  const PyRef original = PyRef::borrow(function_code(input.function));
  const PyRef code = PyRef::borrow(transformed ? function_code(transformed) : nullptr);
  const std::string name = transformed ? function_name(transformed) : "";
  const std::string function = function_name(input.function);
  compiler.report_unwritten(ctx.id, {EventId::kFrameCode}, [id = ctx.id, function, name, original, code] {
    return std::vector<Event>{frame_code_event(id, function, name, original.get(), code.get())};
  });
}

Break unsupported_python_version(const FrameInput& input) {
  const PythonVersion version = running_python_version();
  Break reason;
  reason.reason = BreakReason::kPythonVersion;
  reason.args = {fmt::format("{}.{}", version.major, version.minor),
                 fmt::format("{}", fmt::join(rewritable_versions(), ", "))};
  const FunctionPlace place = place_of(input);
  reason.where.file = place.file;
  reason.where.function = place.name;
  reason.where.line = place.line;
  return reason;
}

namespace {

// `type` takes (message, record); when none is registered RuntimeError takes its place, with the message only.
void raise_with_record(PyView type, const std::string& message, const std::string& record) {
  auto decoded = [](const std::string& text) {
    return PyRef::steal(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  };
  PyRef text = decoded(message), line = decoded(record);
  PyRef arguments = !text || !line ? PyRef()
                    : type         ? PyRef::steal(PyTuple_Pack(2, text.get(), line.get()))
                                   : PyRef::steal(PyTuple_Pack(1, text.get()));
  if (arguments) PyErr_SetObject(type ? type : PyExc_RuntimeError, arguments.get());
}

}  // namespace

Error raise_graph_break(const CompileContext& ctx, const Break& reason, Compiler& compiler) {
  report_break(ctx, reason, {});
  raise_with_record(compiler.hooks.graph_break_type.get(), reason.message(),
                    to_json_line(break_event(ctx, reason, {})));
  return Error::python("fullgraph");
}

Result<CompileOutcome> give_up(const CompileContext& ctx, const FrameInput& input, const Error& error,
                               Compiler& compiler) {
  Break reason;
  if (error.step == "toolchain" && error.kind == ErrorKind::kUnsupported) {
    reason.reason = BreakReason::kNoCompiler;
    reason.args = {error.message};
  } else if (error.step == "backend" && error.kind == ErrorKind::kUnsupported) {
    reason.reason = BreakReason::kBackendFailed;
    reason.args = {fmt::format("'{}'", ctx.frame.backend), error.message};
  } else if (error.kind == ErrorKind::kUnsupported &&
             (error.step == "continuation" || error.step == "output")) {
    reason.reason = BreakReason::kCannotResume;
    reason.args = {"A graph break is met", error.message};
  } else if (error.kind == ErrorKind::kUnsupported) {
    reason.reason = BreakReason::kUnsupportedNumpy;
    reason.args = {"An operation", error.message};
  } else {
    reason.reason = BreakReason::kInternal;
    reason.args = {error.step, error.message};
    // Saved whether or not somebody listens: the file is what a user can send.
    Event event(EventId::kInternalError, ctx.id);
    with_reason(with_place(event, input), reason.reason)
        .set("hints", reason.hints())
        .set("step", error.step)
        .set("message", error.message)
        .set("artifact", compiler.save_failure(ctx.id, error));
    const std::string record = to_json_line(event);
    ctx.trace.emit(std::move(event));
    if (ctx.options.flag("strict")) {
      raise_with_record(compiler.hooks.internal_error_type.get(), reason.explanation(), record);
      return Error::python("strict");
    }
  }
  report_skip(ctx, input, reason);
  return CompileOutcome{nullptr, reason.explanation()};
}

}  // namespace suture
