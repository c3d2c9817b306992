// Event lines of the seed function as the compiler writes them, and its source, for the tests of this room.
#pragma once

#include <string>
#include <vector>

#include "toolbox/model/text.h"
#include "trace/event.h"

namespace suture::toolbox {

inline SourceLine seed_source() {
  return [](const std::string& file, int line) -> std::string {
    static const std::vector<std::string> lines = {"def f(x, n):", "    y = np.sin(x) + 1",
                                                   "    if y.sum() > 0:", "        y = y * 2",
                                                   "    return np.maximum(y, 0) * n"};
    if (file != "prog.py" || line < 19 || line > 23) return "";
    return lines[static_cast<size_t>(line - 19)];
  };
}

inline std::string line_of(Event event) {
  event.time = 1700000000.25;
  return to_json_line(event);
}

using Strings = std::vector<std::string>;

inline std::string frame_start(int frame, int compile, const std::string& function,
                               const std::string& kind = "function") {
  return line_of(Event(EventId::kFrameStart, {frame, compile, 0})
                     .set("function", function)
                     .set("file", std::string("prog.py"))
                     .set("line", int64_t{19})
                     .set("kind", kind)
                     .set("attempt", int64_t{0}));
}

inline std::string graph_captured(int frame, int compile, Strings ops, Strings lines) {
  auto count = static_cast<int64_t>(ops.size());
  return line_of(Event(EventId::kGraphCaptured, {frame, compile, 0})
                     .set("graph", "graph_" + std::to_string(frame))
                     .set("code", std::string("def forward(x):\n    return (x,)\n"))
                     .set("text", std::string("graph text"))
                     .set("ops", std::move(ops))
                     .set("op_lines", std::move(lines))
                     .set("op_count", count));
}

inline std::string graph_break(int frame, int compile) {
  return line_of(Event(EventId::kGraphBreak, {frame, compile, 0})
                     .set("reason_id", std::string("SB101"))
                     .set("station", std::string("breaks"))
                     .set("severity", std::string("warning"))
                     .set("reason", std::string("Data-dependent branching"))
                     .set("explanation", std::string("Which way `y.sum() > 0` goes depends on values."))
                     .set("hints", Strings{"Use np.where.", "Test x.shape."})
                     .set("file", std::string("prog.py"))
                     .set("line", int64_t{21})
                     .set("column", int64_t{7})
                     .set("end_column", int64_t{18})
                     .set("resume", std::string("__resume_at_88_2,__resume_at_98_3"))
                     .set("resume_frames", Strings{"1", "2"}));
}

inline std::string recompile(int frame, int compile, const std::string& function,
                             const std::string& failure) {
  return line_of(Event(EventId::kRecompile, {frame, compile, 0})
                     .set("function", function)
                     .set("file", std::string("prog.py"))
                     .set("line", int64_t{19})
                     .set("failures", Strings{failure})
                     .set("failures_verbose", Strings{failure, "0/0: something else"})
                     .set("actions", Strings{"`suture.mark_dynamic(x, 1)` before the first call"}));
}

inline std::string frame_done(int frame, int compile, const std::string& function, double ms) {
  return line_of(Event(EventId::kFrameDone, {frame, compile, 0})
                     .set("function", function)
                     .set("file", std::string("prog.py"))
                     .set("line", int64_t{19})
                     .set("entry", int64_t{compile})
                     .set("graph", "graph_" + std::to_string(frame))
                     .set("ms", ms)
                     .set("phases", std::vector<std::pair<std::string, double>>{{"capture", ms / 2},
                                                                                {"kernels", ms / 2}}));
}

inline std::string guards_built(int frame, int compile) {
  return line_of(Event(EventId::kGuardsBuilt, {frame, compile, 0})
                     .set("guards", Strings{"type(x) is np.ndarray", "x.shape[0] == 32", "n == 3.0"})
                     .set("sources", Strings{"x", "x.shape[0]", "n"})
                     .set("kinds", Strings{"array", "size", "constant"})
                     .set("lines", Strings{"prog.py:20", "prog.py:20", ""}));
}

inline std::string kernel_source(int frame, int compile, const std::string& kernel) {
  return line_of(Event(EventId::kKernelSource, {frame, compile, 0})
                     .set("graph", "graph_" + std::to_string(frame))
                     .set("kernels", Strings{kernel})
                     .set("signatures", Strings{"(const double* x, double* y)"})
                     .set("kernel_ops", Strings{"add,gt,sin,sum"})
                     .set("kernel_lines", Strings{"prog.py:20,prog.py:21"})
                     .set("path", std::string("/cache/graph_0.cpp"))
                     .set("code", std::string("extern \"C\" int k;\n")));
}

// f and the resume function it reached, each compiled once.
inline Strings seed_events() {
  return {frame_start(0, 0, "f"),
          graph_captured(0, 0, {"np.sin", "+", "ndarray.sum", ">"}, {"20", "20", "21", "21"}),
          graph_break(0, 0),
          guards_built(0, 0),
          kernel_source(0, 0, "cpp_fused_add_gt_sin_sum_0"),
          frame_done(0, 0, "f", 40),
          frame_start(1, 0, "f.__resume_at_88_2", "resume"),
          graph_captured(1, 0, {"*", "np.maximum", "*"}, {"22", "23", "23"}),
          kernel_source(1, 0, "cpp_fused_maximum_mul_0"),
          frame_done(1, 0, "f.__resume_at_88_2", 20)};
}

}  // namespace suture::toolbox
