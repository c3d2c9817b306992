#include "toolbox/where/where.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/json_writer.h"
#include "base/kernel_lines.h"
#include "base/lists.h"
#include "base/nearest_name.h"
#include "toolbox/model/json_reader.h"
#include "toolbox/model/text.h"

namespace suture::toolbox {
namespace {

struct Kernel {
  std::string name;
  int64_t first_line = 0, last_line = 0;
};
struct Entry {
  int64_t line = 0;
  size_t kernel = 0, node = 0, place = 0;
  std::string kind;
};
// A table as it was read; lines are those of the file, indices are within the lists.
struct Table {
  std::string path, graph;
  std::vector<Kernel> kernels;
  std::vector<PlaceFound> places;
  std::vector<NodeFound> nodes;
  std::vector<Entry> entries;
};

// A line number of a table; 0 for what can be none.
int64_t line_of(int64_t number) {
  constexpr int64_t kMost = int64_t{1} << 31;
  return number >= 1 && number <= kMost ? number : 0;
}

int64_t line_of(const JsonObject& object, const char* key) { return line_of(json_int(object, key)); }

// A table may come from anywhere: what does not fit together is left out.
std::optional<Table> read_table(const LineTable& from) {
  simdjson::dom::parser parser;
  JsonObject object;
  if (parser.parse(from.json).get(object) != simdjson::SUCCESS) return std::nullopt;
  if (json_str(object, "schema") != kKernelLinesSchema) return std::nullopt;
  Table table{.path = from.path, .graph = json_str(object, "graph")};
  const int64_t shift = line_of(from.first_line) - 1;
  json_objects(object, "kernels", [&](const JsonObject& item) {
    table.kernels.push_back(
        {json_str(item, "name"), line_of(item, "first_line") + shift, line_of(item, "last_line") + shift});
  });
  std::vector<bool> has_line;  // per place: a line number, or 0 for code that has none
  json_objects(object, "places", [&](const JsonObject& item) {
    int64_t number = -1;
    has_line.push_back(item["line"].get(number) == simdjson::SUCCESS && (number == 0 || line_of(number) > 0));
    table.places.push_back({json_str(item, "file"), json_str(item, "function"), json_str(item, "source"),
                            json_int(item, "line"), json_int(item, "end_line"), json_int(item, "column"),
                            json_int(item, "end_column")});
  });
  json_objects(object, "nodes", [&](const JsonObject& item) {
    table.nodes.push_back({json_str(item, "name"), json_str(item, "op"), json_str(item, "target")});
  });
  json_objects(object, "lines", [&](const JsonObject& item) {
    Entry entry{line_of(item, "line") + shift, static_cast<size_t>(json_int(item, "kernel")),
                static_cast<size_t>(json_int(item, "node")), static_cast<size_t>(json_int(item, "place")),
                json_str(item, "kind")};
    if (entry.kernel < table.kernels.size() && entry.node < table.nodes.size() &&
        entry.place < table.places.size() && has_line[entry.place])
      table.entries.push_back(std::move(entry));
  });
  return table;
}

// `end` is `path`, or what stands behind one of its slashes.
bool ends_path(std::string_view path, std::string_view end) {
  if (end.empty() || !path.ends_with(end)) return false;
  return path.size() == end.size() || end.front() == '/' || path[path.size() - end.size() - 1] == '/';
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool names_file(const Table& table, std::string_view name) {
  return ends_path(table.path, name) || ends_path(table.path, fmt::format("{}.cpp", name)) ||
         table.graph == name;
}

// Adds an item to a list of the match, once; its number.
template <class Item>
size_t number_of(std::vector<Item>& items, const Item& item) {
  const auto found = std::ranges::find(items, item);
  if (found != items.end()) return static_cast<size_t>(found - items.begin());
  items.push_back(item);
  return items.size() - 1;
}

void add(WhereMatch& match, LineFound& line, const Table& table, const Entry& entry) {
  add_once(line.nodes, number_of(match.nodes, table.nodes[entry.node]));
  add_once(line.places, number_of(match.places, table.places[entry.place]));
}

// The line itself when a statement stands on it, else everything of its kernel.
WhereMatch match_of_line(const Table& table, size_t kernel, int64_t line) {
  WhereMatch match{.kernel = table.kernels[kernel].name, .graph = table.graph, .path = table.path};
  LineFound found{.line = line, .kind = "kernel"};
  for (const Entry& entry : table.entries)
    if (entry.line == line) {
      found.kind = entry.kind;
      add(match, found, table, entry);
    }
  if (found.kind == "kernel")
    for (const Entry& entry : table.entries)
      if (entry.kernel == kernel) add(match, found, table, entry);
  match.lines.push_back(std::move(found));
  return match;
}

bool covers(const PlaceFound& place, std::string_view file, int64_t line) {
  return ends_path(place.file, file) && place.line <= line && line <= std::max(place.line, place.end_line);
}

WhereMatch match_of_source(const Table& table, size_t kernel, std::string_view file, int64_t line) {
  WhereMatch match{.kernel = table.kernels[kernel].name, .graph = table.graph, .path = table.path};
  for (const Entry& entry : table.entries) {
    if (entry.kernel != kernel || !covers(table.places[entry.place], file, line)) continue;
    if (match.lines.empty() || match.lines.back().line != entry.line)
      match.lines.push_back({.line = entry.line, .kind = entry.kind});
    add(match, match.lines.back(), table, entry);
  }
  return match;
}

void find_source_line(Where& where, const std::vector<Table>& tables, std::string_view file, int64_t line) {
  std::set<int64_t> lines;
  for (const Table& table : tables) {
    for (size_t kernel = 0; kernel < table.kernels.size(); ++kernel) {
      WhereMatch match = match_of_source(table, kernel, file, line);
      if (!match.lines.empty()) where.matches.push_back(std::move(match));
    }
    for (const Entry& entry : table.entries)
      if (const PlaceFound& place = table.places[entry.place]; place.line > 0 && ends_path(place.file, file))
        lines.insert(place.line);
  }
  if (!where.matches.empty()) return;
  const auto after = lines.upper_bound(line);
  if (after != lines.begin()) where.nearest_lines.push_back(*std::prev(after));
  if (after != lines.end()) where.nearest_lines.push_back(*after);
}

Error refused(std::string message) { return Error::unsupported("where", std::move(message)); }

// Tables whose file, graph or kernel has this name; where it is a kernel's, only that kernel's lines count.
Status find_kernel_line(Where& where, const std::vector<Table>& tables, std::string_view name, int64_t line) {
  std::string spans;
  for (const Table& table : tables) {
    const bool file = names_file(table, name);
    for (size_t k = 0; k < table.kernels.size(); ++k) {
      const Kernel& kernel = table.kernels[k];
      if (!file && kernel.name != name) continue;
      if (line >= kernel.first_line && line <= kernel.last_line)
        where.matches.push_back(match_of_line(table, k, line));
      if (spans.size() < 300)
        spans += fmt::format("{}lines {} to {} of {}", spans.empty() ? "" : ", ", kernel.first_line,
                             kernel.last_line, base_name(table.path));
    }
  }
  if (!where.matches.empty()) return ok_status();
  return refused(fmt::format("line {} is in no kernel of '{}'; there are {}", line, name, spans));
}

struct Names {
  std::set<std::string> kernels, sources;  // sources: user files
};

Names names_of(const std::vector<Table>& tables) {
  Names names;
  for (const Table& table : tables) {
    names.kernels.insert({std::string(base_name(table.path)), table.graph});
    for (const Kernel& kernel : table.kernels) names.kernels.insert(kernel.name);
    for (const PlaceFound& place : table.places) names.sources.insert(std::string(base_name(place.file)));
  }
  return names;
}

bool is_kernel_name(const std::vector<Table>& tables, std::string_view name) {
  return std::ranges::any_of(tables, [&](const Table& table) {
    return names_file(table, name) ||
           std::ranges::find(table.kernels, name, &Kernel::name) != table.kernels.end();
  });
}

bool is_source_name(const std::vector<Table>& tables, std::string_view name) {
  return std::ranges::any_of(tables, [&](const Table& table) {
    return std::ranges::any_of(table.places,
                               [&](const PlaceFound& place) { return ends_path(place.file, name); });
  });
}

Error unknown(const std::vector<Table>& tables, std::string_view name) {
  if (tables.empty()) return refused("no kernels are recorded here");
  const Names names = names_of(tables);
  std::vector<std::string> all(names.sources.begin(), names.sources.end());
  all.insert(all.end(), names.kernels.begin(), names.kernels.end());
  return refused(fmt::format("no kernel, graph, kernel file or user file is named '{}'{}", name,
                             did_you_mean(base_name(name), all)));
}

// What is recorded twice (one graph in many runs of a trace) is one match.
std::vector<Table> distinct_tables(std::span<const LineTable> from) {
  std::vector<Table> tables;
  std::set<std::pair<std::string, std::string>> seen;
  for (const LineTable& each : from)
    if (seen.insert({each.path, each.json}).second)
      if (auto table = read_table(each)) tables.push_back(std::move(*table));
  return tables;
}

}  // namespace

Result<Where> find_where(std::span<const LineTable> from, std::string_view query) {
  const size_t colon = query.rfind(':');
  int64_t line = 0;
  const std::string_view number = colon == std::string_view::npos ? "" : query.substr(colon + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), line);
  if (error != std::errc{} || end != number.data() + number.size() || line < 1 || colon == 0)
    return refused(fmt::format(
        "'{}' is not NAME:LINE, for example {}:12 or script.py:5. LINE is one whole number from 1 on; NAME "
        "is a kernel, a "
        "graph, a kernel file or a file of your program",
        query, query.empty() || query.front() == ':' ? "f_0123456789abcdef.cpp" : query.substr(0, colon)));
  const std::string_view name = query.substr(0, colon);
  const std::vector<Table> tables = distinct_tables(from);
  Where where{.query = std::string(query), .from_kernel = is_kernel_name(tables, name)};
  if (where.from_kernel) {
    SUTURE_TRY_VOID(find_kernel_line(where, tables, name, line));
  } else if (is_source_name(tables, name)) {
    find_source_line(where, tables, name, line);
  } else {
    return unknown(tables, name);
  }
  return where;
}

}  // namespace suture::toolbox
