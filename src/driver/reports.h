// Reports: the driver's events, and the ends of a compile that a user must hear about.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "capture/output_bytecode.h"
#include "codegen/emit.h"
#include "driver/compile_context.h"
#include "driver/stopwatch.h"
#include "passes/pass_runner.h"
#include "runtime/code_cache.h"
#include "schedule/schedule.h"
#include "toolchain/toolchain.h"

namespace suture {

class Compiler;
struct FrameRecord;
struct RefusedCall;

// A graph on its way to kernels.
struct Lowered {
  Graph graph;  // after the passes
  LoopProgram loops;
  Schedule schedule;
};

// Where a frame goes on after its break or loop: the name of each function, and the number of its frame. Names say the
// place in the code only, so functions of one file may have equal ones.
struct ContinuationFrames {
  std::vector<std::string> names, frames;
};

void report_frame_start(const CompileContext& ctx, const FrameInput& input, const FrameRecord& frame);
void report_graph(const CompileContext& ctx, const Graph& graph);
void report_break(const CompileContext& ctx, const Break& reason, const ContinuationFrames& continuations);
void report_skip(const CompileContext& ctx, const FrameInput& input, const Break& reason);
// `captured`: what the passes began with.
void report_passes(const CompileContext& ctx, Compiler& compiler, const Graph& captured,
                   const PassOptions& options, const std::vector<PassReport>& passes);
void report_schedule(const CompileContext& ctx, Compiler& compiler, std::shared_ptr<const Lowered> lowered);
void report_kernels(const CompileContext& ctx, const Graph& graph, const GeneratedCode& code,
                    const KernelLibrary& library);
void report_assembly(const CompileContext& ctx, const std::string& graph, Toolchain& toolchain,
                     const KernelLibrary& library);
Event missing_assembly_event(const CompileId& id, const std::string& graph, const Error& why);
Event assembly_event(const CompileId& id, const std::string& graph, Toolchain& toolchain,
                     const std::string& object);
void report_output_bytecode(const CompileContext& ctx, const Capture& capture, const OutputCode& output,
                            const ContinuationFrames& continuations);
// `transformed`: null when no Python code runs.
void report_code(const CompileContext& ctx, Compiler& compiler, const FrameInput& input, PyView transformed);
void report_symbols(const CompileContext& ctx, const Capture& capture, const DynamicPlan& plan);
void report_frame_done(const CompileContext& ctx, const FrameInput& input, int entry,
                       const std::string& graph, const Phases& phases);
void report_recompile(const CompileContext& ctx, const RefusedCall& call);
void report_recompile_limit(const CompileContext& ctx, const RefusedCall& call);
std::function<void(uint32_t, int)> replay_reporter(const CompileContext& ctx, const std::string& graph);

Break unsupported_python_version(const FrameInput& input);
// fullgraph=True: sets suture.GraphBreak with the whole message.
Error raise_graph_break(const CompileContext& ctx, const Break& reason, Compiler& compiler);
// A compile that failed for a reason of ours, or for want of a compiler: reported, saved, and turned into a
// skip.
Result<CompileOutcome> give_up(const CompileContext& ctx, const FrameInput& input, const Error& error,
                               Compiler& compiler);

}  // namespace suture
