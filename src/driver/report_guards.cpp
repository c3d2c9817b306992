#include "driver/report_guards.h"

#include <fmt/format.h>

#include <numeric>

#include "capture/source_text.h"
#include "guard/guard_advice.h"

namespace suture {
namespace {

template <class Part>
std::vector<std::string> each(const std::vector<GuardRow>& rows, Part part) {
  std::vector<std::string> out;
  for (const GuardRow& row : rows) out.emplace_back(part(row));
  return out;
}

Event guards_event(EventId event, const CompileId& id, const std::vector<GuardRow>& rows) {
  const auto text = [&](std::string GuardRow::* part) {
    return each(rows, [part](const GuardRow& row) { return row.*part; });
  };
  return Event(event, id)
      .set("guards", text(&GuardRow::check))
      .set("sources", text(&GuardRow::source))
      .set("origins", text(&GuardRow::origin))
      .set("kinds", text(&GuardRow::kind))
      .set("lines", text(&GuardRow::place))
      .set("line_sources", text(&GuardRow::place_source))
      .set("ns", each(rows, [](const GuardRow& row) {
             return row.ns < 0 ? std::string() : fmt::format("{:.1f}", row.ns);
           }));
}

}  // namespace

std::vector<GuardRow> guard_rows(const CacheEntry& entry) {
  const GuardSet& set = entry.guards.set();
  const GuardCosts& costs = entry.guard_costs;
  const std::vector<int64_t> tested = entry.guards.tested(entry.hits, costs.failures);
  std::vector<GuardRow> rows;
  for (size_t i = 0; i < set.guards.size(); ++i) {
    const Guard& guard = set.guards[i];
    GuardRow row;
    row.check = entry.guards.describe(static_cast<int>(i));
    row.source = guard.source == kNoSource ? "" : set.sources.str(guard.source);
    row.origin = origin_of(set.sources, guard.source);
    row.kind = info(guard.kind).name;
    row.place = guard.where.known() ? guard.where.place() : "";
    row.place_source = guard.where.known() ? source_line(guard.where) : "";
    row.removal = guard_removal(set, i);
    row.tested = tested[i];
    row.failures = i < costs.failures.size() ? costs.failures[i] : 0;
    row.ns = i < costs.ns.size() ? costs.ns[i] : -1;
    rows.push_back(std::move(row));
  }
  return rows;
}

double guard_ns(const CacheEntry& entry) {
  const std::vector<double>& ns = entry.guard_costs.ns;
  return entry.guard_costs.samples ? std::accumulate(ns.begin(), ns.end(), 0.0) : -1;
}

GuardFunction guard_function(const CompileId& id, const CacheEntry& entry, PyView function) {
  const std::string compile = CompileId{id.frame, id.compile, 0}.str();
  return print_guard_function(entry.guards, function, {entry.number, compile, [](const UserSpan& where) {
                                                         return source_line(where);
                                                       }});
}

Event guard_code_event(const CompileId& id, const CacheEntry& entry, PyView function) {
  GuardFunction printed = guard_function(id, entry, function);
  return Event(EventId::kGuardCode, id)
      .set("name", std::move(printed.name))
      .set("code", std::move(printed.text));
}

void report_guards(const CompileContext& ctx, const CacheEntry& entry, PyView function) {
  if (ctx.trace.wants(EventId::kGuardCode)) ctx.trace.emit(guard_code_event(ctx.id, entry, function));
  if (ctx.trace.wants(EventId::kGuardsBuilt))
    ctx.trace.emit(guards_event(EventId::kGuardsBuilt, ctx.id, guard_rows(entry)));
}

Event guard_costs_event(const CompileId& id, const CacheEntry& entry) {
  const std::vector<GuardRow> rows = guard_rows(entry);
  Event event = guards_event(EventId::kGuardCosts, id, rows);
  event.set("hits", entry.hits)
      .set("tested", each(rows, [](const GuardRow& row) { return std::to_string(row.tested); }))
      .set("failures", each(rows, [](const GuardRow& row) { return std::to_string(row.failures); }));
  return event;
}

std::function<void(const CacheEntry&)> guard_costs_reporter(const CompileContext& ctx) {
  // The Trace outlives every entry: it belongs to the module.
  return [&trace = ctx.trace, id = ctx.id](const CacheEntry& entry) {
    if (trace.wants(EventId::kGuardCosts)) trace.emit(guard_costs_event(id, entry));
  };
}

}  // namespace suture
