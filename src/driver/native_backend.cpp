#include "driver/native_backend.h"

#include <memory>
#include <optional>

#include "capture/source_text.h"
#include "codegen/emit.h"
#include "driver/compiler.h"
#include "driver/inject_fault.h"
#include "driver/measure.h"
#include "driver/perf_hints.h"
#include "driver/replay.h"
#include "driver/report_plan.h"
#include "driver/reports.h"
#include "loop/loop_program.h"
#include "runtime/compiled_graph.h"
#include "schedule/schedule.h"

namespace suture {
namespace {

// Null when nobody asked for measured costs; without figures when the graph cannot be measured.
std::shared_ptr<const GraphTimes> measured(PyView compiled_graph, PyView replay, const GraphSource& source,
                                           Compiler& compiler, Phases& phases) {
  if (!compiler.profiling) return nullptr;
  const std::vector<PyRef> inputs = source.inputs_to_measure();
  if (inputs.size() < source.graph.placeholders.size()) return std::make_shared<GraphTimes>();
  const auto pause = phases.pause();
  struct Measuring {
    Measuring() { Compiler::measuring = true; }
    ~Measuring() { Compiler::measuring = false; }
  } measuring;
  return measure_graph(compiled_graph, replay, source.graph, inputs);
}

// "O2" is 2.
int kernel_opt(const std::string& text) { return text.back() - '0'; }

void add_debug_info(KernelSource& source, const GeneratedCode& code) {
  source.debug_info = true;
  for (const CodeLine& line : code.lines)
    if (line.where.known()) source.user_lines.push_back({line.line, line.where.file, line.where.line});
}

// What the stages in front of the C++ compiler make of a graph.
struct Generated {
  std::shared_ptr<const Lowered> kept;
  GeneratedCode code;
};

Result<Generated> generate(GraphSource& source, FaultInjector* fault, Compiler& compiler, CompileContext& ctx,
                           Phases& phases) {
  const std::string& name = source.graph.name;
  auto lowering = phases.start("passes");
  SUTURE_TRY(graph, lower_source(source, compiler, ctx));
  lowering.stop();

  auto generating = phases.start("codegen");
  SUTURE_TRY(loops, lower(graph, {.numpy_minor = compiler.numpy_minor}));
  SUTURE_TRY(planned, plan_schedule(loops, graph,
                                    {.fuse = ctx.options.flag("fusion"),
                                     .fusion_limit = ctx.options.number("fusion_limit"),
                                     .order_loops = ctx.options.flag("loop_order")}));
  if (fault) SUTURE_TRY_VOID(fault->after_schedule(planned, graph));
  auto kept = std::make_shared<const Lowered>(std::move(graph), std::move(loops), std::move(planned));
  report_schedule(ctx, compiler, kept);
  report_steps(ctx, name, kept->schedule);
  const CodegenOptions options{.source_line = raw_source_line};
  SUTURE_TRY(code, fault ? fault->emit(kept->schedule, kept->graph, options)
                         : emit(kept->schedule, kept->graph, options));
  return Generated{std::move(kept), std::move(code)};
}

KernelSource kernel_source(const GraphSource& source, const GeneratedCode& code, const CompileContext& ctx) {
  KernelSource kernels{.graph_name = source.graph.name,
                       .cpp = code.cpp,
                       .fast_math = ctx.frame.numerics == "fast",
                       .opt = kernel_opt(ctx.options.text("kernel_opt")),
                       .line_table = code.line_table,
                       .function = source.function,
                       .place = source.place};
  for (const KernelInfo& kernel : code.kernels) kernels.symbols.push_back(kernel.name);
  if (ctx.options.flag("debug_info")) add_debug_info(kernels, code);
  return kernels;
}

// Nothing when the graph has no kernels.
Result<std::optional<KernelSource>> source_ahead(const GraphAhead& ahead, Compiler& compiler) {
  Options options = compiler.options;
  for (const auto& [name, value] : ahead.options.overrides) SUTURE_TRY_VOID(options.set(name, value));
  CompileContext ctx{compiler.trace, options, ahead.options, {compiler.new_frame_id(), 0, 0}};
  Graph graph = ahead.graph;
  GraphSource source = standalone_source(graph, {});
  Phases phases;
  SUTURE_TRY(fault, FaultInjector::make(ctx, graph.name));
  SUTURE_TRY(made, generate(source, fault.get(), compiler, ctx, phases));
  std::optional<KernelSource> kernels;
  if (!made.code.kernels.empty()) kernels = kernel_source(source, made.code, ctx);
  return kernels;
}

}  // namespace

Result<PyRef> compile_native(GraphSource& source, PyRef replay, Compiler& compiler, CompileContext& ctx,
                             Phases& phases) {
  const std::string& name = source.graph.name;
  SUTURE_TRY(fault, FaultInjector::make(ctx, name));
  SUTURE_TRY(made, generate(source, fault.get(), compiler, ctx, phases));
  auto& [kept, code] = made;
  const Graph& lowered = kept->graph;
  report_memory_plan(ctx, name, code.plan, lowered.env);

  NativeGraph native;
  if (!code.kernels.empty()) {
    auto compiling = phases.start("compile");
    SUTURE_TRY(toolchain, compiler.toolchain());
    const KernelSource kernels = kernel_source(source, code, ctx);
    if (fault) SUTURE_TRY_VOID(fault->before_toolchain(lowered));
    SUTURE_TRY(library, toolchain->compile(kernels));
    native.library = std::move(library);
    compiling.stop();
    report_kernels(ctx, lowered, code, *native.library);
    report_assembly(ctx, name, *toolchain, *native.library);
  }
  std::vector<SavedInput> saved = saved_inputs(code.plan, lowered.env.hints());
  native.plan = std::move(code.plan);
  native.replay = replay;
  native.symbol_count = static_cast<int>(source.graph.env.symbols().size());
  native.bindings = source.bindings;
  native.mutates_inputs = source.graph.mutates_inputs();
  native.again = source.again;
  native.on_replay = [report = replay_reporter(ctx, name)](uint32_t status, int flags) {
    if (!Compiler::measuring) report(status, flags);
  };
  SUTURE_TRY(compiled, make_compiled_graph(std::move(native), name));
  auto times = measured(compiled.get(), replay.get(), source, compiler, phases);
  const auto pause = phases.pause();  // costs of copies and of the BLAS are measured on the way
  report_perf_hints(ctx, compiler, kept, std::move(saved), std::move(times));
  return compiled;
}

Status compile_ahead(std::span<const GraphAhead> graphs, Compiler& compiler) {
  std::vector<KernelSource> sources;
  for (const GraphAhead& ahead : graphs) {
    auto source = source_ahead(ahead, compiler);
    if (source.ok() && *source) sources.push_back(std::move(**source));
    if (!source.ok() && source.error().kind == ErrorKind::kPython) return std::move(source).error();
  }
  SUTURE_TRY(toolchain, compiler.toolchain());
  return toolchain->compile_ahead(sources);
}

}  // namespace suture
