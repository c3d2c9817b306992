// Graphs as text for pass tests: one node per line as graph/print.h writes them, without callables and
// places.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <type_traits>

#include "graph/interpret.h"
#include "graph/print.h"
#include "graph/verify.h"
#include "passes/applications.h"

namespace suture::test {

inline std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// A graph from node lines; a line without `; "callable"` gets a NumPy function as its callable. Every node is placed at its
// line.
inline Graph graph_of(const std::string& level, const std::string& lines) {
  std::string full = "graph \"g\" " + level + "\n";
  std::istringstream in(lines);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    line = trimmed(line);
    ++number;
    const bool node =
        line.find(" = ") != std::string::npos && !line.starts_with("symbol s") && !line.starts_with("fact");
    if (node && line.find(" ; ") == std::string::npos) line += " ; \"np.f\"";
    if (node) line += " @ \"pass.py\" \"f\" " + std::to_string(number) + " 0 -1 -1";
    if (!line.empty()) full += line + "\n";
  }
  Result<Graph> graph = parse_graph(full);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().message);
  if (!graph.ok()) return {};
  const Status lawful = verify(*graph);
  EXPECT_TRUE(lawful.ok()) << (lawful.ok() ? "" : lawful.error().message);
  return *graph;
}
inline Graph captured(const std::string& lines) { return graph_of("captured", lines); }
inline Graph lowered(const std::string& lines) { return graph_of("lowered", lines); }

// The nodes and the return line of a graph, in the form graph_of reads.
inline std::string lines_of(const Graph& graph) {
  std::istringstream in(to_text(graph));
  std::string out;
  for (std::string line; std::getline(in, line);) {
    line = trimmed(line);
    const bool other = line.starts_with("graph ") || line.starts_with("symbol s") ||
                       line.starts_with("fact ") || line.starts_with("inputs");
    if (!other) out += trimmed(line.substr(0, line.find(" ; "))) + "\n";
  }
  return out;
}
inline std::string plain_lines(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);) {
    if (line = trimmed(line); !line.empty()) out += trimmed(line.substr(0, line.find(" ; "))) + "\n";
  }
  return out;
}

// An optional pass asks before each change; here it may make them all, or the first `limit`.
template <typename Pass>
Result<bool> run_alone(Pass pass, Graph& graph, int64_t limit = Applications::kNoLimit) {
  Applications applications(limit);
  if constexpr (std::is_invocable_v<Pass, Graph&>)
    return pass(graph);
  else
    return pass(graph, applications);
}

template <typename Pass>
void expect_rewrites(Pass pass, Graph graph, const std::string& after,
                     int64_t limit = Applications::kNoLimit) {
  const std::string before = to_text(graph);
  const Result<bool> changed = run_alone(pass, graph, limit);
  ASSERT_TRUE(changed.ok()) << changed.error().message << "\nin\n" << before;
  EXPECT_TRUE(*changed);
  EXPECT_EQ(lines_of(graph), plain_lines(after)) << "from\n" << before;
  const Status lawful = verify(graph);
  EXPECT_TRUE(lawful.ok()) << (lawful.ok() ? "" : lawful.error().message);
}

template <typename Pass>
void expect_unchanged(Pass pass, Graph graph, int64_t limit = Applications::kNoLimit) {
  const std::string before = to_text(graph);
  const Result<bool> changed = run_alone(pass, graph, limit);
  ASSERT_TRUE(changed.ok()) << changed.error().message;
  EXPECT_FALSE(*changed);
  EXPECT_EQ(to_text(graph), before);
}

}  // namespace suture::test
