// What a failed compile leaves behind when the option repro_after asks for it.
//
//   compile_graph fails -> the hook failed_compile writes minifier_launcher.py (suture/_minify/launcher.py)
//                       -> suture.BackendCompilerFailed, with the path of that file, instead of running eagerly
//
//   A graph whose runs fail is treated in the same way.
//
//   capture   every failure behind capture counts: of a backend that is a callable, and of the built-in compiler
//   lowering  only those of the built-in compiler count: passes, schedule, code generation, toolchain
//
// No failure of the backend: what it does not support (that is a skip with a reason), a missing compiler, no memory, Ctrl-C.
#pragma once

#include <string>

#include "base/result.h"
#include "capture/capture.h"
#include "driver/compile_context.h"

namespace suture {

class Compiler;

enum class ReproAfter : uint8_t { kNothing, kCapture, kLowering };
ReproAfter repro_after(const Options& options);

// Facts about a graph that a reader needs to compile it again, as JSON: graph, function, file, line, compile id, backend,
// numerics, the options that are not at their defaults, and where the backend's callable comes from.
std::string case_facts(const CompileContext& ctx, const Graph& graph, const CodeView& code);

// The error the frame goes on with: `error` itself, or kPython with BackendCompilerFailed set and a file written.
Error leave_repro(Error error, const Capture& capture, const FrameInput& input, Compiler& compiler,
                  const CompileContext& ctx);

// repro_level 3: a file is written before the graph is compiled, whether or not it fails.
void leave_repro_before(const Capture& capture, const FrameInput& input, Compiler& compiler,
                        const CompileContext& ctx);

// `compiled`, or something in its place whose failing runs leave files: those that raise where NumPy does not and, at repro_level
// 4, those whose results differ from NumPy's.
Result<PyRef> with_checked_runs(PyRef compiled, const Capture& capture, const FrameInput& input,
                                Compiler& compiler, const CompileContext& ctx);

}  // namespace suture
