// status and explain_records: what is known about a compiled callable and the frames it made.
#include <set>
#include <string>

#include "bindings/core_module.h"
#include "cpython/code_object.h"
#include "cpython/jit_callable.h"
#include "cpython/objects.h"
#include "driver/report_guards.h"
#include "driver/reports.h"
#include "runtime/compiled_graph.h"
#include "trace/break_identity.h"
#include "trace/event.h"

namespace suture {

CodeCache& checked_cache_of(nb::handle object) {
  if (!is_jit_callable(object.ptr())) throw nb::type_error("expected a function compiled by suture.compile");
  return cache_of(object.ptr());
}

namespace {

std::string string_field(const Event& event, std::string_view name) {
  const EventValue* value = event.find(name);
  const auto* found = value ? std::get_if<std::string>(value) : nullptr;
  return found ? *found : "";
}

int64_t int_field(const Event& event, std::string_view name) {
  const EventValue* value = event.find(name);
  const auto* found = value ? std::get_if<int64_t>(value) : nullptr;
  return found ? *found : 0;
}

nb::list string_list(const Event& event, std::string_view name) {
  nb::list list;
  const EventValue* value = event.find(name);
  if (const auto* found = value ? std::get_if<std::vector<std::string>>(value) : nullptr)
    for (const std::string& item : *found) list.append(text(item));
  return list;
}

double float_field(const Event& event, std::string_view name) {
  const EventValue* value = event.find(name);
  const auto* found = value ? std::get_if<double>(value) : nullptr;
  return found ? *found : 0;
}

nb::object optional_ns(double ns) { return ns < 0 ? nb::none() : nb::object(nb::float_(ns)); }

nb::list guard_cost_rows(const CacheEntry& entry) {
  nb::list out;
  for (const GuardRow& guard : guard_rows(entry)) {
    nb::dict row;
    row["check"] = text(guard.check);
    row["source"] = text(guard.source);
    row["kind"] = text(guard.kind);
    row["place"] = text(guard.place);
    row["removal"] = text(guard.removal);
    row["tested"] = guard.tested;
    row["failures"] = guard.failures;
    row["ns"] = optional_ns(guard.ns);
    out.append(row);
  }
  return out;
}

// What the events of one compile say about its entry.
nb::dict entry_row(const CacheEntry& entry, const std::vector<Event>& events) {
  nb::dict row;
  nb::list guards, kernels;
  for (size_t i = 0; i < entry.guards.set().guards.size(); ++i)
    guards.append(text(entry.guards.describe(static_cast<int>(i))));
  row["number"] = entry.number;
  row["hits"] = entry.hits;
  row["graph"] = "";
  row["op_count"] = 0;
  row["guards"] = guards;
  row["guard_costs"] = guard_cost_rows(entry);
  row["guard_ns"] = optional_ns(guard_ns(entry));
  row["kernels"] = kernels;
  row["compile_ms"] = 0.0;
  for (const Event& event : events) {
    if (event.compile.compile != entry.number) continue;
    if (event.id == EventId::kGraphCaptured) {
      row["graph"] = text(string_field(event, "graph"));
      row["op_count"] = int_field(event, "op_count");
    } else if (event.id == EventId::kKernelCompiled) {
      row["kernels"] = string_list(event, "kernels");
    } else if (event.id == EventId::kFrameDone) {
      row["compile_ms"] = float_field(event, "ms");
    }
  }
  return row;
}

// Why the newest kind of call runs in the interpreter; "" when it does not.
std::string eager_reason(const CodeCache& cache) {
  if (cache.skip_reason()) return *cache.skip_reason();
  return cache.entries().empty() ? "" : cache.entries().back()->eager_reason;
}

nb::dict frame_row(const FrameRecord& record) {
  nb::dict row;
  int64_t replays = 0;
  double compile_ms = 0;
  row["frame"] = record.id;
  row["kind"] = text(std::string(name_of(record.kind)));
  row["function"] = text(record.function);
  row["file"] = text(record.file);
  row["line"] = record.line;
  for (const Event& event : record.events) {
    if (event.id == EventId::kReplay) ++replays;
    if (event.id == EventId::kFrameDone) compile_ms += float_field(event, "ms");
  }
  const CodeCache* cache = record.cache;
  nb::list entries;
  if (cache)
    for (const auto& entry : cache->entries()) entries.append(entry_row(*entry, record.events));
  const FrameCounters counters = cache ? cache->counters() : FrameCounters{};
  row["calls"] = counters.calls;
  row["hits"] = counters.hits;
  row["compiles"] = counters.compiles;
  row["recompiles"] = counters.recompiles;
  row["during_compile"] = counters.during_compile;
  row["compile_ms"] = compile_ms;
  row["time_ms"] = counters.time_ms;
  row["steady_calls"] = counters.steady_calls;
  row["first_ms"] = counters.first_ms;
  row["replays"] = replays;
  const std::string reason = cache ? eager_reason(*cache) : "";
  row["skipped"] = !reason.empty();
  row["reason"] = text(reason);
  row["entries"] = entries;
  return row;
}

struct FamilyTotals {
  nb::list frames;
  std::set<std::pair<int, int>> graphs;  // frame, newest compile with a graph
  std::set<BreakIdentity> breaks;
  nb::list faults;
  int64_t recompiles = 0, hits = 0, during_compile = 0;
};

void add_family(const FrameRecord& record, FamilyTotals& totals) {
  totals.frames.append(frame_row(record));
  int newest = -1;
  for (const Event& event : record.events) {
    if (event.id == EventId::kGraphCaptured) newest = std::max(newest, event.compile.compile);
    if (event.id == EventId::kGraphBreak) totals.breaks.insert(break_identity(event));
    if (event.id == EventId::kFaultInjected)
      totals.faults.append(text(string_field(event, "kind") + " on " + string_field(event, "at") + " (" +
                                string_field(event, "option") + ")"));
  }
  if (newest >= 0) totals.graphs.emplace(record.id, newest);
  if (record.cache) {
    totals.recompiles += record.cache->counters().recompiles;
    totals.hits += record.cache->counters().hits;
    totals.during_compile += record.cache->counters().during_compile;
  }
  for (const auto& child : record.children) add_family(*child, totals);
}

nb::dict status(nb::handle object) {
  CodeCache& cache = checked_cache_of(object);
  auto record = compiler().record(cache.frame_id());
  if (!record) throw nb::value_error("this callable has no record");
  FamilyTotals totals;
  add_family(*record, totals);
  nb::dict root = nb::cast<nb::dict>(totals.frames[0]);
  nb::list entries = nb::cast<nb::list>(root["entries"]);
  nb::dict result;
  for (const char* key : {"function", "file", "line", "skipped", "reason", "entries"})
    result[key] = root[key];
  result["backend"] = text(record->options.backend);
  result["numerics"] = text(record->options.numerics);
  result["graph_count"] = totals.graphs.size();
  result["graph_break_count"] = totals.breaks.size();
  result["recompiles"] = totals.recompiles;
  result["hits"] = totals.hits;
  result["during_compile"] = totals.during_compile;
  result["guards"] =
      nb::len(entries) ? nb::object(entries[nb::len(entries) - 1]["guards"]) : nb::object(nb::list());
  result["injected_faults"] = totals.faults;
  result["frames"] = totals.frames;
  return result;
}

nb::list explain_records(nb::handle object) {
  nb::list lines;
  for (const Event& event : compiler().family_events(checked_cache_of(object).frame_id()))
    lines.append(text(to_json_line(event)));
  return lines;
}

// Entries whose machine code is still there. Nothing is disassembled before it is asked for. Without a compiler there is
// no listing, and the event says why.
void add_assembly(const FrameRecord& record, const Result<Toolchain*>& toolchain, nb::list& lines) {
  if (record.cache) {
    for (const auto& entry : record.cache->entries()) {
      const KernelLibrary* library =
          entry->compiled_graph ? kernel_library(entry->compiled_graph.get()) : nullptr;
      if (!library) continue;
      std::string graph;
      for (const Event& event : record.events)
        if (event.id == EventId::kGraphCaptured && event.compile.compile == entry->number)
          graph = string_field(event, "graph");
      const CompileId id{record.id, entry->number, 0};
      lines.append(text(to_json_line(toolchain.ok() ? assembly_event(id, graph, **toolchain, library->object)
                                                    : missing_assembly_event(id, graph, toolchain.error()))));
    }
  }
  for (const auto& child : record.children) add_assembly(*child, toolchain, lines);
}

nb::list assembly_records(nb::handle object) {
  nb::list lines;
  auto record = compiler().record(checked_cache_of(object).frame_id());
  if (record) add_assembly(*record, compiler().toolchain(), lines);
  return lines;
}

void add_guard_costs(const FrameRecord& record, nb::list& lines) {
  if (record.cache)
    for (const auto& entry : record.cache->entries())
      lines.append(text(to_json_line(guard_costs_event({record.id, entry->number, 0}, *entry))));
  for (const auto& child : record.children) add_guard_costs(*child, lines);
}

nb::list guard_records(nb::handle object) {
  nb::list lines;
  if (auto record = compiler().record(checked_cache_of(object).frame_id())) add_guard_costs(*record, lines);
  return lines;
}

}  // namespace

void bind_status(nb::module_& module) {
  module.def("assembly_records", &assembly_records, nb::arg("obj"));
  module.def("guard_records", &guard_records, nb::arg("obj"));
  module.def("status", &status, nb::arg("obj"));
  module.def("explain_records", &explain_records, nb::arg("obj"));
  module.def(
      "reset_callable",
      [](nb::handle object) {
        checked_cache_of(object);
        compiler().reset(object.ptr());
      },
      nb::arg("obj"));
}

}  // namespace suture
