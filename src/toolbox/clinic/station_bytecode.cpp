// Station 4: bytecode - what Python still executes of a compiled function.
//
// A function that is one graph runs no bytecode. One that breaks runs a transformed function: it calls the compiled prefix,
// executes the instruction that could not be captured, and calls a resume function. A loop that stays in Python calls an
// iteration function each time round, which is what makes it costly.
#include <fmt/format.h>

#include <algorithm>

#include "base/escaped_text.h"
#include "toolbox/clinic/clinic.h"
#include "toolbox/decompile/frame_code.h"
#include "toolbox/model/text.h"

namespace suture::toolbox {
namespace {

constexpr double kManyIterations = 100;  // per call: from here on the loop itself is what costs

std::string what_python_does(const BytecodeModel& code) {
  const std::string own =
      fmt::format("Python executes {} per call", count_of(code.transformed, "instruction"));
  return code.loop ? fmt::format("The loop at line {} runs in Python; {} and the loop", code.line, own)
                   : fmt::format("{} around the break at line {}", own, code.line);
}

// A continuation with its calls; how often it ran per call of the frame, 0 when that is not known.
double add_continuation(Finding& finding, const Explanation& run, const FrameModel& frame,
                        const std::string& name, int64_t number) {
  const FrameStatus* made = run.status_of(number);
  const FrameStatus* own = run.status_of(frame.frame);
  if (!made || !own || own->calls == 0) {
    finding.evidence.push_back(fmt::format("goes on in {}", name));
    return 0;
  }
  const double per_call = static_cast<double>(made->calls) / static_cast<double>(own->calls);
  finding.evidence.push_back(fmt::format("goes on in {}: {}, {} per call of {}", name,
                                         count_of(made->calls, "call"), grouped(per_call), frame.function));
  return per_call;
}

// What runs, line by line; long texts end where --json goes on.
void add_text(Finding& finding, const BytecodeModel& code, const RunFacts& facts) {
  const CodeTreePtr tree = read_frame_code(code.code, code.python);
  const TransformedText text =
      tree ? readable_text(*tree, OutputKind::kTransformed, code.name, facts.compile_source)
           : TransformedText();
  if (text.source.empty()) return;
  finding.evidence.push_back(fmt::format("what runs, as Python ({}):", text.verdict));
  for (size_t begin = 0; begin < text.source.size();) {
    const size_t end = std::min(text.source.find('\n', begin), text.source.size());
    finding.evidence.push_back("  " + escaped_line(std::string_view(text.source).substr(begin, end - begin)));
    begin = end + 1;
  }
}

Finding bytecode_finding(const Explanation& run, const FrameModel& frame, const BytecodeModel& code,
                         const RunFacts& facts) {
  Finding finding =
      finding_at(frame, code.loop ? OwnFinding::python_loop : OwnFinding::python_at_break, Severity::kNote);
  finding.file = code.file;
  finding.line = code.line;
  finding.what = what_python_does(code);
  finding.why =
      code.loop
          ? "The loop cannot be captured as a whole, so each time round is a call of a compiled function."
          : "The instruction at the break cannot be captured; the parts before and after it are compiled.";
  finding.evidence.push_back(fmt::format("{} of {}, {} in {}", count_of(code.instructions, "instruction"),
                                         frame.function, code.transformed, code.name));
  double most = 0;
  add_text(finding, code, facts);
  for (size_t i = 0; i < code.continuations.size(); ++i)
    most = std::max(most,
                    add_continuation(finding, run, frame, code.continuations[i], code.continuation_frame(i)));
  if (code.loop && most >= kManyIterations) finding.severity = Severity::kWarning;
  finding.advice.push_back(
      code.loop ? "Use whole-array operations instead of the loop, or remove what breaks inside it."
                : "Remove the break, and no Python instruction is executed here.");
  return finding;
}

}  // namespace

std::vector<Finding> examine_bytecode(const Explanation& run, const RunFacts& facts) {
  std::vector<Finding> out;
  for (const FrameModel& frame : run.model().frames) {
    if (frame.compiles.empty()) continue;
    const auto& code = frame.compiles.back().bytecode;
    if (code && code->line > 0) out.push_back(bytecode_finding(run, frame, *code, facts));
  }
  return out;
}

}  // namespace suture::toolbox
