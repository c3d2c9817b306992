// The report as plain text, made from its JSON, so that a saved report prints like a fresh one.
//
//   Station 1, graph breaks (how many graphs are there?): 1 finding
//     warning SB101 Graph break: Data-dependent branching
//       in f, prog.py:21
//       ...
#include <fmt/format.h>

#include <algorithm>

#include "base/escaped_text.h"
#include "toolbox/clinic/clinic.h"
#include "toolbox/model/json_reader.h"
#include "toolbox/model/text.h"
#include "toolbox/toolbox.h"

namespace suture::toolbox {
namespace {

constexpr size_t kMaxEvidence = 10;  // lines per finding in text

// Names and sentences, each on one line.
std::string line_of(const JsonObject& object, std::string_view key) {
  return escaped_line(json_str(object, key));
}
std::vector<std::string> lines_of(const JsonObject& object, std::string_view key) {
  std::vector<std::string> items = json_list(object, key);
  for (std::string& item : items) item = escaped_line(item);
  return items;
}

void write_finding(std::string& out, const JsonObject& finding) {
  out += fmt::format("  {} {} {}\n", line_of(finding, "severity"), line_of(finding, "id"),
                     line_of(finding, "what"));
  std::string where = line_of(finding, "function");
  if (auto file = line_of(finding, "file"); !file.empty()) {
    if (!where.empty()) where += ", ";
    where += json_int(finding, "line") ? place(file, json_int(finding, "line")) : file;
  }
  if (!where.empty()) out += fmt::format("    in {}\n", where);
  if (auto quote = json_str(finding, "quote"); !quote.empty()) out += quote + "\n";
  out += fmt::format("    why       {}\n", line_of(finding, "why"));
  const std::vector<std::string> evidence = lines_of(finding, "evidence");
  const size_t shown = evidence.size() <= kMaxEvidence + 1 ? evidence.size() : kMaxEvidence;
  for (size_t i = 0; i < shown; ++i) out += fmt::format("    evidence  {}\n", evidence[i]);
  if (shown < evidence.size())
    out += fmt::format("    evidence  and {} more; --json lists all\n", evidence.size() - shown);
  if (double cost = json_number(finding, "cost_ms"); cost > 0)
    out += fmt::format("    cost      {}\n", duration(cost));
  for (const std::string& hint : lines_of(finding, "hints")) out += fmt::format("    advice    {}\n", hint);
}

int64_t count_in(const JsonObject& report, std::string_view station) {
  int64_t count = 0;
  json_objects(report, "findings", [&](const JsonObject& f) { count += json_str(f, "station") == station; });
  return count;
}

// One file per graph: its path once, its kernels below with what they fuse.
void write_kernels(std::string& out, const JsonObject& report) {
  std::string last;
  json_objects(report, "kernels", [&](const JsonObject& kernel) {
    std::string head = fmt::format("  {}: {}\n", line_of(kernel, "function"), line_of(kernel, "path"));
    if (head != last) out += head;
    last = head;
    std::string places;
    for (const std::string& line : lines_of(kernel, "lines"))
      places += "," + line.substr(line.rfind('/') + 1);
    out += fmt::format("    {}{}\n", line_of(kernel, "name"),
                       places.empty() ? "" : "  # " + counted_list(places));
  });
}

void write_stations(std::string& out, const JsonObject& report) {
  int number = 0;
  for (const StationInfo& station : all_stations()) {
    const int64_t count = count_in(report, station.name);
    if (!count && !station.always) continue;
    ++number;
    out += fmt::format("\nStation {}, {}: {}\n", number, station.title,
                       count ? count_of(count, "finding") : "nothing found");
    json_objects(report, "findings", [&](const JsonObject& finding) {
      if (line_of(finding, "station") == station.name) write_finding(out, finding);
    });
    if (station.name == name_of(Station::kernels)) write_kernels(out, report);
  }
}

std::string optional_time(const JsonObject& row, std::string_view key) {
  double ms = json_number(row, key, -1);
  return ms < 0 ? "-" : duration(ms);
}

// What the row of a function leaves open.
std::string remark(const JsonObject& row) {
  if (json_flag(row, "skipped"))
    return fmt::format("    runs in the interpreter: {}\n", line_of(row, "reason"));
  if (json_number(row, "call_ms", -1) >= 0) return "";
  const int64_t calls = json_int(row, "calls");
  return fmt::format(
      "    no time per call: {}; only calls that compile nothing are timed\n",
      calls == 1 ? "the one call compiled" : fmt::format("each of the {} calls compiled", grouped(calls)));
}

void write_functions(std::string& out, const JsonObject& report) {
  std::string rows;
  json_objects(report, "functions", [&](const JsonObject& row) {
    const double speedup = json_number(row, "speedup", -1), compile = json_number(row, "compile_ms");
    rows += fmt::format(
        "  {:<24} {:>7} {:>6} {:>6} {:>10} {:>7} {:>10} {:>10} {:>10} {:>8}\n", line_of(row, "function"),
        json_int(row, "calls"), json_int(row, "graphs"), json_int(row, "breaks"), json_int(row, "recompiles"),
        json_int(row, "kernels"), compile > 0 ? duration(compile) : "-", optional_time(row, "call_ms"),
        optional_time(row, "numpy_call_ms"), speedup < 0 ? "-" : fmt::format("{:.2f}x", speedup));
    rows += remark(row);
  });
  if (rows.empty()) {
    out += "\nNo function decorated with suture.compile was called.\n";
    return;
  }
  out += fmt::format("\n  {:<24} {:>7} {:>6} {:>6} {:>10} {:>7} {:>10} {:>10} {:>10} {:>8}\n{}", "function",
                     "calls", "graphs", "breaks", "recompiles", "kernels", "compile", "per call", "NumPy",
                     "speedup", rows);
}

void write_accuracy(std::string& out, const JsonObject& report) {
  int64_t compared = 0, repeated = 0;
  std::vector<std::pair<std::string, int64_t>> left_out;  // why, how many
  double ulp = 0;
  bool differs = false;
  json_objects(report, "accuracy", [&](const JsonObject& row) {
    compared += json_int(row, "compared");
    repeated += json_int(row, "repeated");
    json_objects(row, "left_out", [&](const JsonObject& calls) {
      const std::string why = line_of(calls, "why");
      auto known = std::ranges::find(left_out, why, &std::pair<std::string, int64_t>::first);
      if (known == left_out.end()) known = left_out.insert(left_out.end(), {why, 0});
      known->second += json_int(calls, "calls");
    });
    ulp = std::max(ulp, json_number(row, "ulp"));
    differs |= !line_of(row, "mismatch").empty();
  });
  if (compared == 0 && left_out.empty()) return;
  const std::string verdict = compared == 0 ? "nothing to say"
                              : differs     ? "they differ, see the station accuracy"
                              : ulp > 0     ? fmt::format("at most {:.4g} ULP away", ulp)
                                            : "bit for bit equal";
  out += fmt::format("results   {} compared with NumPy: {}\n", count_of(compared, "call"), verdict);
  if (repeated > 0)
    out += fmt::format(
        "          {} of them with the arguments of the first run: the second one came to others\n",
        grouped(repeated));
  for (const auto& [why, calls] : left_out)
    out += fmt::format("          {} not compared: {}\n", count_of(calls, "call"), why);
}

void write_verdict(std::string& out, const JsonObject& report) {
  JsonObject times;
  if (report["times"].get(times) == simdjson::SUCCESS) {
    double wall = json_number(times, "wall_ms", -1), baseline = json_number(times, "baseline_ms", -1);
    if (wall >= 0)
      out += fmt::format("\nprogram   {} ({} of it compiling)\n", duration(wall),
                         duration(json_number(times, "compile_ms")));
    if (baseline >= 0)
      out += fmt::format("NumPy     {} (the same program with SUTURE_DISABLE=1)\n", duration(baseline));
  }
  write_accuracy(out, report);
  if (auto error = line_of(report, "error"); !error.empty()) out += fmt::format("error     {}\n", error);
  out += fmt::format("verdict   {}\n", line_of(report, "verdict"));
}

}  // namespace

Result<std::string> clinic_text(std::string_view json) {
  simdjson::dom::parser parser;
  JsonObject report;
  if (auto error = parser.parse(simdjson::padded_string(json)).get(report))
    return Error::unsupported("toolbox", fmt::format("not a report: {}", simdjson::error_message(error)));
  std::string out = fmt::format("suture check {}\n", line_of(report, "program"));
  write_stations(out, report);
  write_functions(out, report);
  write_verdict(out, report);
  return escaped_text(out);
}

}  // namespace suture::toolbox
