// Schema suture.explain/1. Additions keep the number, changes of meaning raise it.
#include <map>

#include "base/json_writer.h"
#include "toolbox/explain/explanation.h"

namespace suture::toolbox {
namespace {

void write_header(JsonWriter& json, const Explanation& explanation) {
  json.field("schema", "suture.explain/1");
  if (!explanation.statuses().empty()) {
    const CallableStatus& status = explanation.statuses().front();
    json.field("function", status.function).field("file", status.file).field("line", status.line);
    json.field("backend", status.backend).field("numerics", status.numerics);
  }
  json.field("graph_count", explanation.graphs().size());
  json.field("graph_break_count", explanation.model().breaks.size());
  json.field("op_count", explanation.op_count());
}

void write_graphs(JsonWriter& json, const Explanation& explanation) {
  json.key("graphs").begin_array();
  for (const ExplainedGraph& item : explanation.graphs()) {
    const GraphModel& graph = item.compile->graph;
    json.begin_object();
    json.field("name", graph.name)
        .field("function", item.frame->function)
        .field("compile_id", item.compile->id);
    json.field("file", item.frame->file)
        .field("line", item.frame->line)
        .field("kind", item.frame->kind ? name_of(*item.frame->kind) : "");
    json.field("compiles", item.frame->compiles.size()).field("op_count", graph.ops.size());
    json.key("ops").begin_array();
    for (const OpModel& op : graph.ops)
      json.begin_object().field("name", op.name).field("line", op.line).end_object();
    json.end_array().field("code", graph.code).field("text", graph.text).end_object();
  }
  json.end_array();
  json.key("ops_per_graph").begin_array();
  for (const ExplainedGraph& item : explanation.graphs()) {
    json.begin_array();
    for (const OpModel& op : item.compile->graph.ops) json.value(op.name);
    json.end_array();
  }
  json.end_array();
}

void write_breaks(JsonWriter& json, const Explanation& explanation) {
  json.key("break_reasons").begin_array();
  for (const BreakModel& record : explanation.model().breaks) {
    json.begin_object();
    json.field("reason_id", record.reason_id)
        .field("reason", record.reason)
        .field("explanation", record.explanation);
    json.list("hints", record.hints).field("function", record.function).field("file", record.file);
    json.field("line", record.line).field("column", record.column).field("end_column", record.end_column);
    json.key("stack").begin_array();
    for (const CallerModel& caller : record.stack) json.value(caller.place);
    json.end_array();
    json.field("source", explanation.source_of(record))
        .list("resume", split_names(record.resume))
        .field("hits", record.hits);
    json.field("crossings", explanation.crossings(record)).key("effects").begin_array();
    for (const BreakEffect& effect : record.effects)
      json.begin_object()
          .field("reason_id", effect.reason_id)
          .field("explanation", effect.explanation)
          .list("hints", effect.hints)
          .end_object();
    json.end_array().end_object();
  }
  json.end_array();
}

// `sentences` names the list of whole sentences.
void write_causes(JsonWriter& json, const std::vector<CauseModel>& causes, const char* sentences) {
  json.key(sentences).begin_array();
  for (const CauseModel& cause : causes) json.value(cause.sentence);
  json.end_array().key("causes").begin_array();
  for (const CauseModel& cause : causes) {
    json.begin_object().field("entry", cause.entry).field("kind", cause.kind).field("source", cause.source);
    json.field("expected", cause.expected).field("actual", cause.actual).field("place", cause.place);
    json.list("assigned", split_names(cause.assigned));
    json.field("passed", cause.passed).field("action", cause.action).end_object();
  }
  json.end_array();
}

void write_guards_and_recompiles(JsonWriter& json, const Explanation& explanation) {
  json.key("guards").begin_array();
  for (const FrameModel& frame : explanation.model().frames) {
    if (frame.compiles.empty()) continue;
    const CompileModel& newest = frame.compiles.back();
    for (size_t i = 0; i < newest.guards.size(); ++i) {
      const GuardModel& guard = newest.guards[i];
      const GuardStatus* counted = explanation.guard_status(frame, newest, i);
      json.begin_object().field("check", guard.check).field("source", guard.source).field("kind", guard.kind);
      json.field("place", guard.place).field("function", frame.function).field("compile_id", newest.id);
      json.field("tested", counted ? counted->tested : -1)
          .field("failures", counted ? counted->failures : -1);
      json.field("ns", counted && counted->ns >= 0 ? counted->ns : guard.ns).end_object();
    }
  }
  json.end_array();
  json.key("recompiles").begin_array();
  for (const FrameModel& frame : explanation.model().frames)
    for (const CompileModel& compile : frame.compiles)
      for (const RecompileModel& recompile : compile.recompiles) {
        json.begin_object().field("function", recompile.function).field("file", recompile.file);
        json.field("line", recompile.line).field("compile_id", compile.id);
        write_causes(json, recompile.causes, "failures");
        json.field("ms", compile.ms).end_object();
      }
  json.end_array();
}

void write_kernels(JsonWriter& json, const Explanation& explanation) {
  json.key("kernels").begin_array();
  for (const ExplainedGraph& item : explanation.graphs())
    for (const KernelModel& kernel : item.compile->kernels) {
      json.begin_object()
          .field("name", kernel.name)
          .field("signature", kernel.signature)
          .field("path", kernel.path);
      json.field("graph", kernel.graph).field("function", kernel.function);
      json.field("bytes_read", kernel.bytes_read).field("bytes_written", kernel.bytes_written);
      json.list("ops", split_names(kernel.ops)).list("lines", split_names(kernel.lines)).end_object();
    }
  json.end_array();
}

void write_hints(JsonWriter& json, const Explanation& explanation) {
  json.key("perf_hints").begin_array();
  for (const HintModel& hint : explanation.model().hints) {
    json.begin_object().field("id", hint.id).field("title", hint.title).field("function", hint.function);
    json.field("file", hint.file).field("line", hint.line).field("sentence", hint.sentence);
    json.field("why", hint.why).field("evidence", hint.evidence).field("advice", hint.advice);
    json.field("bytes", hint.bytes).field("cost_ms", hint.cost_ms).end_object();
  }
  json.end_array();
}

void write_phases(JsonWriter& json, const std::vector<std::pair<std::string, double>>& phases) {
  json.key("phases").begin_object();
  for (const auto& [phase, ms] : phases) json.field(phase, ms);
  json.end_object();
}

void write_compile_times(JsonWriter& json, const Explanation& explanation) {
  double total = 0;
  std::map<std::string, double> sums;
  json.key("compile_times").begin_object().key("frames").begin_array();
  for (const FrameModel& frame : explanation.model().frames)
    for (const CompileModel& compile : frame.compiles) {
      if (!compile.done) continue;
      total += compile.ms;
      for (const auto& [phase, ms] : compile.phases) sums[phase] += ms;
      json.begin_object()
          .field("compile_id", compile.id)
          .field("function", frame.function)
          .field("ms", compile.ms);
      write_phases(json, compile.phases);
      json.end_object();
    }
  json.end_array().field("total_ms", total);
  write_phases(json, {sums.begin(), sums.end()});
  json.end_object();
}

void write_skips(JsonWriter& json, const Explanation& explanation) {
  json.key("skipped").begin_array();
  for (const SkipModel& skip : explanation.model().skips) {
    json.begin_object().field("function", skip.function).field("file", skip.file).field("line", skip.line);
    json.field("reason_id", skip.reason_id)
        .field("reason", skip.reason)
        .field("explanation", skip.explanation);
    json.list("hints", skip.hints).end_object();
  }
  json.end_array();
  json.key("recompile_limits").begin_array();
  for (const LimitModel& limit : explanation.model().limits) {
    json.begin_object().field("function", limit.function).field("limit", limit.limit);
    write_causes(json, limit.causes, "reasons");
    json.list("grouped", grouped_sentences(limit.causes)).end_object();
  }
  json.end_array();
}

void write_notes(JsonWriter& json, const Explanation& explanation) {
  json.key("symbols").begin_array();
  for (const SymbolModel& symbol : explanation.model().symbols)
    json.begin_object()
        .field("symbol", symbol.symbol)
        .field("source", symbol.source)
        .field("why", symbol.why)
        .end_object();
  json.end_array();
  json.key("calls_during_compile").begin_array();
  for (const DuringCompileModel& calls : explanation.model().during_compile) {
    json.begin_object().field("function", calls.function).field("file", calls.file).field("line", calls.line);
    json.field("calls", calls.calls).field("nested", calls.nested).field("reason", calls.reason).end_object();
  }
  json.end_array();
  json.key("replays").begin_array();
  for (const ReplayModel& replay : explanation.model().replays) {
    json.begin_object().field("graph", replay.graph).field("function", replay.function);
    json.field("conditions", replay.conditions).field("count", replay.count).end_object();
  }
  json.end_array();
  json.key("injected_faults").begin_array();
  for (const InjectedFaultModel& fault : explanation.model().injected_faults) {
    json.begin_object().field("stage", fault.stage).field("kind", fault.kind).field("what", fault.what);
    json.field("at", fault.at).field("op", fault.op).field("node", fault.node).field("graph", fault.graph);
    json.field("function", fault.function).field("file", fault.file).field("line", fault.line);
    json.field("count", fault.count).end_object();
  }
  json.end_array();
  json.key("internal_errors").begin_array();
  for (const InternalErrorModel& error : explanation.model().internal_errors) {
    json.begin_object().field("function", error.function).field("step", error.step);
    json.field("message", error.message).field("artifact", error.artifact).end_object();
  }
  json.end_array();
}

}  // namespace

std::string explanation_json(const Explanation& explanation) {
  JsonWriter json;
  json.begin_object();
  write_header(json, explanation);
  write_graphs(json, explanation);
  write_breaks(json, explanation);
  write_guards_and_recompiles(json, explanation);
  write_kernels(json, explanation);
  write_hints(json, explanation);
  write_compile_times(json, explanation);
  write_skips(json, explanation);
  write_notes(json, explanation);
  json.end_object();
  return json.text();
}

}  // namespace suture::toolbox
