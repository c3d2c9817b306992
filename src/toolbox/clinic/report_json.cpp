#include "base/json_writer.h"
#include "toolbox/clinic/clinic.h"

namespace suture::toolbox {
namespace {

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : " ") + item;
  return out;
}

void write_finding(JsonWriter& json, const Finding& finding, const SourceLine& source_line) {
  json.begin_object().field("station", name_of(finding.station)).field("id", finding.id);
  json.field("severity", suture::name_of(finding.severity)).field("function", finding.function);
  json.field("file", finding.file)
      .field("line", finding.line)
      .field("what", finding.what)
      .field("why", finding.why);
  json.field("cost_ms", finding.cost_ms)
      .field("advice", joined(finding.advice))
      .list("hints", finding.advice);
  json.list("evidence", finding.evidence);
  const SourceLine recorded = [&](const std::string&, int) { return finding.source; };
  json.field("quote", quote_source(finding.source.empty() ? source_line : recorded, finding.file,
                                   finding.line, finding.column, finding.end_column));
  json.end_object();
}

// Unknown times are null, not 0.
void field_or_null(JsonWriter& json, std::string_view name, double value) {
  json.key(name);
  if (value < 0)
    json.null();
  else
    json.value(value);
}

void write_function(JsonWriter& json, const FunctionRow& row) {
  json.begin_object().field("function", row.function).field("file", row.file).field("line", row.line);
  json.field("backend", row.backend).field("calls", row.calls).field("compiles", row.compiles);
  json.field("recompiles", row.recompiles).field("graphs", row.graphs).field("ops", row.ops);
  json.field("breaks", row.breaks).field("guards", row.guards).field("kernels", row.kernels);
  json.field("compile_ms", row.compile_ms);
  field_or_null(json, "call_ms", row.call_ms);
  field_or_null(json, "numpy_call_ms", row.numpy_call_ms);
  field_or_null(json, "speedup", row.speedup());
  json.field("skipped", row.skipped).field("reason", row.reason).end_object();
}

void write_accuracy(JsonWriter& json, const AccuracyRow& row) {
  json.begin_object().field("function", row.function).field("file", row.file).field("line", row.line);
  json.field("compared", row.compared).field("other_inputs", row.other_inputs);
  json.field("repeated", row.repeated).key("left_out").begin_array();
  for (const LeftOut& calls : row.left_out)
    json.begin_object().field("why", calls.why).field("calls", calls.calls).end_object();
  json.end_array()
      .field("ulp", row.ulp)
      .field("worst", row.worst)
      .field("mismatch", row.mismatch)
      .end_object();
}

void write_kernel(JsonWriter& json, const KernelModel& kernel) {
  json.begin_object()
      .field("name", kernel.name)
      .field("function", kernel.function)
      .field("graph", kernel.graph);
  json.field("path", kernel.path).field("signature", kernel.signature);
  json.list("ops", split_names(kernel.ops)).list("lines", split_names(kernel.lines)).end_object();
}

}  // namespace

std::string report_json(const Report& report, const SourceLine& source_line) {
  JsonWriter json;
  json.begin_object().field("schema", "suture.check/1").field("verdict", report.verdict);
  json.field("program", report.facts.program).field("error", report.facts.error);
  json.key("findings").begin_array();
  for (const Finding& finding : report.findings) write_finding(json, finding, source_line);
  json.end_array().key("functions").begin_array();
  for (const FunctionRow& row : report.functions) write_function(json, row);
  json.end_array().key("accuracy").begin_array();
  for (const AccuracyRow& row : report.facts.accuracy) write_accuracy(json, row);
  json.end_array().key("kernels").begin_array();
  for (const KernelModel& kernel : report.kernels) write_kernel(json, kernel);
  json.end_array().key("times").begin_object();
  field_or_null(json, "wall_ms", report.facts.wall_ms);
  field_or_null(json, "baseline_ms", report.facts.baseline_ms);
  json.field("compile_ms", report.compile_ms).end_object();
  json.field("fail_on", report.facts.fail_on).field("program_exit_code", report.facts.program_exit_code);
  json.field("exit_code", report.exit_code).end_object();
  return json.text();
}

}  // namespace suture::toolbox
