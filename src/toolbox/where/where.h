// `suture where`: from a line of a kernel file to the user lines, ops and graph nodes it is made from, and back.
//
// Reads line tables (codegen/line_table.h) that somebody recorded: a trace, a debug dump or the cache. Runs nothing and
// opens no file that a table names: the text of the user's line is in the table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace suture::toolbox {

struct LineTable {
  std::string path;        // of the file with the kernels
  int64_t first_line = 1;  // line of the file on which the table's line 1 stands
  std::string json;
};

// The tables of a trace, one per compile that generated kernels; lines of other events are passed over.
std::vector<LineTable> line_tables_of_trace(const std::vector<std::string>& lines);
// The table of a debug dump's kernel_lines.json, whose path in the dump is `path`; empty when it is none.
std::vector<LineTable> line_table_of_dump(const std::string& path, const std::string& text);

struct PlaceFound {
  std::string file, function, source;
  int64_t line = 0, end_line = 0, column = -1, end_column = -1;
  friend bool operator==(const PlaceFound&, const PlaceFound&) = default;
};
struct NodeFound {
  std::string name, op, target;
  friend bool operator==(const NodeFound&, const NodeFound&) = default;
};
struct LineFound {
  int64_t line = 0;  // of the file
  std::string kind;  // read | compute | reduce | write; "kernel": a line of the kernel as a whole
  std::vector<size_t> nodes, places;  // of the match
};
// Lines of one kernel. Asked for a line of a kernel file: that line. Asked for a user line: all that it made.
struct WhereMatch {
  std::string kernel, graph, path;
  std::vector<LineFound> lines;
  std::vector<PlaceFound> places;
  std::vector<NodeFound> nodes;
};
struct Where {
  std::string query;
  bool from_kernel = true;  // false: asked for a user line
  std::vector<WhereMatch> matches;
  std::vector<int64_t>
      nearest_lines;  // nothing is made from the line: those before and after it from which something is
};

// `query` is NAME:LINE. NAME is a kernel, a graph, a kernel file or a user file, each by its path or the end of it. A line of
// a kernel counts in its file, as editors and debuggers show it.
// Errors, kUnsupported: no line in the query, a name that no table has (with the nearest), a line beyond the file.
Result<Where> find_where(std::span<const LineTable> tables, std::string_view query);
// {"schema": "suture.where/1", "query", "direction": "kernel" | "source", "matches", "nearest_lines"}
std::string where_json(const Where& where);
std::string where_text(const Where& where);

}  // namespace suture::toolbox
