// An answer of `suture where` as JSON and as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/escaped_text.h"
#include "base/json_writer.h"
#include "base/lists.h"
#include "toolbox/model/text.h"
#include "toolbox/where/where.h"

namespace suture::toolbox {
namespace {

void write(JsonWriter& json, const PlaceFound& place) {
  json.begin_object().field("file", place.file).field("function", place.function).field("line", place.line);
  json.field("end_line", place.end_line).field("column", place.column).field("end_column", place.end_column);
  json.field("source", place.source).end_object();
}

void write(JsonWriter& json, const NodeFound& node) {
  json.begin_object().field("name", node.name).field("op", node.op).field("target", node.target).end_object();
}

void write(JsonWriter& json, const LineFound& line) {
  json.begin_object().field("line", line.line).field("kind", line.kind);
  json.list("nodes", line.nodes).list("places", line.places).end_object();
}

void write(JsonWriter& json, const WhereMatch& match);

template <class Item>
void write_list(JsonWriter& json, std::string_view name, const std::vector<Item>& items) {
  json.key(name).begin_array();
  for (const Item& item : items) write(json, item);
  json.end_array();
}

void write(JsonWriter& json, const WhereMatch& match) {
  json.begin_object().field("kernel", match.kernel).field("graph", match.graph).field("path", match.path);
  write_list(json, "lines", match.lines);
  write_list(json, "places", match.places);
  write_list(json, "nodes", match.nodes);
  json.end_object();
}

std::string place_text(const PlaceFound& found) {
  std::string text =
      escaped_line(found.line > 0 ? place(found.file, found.line) : found.file + " (no line numbers)");
  if (!found.function.empty()) text += " in " + escaped_line(found.function);
  const size_t indentation = found.source.find_first_not_of(" \t");
  return text + (indentation == std::string::npos ? "" : "    " + found.source.substr(indentation));
}

// Expressions that stand on one line are places of their own, which differ in their columns only: people read the line.
std::vector<std::string> place_lines(const std::vector<PlaceFound>& places) {
  std::vector<std::string> lines;
  for (const PlaceFound& found : places) add_once(lines, place_text(found));
  return lines;
}

std::string node_text(const NodeFound& node) {
  return escaped_line(node.target.empty() || node.target == node.name
                          ? node.name
                          : fmt::format("{} ({})", node.name, node.target));
}

std::string_view verb(std::string_view kind) {
  if (kind == "read") return "reads";
  if (kind == "write") return "stores";
  if (kind == "reduce") return "accumulates";
  return kind == "kernel" ? "belongs to the whole kernel:" : "computes";
}

std::string nodes_text(const WhereMatch& match, const LineFound& line) {
  std::vector<std::string> names;
  for (size_t node : line.nodes) names.push_back(node_text(match.nodes[node]));
  return fmt::format("{} {}", verb(line.kind), fmt::join(names, ", "));
}

std::string of_kernel_line(const WhereMatch& match) {
  const LineFound& line = match.lines.front();
  std::string text =
      fmt::format("{}\n  {}\n",
                  escaped_line(fmt::format("{} in kernel {} of graph {}", place(match.path, line.line),
                                           match.kernel, match.graph)),
                  nodes_text(match, line));
  std::vector<PlaceFound> places;
  for (size_t at : line.places) places.push_back(match.places[at]);
  for (const std::string& from : place_lines(places)) text += fmt::format("  from {}\n", from);
  return text;
}

std::string of_source_line(const WhereMatch& match) {
  std::string text;
  for (const std::string& from : place_lines(match.places)) text += from + "\n";
  text += escaped_line(
              fmt::format("  made in kernel {} of graph {}, {}", match.kernel, match.graph, match.path)) +
          "\n";
  for (const LineFound& line : match.lines)
    text += fmt::format("    line {} {}\n", line.line, nodes_text(match, line));
  return text;
}

}  // namespace

std::string where_json(const Where& where) {
  JsonWriter json;
  json.begin_object().field("schema", "suture.where/1").field("query", where.query);
  json.field("direction", where.from_kernel ? "kernel" : "source");
  write_list(json, "matches", where.matches);
  return json.list("nearest_lines", where.nearest_lines).end_object().text();
}

std::string where_text(const Where& where) {
  std::string text;
  for (const WhereMatch& match : where.matches)
    text += where.from_kernel ? of_kernel_line(match) : of_source_line(match);
  if (where.matches.empty() && where.nearest_lines.empty())
    text = fmt::format("no kernel is made from {}: what kernels are made from there has no line numbers\n",
                       escaped_line(where.query));
  else if (where.matches.empty())
    text = fmt::format("no kernel is made from {}; lines that are: {}\n", escaped_line(where.query),
                       fmt::join(where.nearest_lines, ", "));
  return escaped_text(text);
}

}  // namespace suture::toolbox
