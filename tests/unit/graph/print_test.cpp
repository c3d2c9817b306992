// Graph text: what it looks like, that it parses back to the same graph, and that bad text is refused with a
// place.
#include "graph/print.h"

#include <gtest/gtest.h>

#include "graph/verify.h"
#include "random_graph.h"

namespace suture {
namespace {

const char* const kText =
    "graph \"graph_0\" captured\n"
    "  symbol s0 \"x.shape[0]\" hint 32 range 2..max size\n"
    "  fact s0 <= 64 @ \"a \\\"b\\\".py\" \"f\" 3 3 4 10\n"
    "  x = placeholder() : f64[s0, 48] strides [1, s0] ; \"x\" @ \"seed.py\" \"f\" 1 1 0 9\n"
    "  n = placeholder() : py_float ; \"n\" @ \"seed.py\" \"f\" 1 1 0 9\n"
    "  sin = sin(x) : f64[s0, 48] strides [1, s0] ; \"np.sin\" @ \"seed.py\" \"f\" 2 2 8 17\n"
    "  sum = sum(sin) {axes=[0, 1], all_axes=true, dtype=f32} : f32 scalar ; \"ndarray.sum\" @ "
    "\"stripped.py\" \"f\" 0 0 -1 -1\n"
    "  mul = mul(sin, n) : f64[s0, 48] strides [1, s0] ; \"*\" @ \"seed.py\" \"f\" 3 3 4 10\n"
    "  inputs x, n\n"
    "  return sum, mul\n";

TEST(GraphText, parses_and_prints_back_unchanged) {
  Result<Graph> graph = parse_graph(kText);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(to_text(*graph), kText);
  EXPECT_TRUE(verify(*graph).ok()) << verify(*graph).error().message;
  EXPECT_EQ(graph->env.facts()[0].where.file, "a \"b\".py");
}

TEST(GraphText, places_may_be_left_out_but_such_a_graph_is_not_lawful) {
  const std::string text =
      "graph \"g\" captured\n  x = placeholder() : f64[3] ; \"x\"\n  inputs x\n  return x\n";
  Result<Graph> graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(to_text(*graph), text);
  EXPECT_FALSE(verify(*graph).ok());
}

TEST(GraphText, random_graphs_survive_the_round_trip) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Graph graph = RandomGraph(seed, seed % 2 == 1).make(14);
    Result<Graph> again = parse_graph(to_text(graph));
    ASSERT_TRUE(again.ok()) << again.error().message << "\n" << to_text(graph);
    ASSERT_EQ(to_text(*again), to_text(graph));
    ASSERT_TRUE(*again == graph) << to_text(graph);
  }
}

TEST(GraphText, random_graphs_obey_the_laws) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Graph graph = RandomGraph(seed, seed % 2 == 1).make(14);
    Status lawful = verify(graph);
    ASSERT_TRUE(lawful.ok()) << lawful.error().message << "\n" << to_text(graph);
  }
}

std::string error_of(const std::string& text) {
  Result<Graph> graph = parse_graph(text);
  return graph.ok() ? "" : graph.error().message;
}

TEST(GraphText, errors_name_the_line_and_what_is_wrong) {
  EXPECT_EQ(error_of(""), "empty text");
  EXPECT_EQ(error_of("grap"), "line 1, column 1: expected 'graph'");
  EXPECT_EQ(error_of("graph \"g\" captured\n  y = sin(x) : f64[] ; \"\"\n"),
            "line 2, column 12: unknown value x");
  EXPECT_EQ(error_of("graph \"g\" captured\n  y = nosuch() : f64[] ; \"\"\n"),
            "line 2, column 13: unknown op nosuch");
  EXPECT_EQ(error_of("graph \"g\" captured\n  y = empty() {dims=[s0]} : f64[2] ; \"\"\n"),
            "line 2, column 24: unknown symbol s0");
  EXPECT_EQ(error_of("graph \"g\" captured\n  return  x\n"), "line 2, column 12: unknown value x");
}

TEST(GraphText, hostile_text_is_refused_not_followed) {
  std::string deep(100000, '(');
  EXPECT_NE(error_of("graph \"g\" captured\n  y = empty() {dims=[" + deep + "]} : f64[2] ; \"\"\n"), "");
  EXPECT_NE(error_of("graph \"g\" captured\n  y = empty() {dims=[99999999999999999999]} : f64[2] ; \"\"\n"),
            "");
  EXPECT_NE(error_of("graph \"g\" captured\n  y = empty() {dims=[1} : f64[2] ; \"\"\n"), "");
  constexpr char kWithNul[] = "graph \"g\" captured\n  y\0 = empty()";
  EXPECT_NE(error_of(std::string(kWithNul, sizeof kWithNul - 1)), "");
}

TEST(GraphText, truncated_text_never_crashes) {
  std::string text = kText;
  for (size_t length = 0; length < text.size(); ++length) {
    Result<Graph> graph = parse_graph(text.substr(0, length));
    if (graph.ok()) {
      EXPECT_LE(graph->nodes.size(), 5u);
    }
  }
}

// Words of one line moved into another, digits changed: mostly well-formed text of unlawful graphs.
std::string mutated(std::string text, std::mt19937_64& rng) {
  auto pick = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(rng); };
  for (size_t i = 1 + pick(4); i-- > 0;) {
    size_t at = pick(text.size()), from = pick(text.size()), length = pick(12);
    switch (pick(3)) {
      case 0: text[at] = "0123456789-[](){},=s"[pick(20)]; break;
      case 1: text.erase(at, length); break;
      default: text.insert(at, text.substr(from, length)); break;
    }
    if (text.empty()) text = "g";
  }
  return text;
}

TEST(GraphText, whatever_parses_can_be_judged_and_what_is_lawful_can_be_printed) {
  std::mt19937_64 rng(5);
  int parsed = 0, lawful = 0;
  for (int i = 0; i < 6000; ++i) {
    Graph original = RandomGraph(static_cast<uint64_t>(i % 40), i % 2 == 1).make(5);
    Result<Graph> graph = parse_graph(mutated(to_text(original), rng));
    if (!graph.ok()) continue;
    ++parsed;
    if (!verify(*graph).ok()) continue;
    ++lawful;
    EXPECT_FALSE(to_numpy_source(*graph).text.empty());
    EXPECT_TRUE(parse_graph(to_text(*graph)).ok());
  }
  EXPECT_GT(parsed, 100);
  EXPECT_GT(lawful, 20);
}

TEST(GraphJson, holds_nodes_types_and_places) {
  Result<Graph> graph = parse_graph(kText);
  std::string json = to_json(*graph);
  EXPECT_NE(json.find("\"op_count\":3"), std::string::npos) << json;
  EXPECT_NE(json.find("\"name\":\"sum\",\"op\":\"sum\",\"target\":\"ndarray.sum\",\"operands\":[\"sin\"]"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"shape\":[\"s0\",\"48\"]"), std::string::npos) << json;
}

}  // namespace
}  // namespace suture
