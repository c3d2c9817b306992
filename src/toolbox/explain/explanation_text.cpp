// The text form: labels first, then what stands behind them, one section per line of the summary.
#include <fmt/format.h>

#include <map>

#include "base/escaped_text.h"
#include "toolbox/explain/explanation.h"

namespace suture::toolbox {
namespace {

std::string hits_sentence(const Explanation& explanation, const BreakModel& record) {
  std::string out = fmt::format("met in {}", count_of(record.hits, "compile"));
  int64_t crossings = explanation.crossings(record);
  return crossings < 0 ? out : out + fmt::format(", crossed {}", count_of(crossings, "time"));
}

void write_breaks(std::string& out, const Explanation& explanation) {
  out += "Break Reasons:\n";
  int number = 0;
  for (const BreakModel& record : explanation.model().breaks) {
    out += fmt::format("  Break Reason {}:\n    Reason: {} ({})\n    Explanation: {}\n", ++number,
                       record.reason, record.reason_id, record.explanation);
    for (const std::string& hint : record.hints) out += fmt::format("    Hint: {}\n", hint);
    for (const BreakEffect& effect : record.effects) {
      out += fmt::format("    Effect: {} ({})\n", effect.explanation, effect.reason_id);
      for (const std::string& hint : effect.hints) out += fmt::format("    Hint: {}\n", hint);
    }
    out += fmt::format("    User Stack:\n      {}:{} in {}, {}\n", record.file, record.line, record.function,
                       hits_sentence(explanation, record));
    const SourceLine source = [&](const std::string&, int) { return explanation.source_of(record); };
    const std::string quote =
        quote_source(source, record.file, record.line, record.column, record.end_column);
    if (!quote.empty()) out += indent(quote, "      ") + "\n";
    for (const std::string& caller : call_chain(record.stack)) out += fmt::format("      {}\n", caller);
    out += fmt::format("    More: suture explain {}\n", record.reason_id);
  }
}

void write_skips(std::string& out, const Explanation& explanation) {
  if (explanation.model().skips.empty()) return;
  out += "Skipped Functions:\n";
  for (const SkipModel& skip : explanation.model().skips) {
    out += fmt::format("  {} ({}:{}): {} ({})\n    Explanation: {}\n", skip.function, skip.file, skip.line,
                       skip.reason, skip.reason_id, skip.explanation);
    for (const std::string& hint : skip.hints) out += fmt::format("    Hint: {}\n", hint);
  }
}

void write_calls_during_compile(std::string& out, const Explanation& explanation) {
  if (explanation.model().during_compile.empty()) return;
  out += "Calls During Compile:\n";
  for (const DuringCompileModel& calls : explanation.model().during_compile)
    out += fmt::format("  {} ({}:{}): {} ran in the interpreter: {}\n", calls.function, calls.file,
                       calls.line, count_of(calls.calls, "call"), calls.reason);
}

void write_ops(std::string& out, const Explanation& explanation) {
  out += "Ops per Graph:\n";
  int number = 0;
  for (const ExplainedGraph& item : explanation.graphs()) {
    out += fmt::format("  Ops {}:  # {} of {} ({})\n", ++number, item.compile->graph.name,
                       item.frame->function, item.frame->place());
    for (const OpModel& op : item.compile->graph.ops) {
      if (op.line > 0)
        out += fmt::format("    {:<24} # line {}\n", op.name, op.line);
      else
        out += fmt::format("    {}\n", op.name);
    }
  }
}

void write_guards(std::string& out, const Explanation& explanation) {
  out += "Out Guards:\n";
  int number = 0;
  for (const FrameModel& frame : explanation.model().frames) {
    if (frame.compiles.empty()) continue;
    const CompileModel& newest = frame.compiles.back();
    for (size_t i = 0; i < newest.guards.size(); ++i) {
      const GuardModel& guard = newest.guards[i];
      out += fmt::format("  Guard {}: {}  # {}{}", ++number, guard.check, frame.function,
                         guard.place.empty() ? "" : ", " + guard.place);
      if (const GuardStatus* counted = explanation.guard_status(frame, newest, i))
        out += fmt::format("; {}, {} failed", count_of(counted->tested, "test"), counted->failures) +
               (counted->ns < 0 ? "" : fmt::format(", {:.1f} ns", counted->ns));
      out += "\n";
    }
  }
}

void write_causes(std::string& out, const std::vector<CauseModel>& causes) {
  for (const CauseModel& cause : causes) {
    out += fmt::format("    - {}\n", cause.sentence);
    if (const std::string details = details_text(cause); !details.empty())
      out += fmt::format("      {}\n", details);
  }
  for (const std::string& action : distinct_actions(causes))
    out += fmt::format("    To stop it: {}\n", action);
}

void write_recompiles(std::string& out, const Explanation& explanation) {
  out += "Recompiles:\n";
  for (const FrameModel& frame : explanation.model().frames)
    for (const CompileModel& compile : frame.compiles)
      for (const RecompileModel& recompile : compile.recompiles) {
        out += fmt::format("  {} ({}:{}), {:.1f} ms\n", recompile.function, recompile.file, recompile.line,
                           compile.ms);
        write_causes(out, recompile.causes);
      }
  for (const LimitModel& limit : explanation.model().limits) {
    out += fmt::format("  {}: recompile limit ({}) reached; runs in the interpreter\n", limit.function,
                       limit.limit);
    for (const std::string& reason : grouped_sentences(limit.causes))
      out += fmt::format("    - {}\n", reason);
    for (const std::string& action : distinct_actions(limit.causes))
      out += fmt::format("    To stop it: {}\n", action);
  }
}

void write_kernels(std::string& out, const Explanation& explanation) {
  out += "Kernels:\n";
  for (const ExplainedGraph& item : explanation.graphs())
    for (const KernelModel& kernel : item.compile->kernels) {
      out += fmt::format("  {}  # {} of {}\n", kernel.name, kernel.graph, kernel.function);
      if (!kernel.ops.empty()) out += fmt::format("    ops: {}\n", counted_list(kernel.ops));
      if (!kernel.lines.empty()) out += fmt::format("    lines: {}\n", counted_list(kernel.lines));
      if (kernel.bytes_read >= 0)
        out +=
            fmt::format("    bytes: {} read, {} written per run\n", kernel.bytes_read, kernel.bytes_written);
      if (!kernel.path.empty()) out += fmt::format("    file: {}\n", kernel.path);
    }
  for (const ReplayModel& replay : explanation.model().replays)
    out += fmt::format("  {} ran again under NumPy {}: {}\n", replay.graph, count_of(replay.count, "time"),
                       replay.conditions);
}

void write_hints(std::string& out, const Explanation& explanation) {
  if (explanation.model().hints.empty()) return;
  out += "Performance Hints:\n";
  for (const HintModel& hint : explanation.model().hints) {
    out +=
        fmt::format("  {} at {}:{} in {}: {}\n", hint.id, hint.file, hint.line, hint.function, hint.sentence);
    out += fmt::format("    Why: {}\n    Evidence: {}\n", hint.why, hint.evidence);
    if (hint.cost_ms > 0) out += fmt::format("    Cost: up to {:.6f} ms per call, measured\n", hint.cost_ms);
    out += fmt::format("    Hint: {}\n    More: suture explain {}\n", hint.advice, hint.id);
  }
}

void write_compile_times(std::string& out, const Explanation& explanation) {
  double total = 0;
  std::map<std::string, double> phases;
  std::string frames;
  for (const FrameModel& frame : explanation.model().frames)
    for (const CompileModel& compile : frame.compiles) {
      if (!compile.done) continue;
      total += compile.ms;
      for (const auto& [phase, ms] : compile.phases) phases[phase] += ms;
      frames += fmt::format("  {:<32} {:>9.2f} ms\n", fmt::format("[{}] {}", compile.id, frame.function),
                            compile.ms);
    }
  out += fmt::format("Compile Times: {:.1f} ms\n{}", total, frames);
  if (phases.empty()) return;
  out += "  by phase:\n";
  for (const auto& [phase, ms] : phases) out += fmt::format("    {:<30} {:>9.2f} ms\n", phase, ms);
}

}  // namespace

std::string explanation_text(const Explanation& explanation) {
  std::string out =
      fmt::format("Graph Count: {}\nGraph Break Count: {}\nOp Count: {}\n", explanation.graphs().size(),
                  explanation.model().breaks.size(), explanation.op_count());
  for (const InternalErrorModel& error : explanation.model().internal_errors)
    out += fmt::format("Internal Error: {} in {}: {}\n", error.step, error.function, error.message);
  for (const InjectedFaultModel& fault : explanation.model().injected_faults)
    out += fmt::format("Injected Fault: {} ({}) on {} at {}:{}: wrong on purpose\n", fault.kind, fault.stage,
                       fault.at, fault.file, fault.line);
  write_breaks(out, explanation);
  write_skips(out, explanation);
  write_calls_during_compile(out, explanation);
  write_ops(out, explanation);
  write_guards(out, explanation);
  write_recompiles(out, explanation);
  write_kernels(out, explanation);
  write_hints(out, explanation);
  write_compile_times(out, explanation);
  return escaped_text(out);
}

}  // namespace suture::toolbox
