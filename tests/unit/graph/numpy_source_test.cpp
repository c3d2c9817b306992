// Printed NumPy source: what it looks like, and that NumPy, running it, agrees with inference on every value.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/json_writer.h"
#include "graph/print.h"
#include "random_graph.h"
#include "support/python_process.h"

namespace suture {
namespace {

TensorType f64(std::vector<SymInt> shape) {
  TensorType type;
  type.strides = contiguous_strides(shape, Order::kC);
  type.shape = std::move(shape);
  return type;
}

// The lines of forward's body, without comments.
std::vector<std::string> body(const Graph& graph) {
  std::istringstream text(to_numpy_source(graph).text);
  std::vector<std::string> out;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("    ")) out.push_back(line.substr(4, line.find("  #", 4) - 4));
  }
  return out;
}

using Lines = std::vector<std::string>;

TEST(NumpySource, spells_calls_as_the_user_wrote_them) {
  Graph graph;
  GraphBuilder b(graph);
  b.set_place({"seed.py", "f", 2});
  NodeId x = b.placeholder("x", f64({32, 32}));
  NodeId sine = *b.add(OpId::kSin, {x}, {}, "np.sin");
  NodeId one = b.constant(int64_t{1}, ValueClass::kPyInt, DType::kInt64);
  NodeId y = *b.add(OpId::kAdd, {sine, one}, {}, "+");
  Attrs all;
  all.all_axes = true;
  NodeId sum = *b.add(OpId::kSum, {y}, all, "ndarray.sum");
  NodeId mean = *b.add(OpId::kMean, {y}, all, "np.mean");
  graph.outputs = {sum, mean};
  EXPECT_EQ(to_numpy_source(graph).text,
            "import numpy as np\n\n\ndef forward(x):\n"
            "    sin = np.sin(x)  # seed.py:2\n"
            "    add = sin + 1  # seed.py:2\n"
            "    sum = add.sum(axis=None)  # seed.py:2\n"
            "    mean = np.mean(add, axis=None)  # seed.py:2\n"
            "    return (sum, mean)\n");
}

TEST(NumpySource, lines_have_the_span_of_their_node) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.placeholder("x", f64({3}));
  b.set_place({"seed.py", "f", 7});
  graph.outputs = {*b.add(OpId::kSin, {x}, {}, "np.sin")};
  NumpySource source = to_numpy_source(graph);
  size_t lines = static_cast<size_t>(std::count(source.text.begin(), source.text.end(), '\n'));
  ASSERT_EQ(source.lines.size(), lines);
  EXPECT_EQ(source.lines[4].line, 7);
  EXPECT_FALSE(source.lines[5].known());
}

TEST(NumpySource, symbols_are_read_from_inputs_or_become_parameters) {
  Graph graph;
  SymInt s0 = graph.env.create_symbol("x.shape[0]", 32, 2, INT64_MAX, true);
  SymInt s1 = graph.env.create_symbol("n", 7, INT64_MIN, INT64_MAX, false);
  GraphBuilder b(graph);
  NodeId x = b.placeholder("x", f64({s0}));
  NodeId n = b.symbol_value(s1 + 1);
  NodeId y = *b.add(OpId::kMultiply, {x, n}, {}, "*");
  Attrs attrs;
  attrs.dims = {2 * s0};
  attrs.dtype = DType::kFloat64;
  graph.outputs = {y, *b.add(OpId::kEmpty, {}, attrs, "np.empty")};
  NumpySource source = to_numpy_source(graph);
  EXPECT_EQ(source.symbol_parameters, std::vector<SymbolId>{1});
  EXPECT_NE(source.text.find("def forward(x, s1):\n    s0 = x.shape[0]\n    mul = x * (s1 + 1)\n"),
            std::string::npos)
      << source.text;
  EXPECT_NE(source.text.find("np.empty((2*s0,), dtype=np.float64, order='C')"), std::string::npos)
      << source.text;
}

TEST(NumpySource, an_in_place_operator_is_one_statement) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.placeholder("x", f64({3})), y = b.placeholder("y", f64({3}));
  NodeId sum = *b.add(OpId::kAdd, {x, y}, {}, "+=");
  ASSERT_TRUE(b.add(OpId::kStore, {x, sum}, {}, "+=").ok());
  ASSERT_TRUE(b.add(OpId::kStore, {x, y}, {}, "=").ok());
  graph.outputs = {x};
  EXPECT_EQ(body(graph), (Lines{"x += y", "x[...] = y", "return (x,)"}));
}

TEST(NumpySource, an_output_argument_is_printed_as_one) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.placeholder("x", f64({3})), y = b.placeholder("y", f64({3}));
  NodeId sum = *b.add(OpId::kAdd, {x, x}, {}, "np.add");
  ASSERT_TRUE(b.add(OpId::kStore, {y, sum}, {}, "np.add").ok());
  graph.outputs = {y};
  EXPECT_EQ(body(graph), (Lines{"np.add(x, x, out=y)", "return (y,)"}));
}

TEST(NumpySource, negative_constants_are_parenthesised_and_special_floats_spelled_out) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.placeholder("x", f64({3}));
  auto power = [&](double value) {
    NodeId c = b.constant(value, ValueClass::kPyFloat, DType::kFloat64);
    return *b.add(OpId::kPower, {c, x}, {}, "**");
  };
  graph.outputs = {power(-2.0), power(INFINITY)};
  EXPECT_EQ(body(graph), (Lines{"pow = (-2.0) ** x", "pow_1 = float('inf') ** x", "return (pow, pow_1)"}));
}

TEST(NumpySource, reversed_slices_end_without_a_stop) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId x = b.placeholder("x", f64({5}));
  Attrs attrs;
  attrs.index = {{IndexItem::Kind::kSlice, 4, -2, 3}};
  graph.outputs = {*b.add(OpId::kSlice, {x}, attrs, "[]")};
  EXPECT_EQ(body(graph)[0], "slice = x[4::-2]");
}

TEST(NumpySource, names_never_hide_what_the_source_uses) {
  Graph graph;
  GraphBuilder b(graph);
  NodeId np = b.placeholder("np", f64({3}));
  NodeId lambda = b.placeholder("lambda", f64({3}));
  b.placeholder("s0", f64({3}));
  EXPECT_EQ(graph.node(np).name, "np_1");
  EXPECT_EQ(graph.node(lambda).name, "lambda_1");
  EXPECT_EQ(graph.nodes.back().name, "s0_1");
}

// --- NumPy runs random graphs ---

void write_type(JsonWriter& json, const TensorType& type, const ShapeEnv& env) {
  json.begin_object().field("class", name(type.value_class)).field("dtype", info(type.dtype).numpy_name);
  for (const auto& [key, list] : {std::pair{"shape", &type.shape}, std::pair{"strides", &type.strides}}) {
    json.key(key).begin_array();
    for (const SymInt& e : *list) json.value(env.hint(e));
    json.end_array();
  }
  json.key("writeable").raw(type.writeable ? "true" : "false").end_object();
}

std::string case_line(const Graph& graph) {
  NumpySource source = to_numpy_source(graph);
  JsonWriter json;
  json.begin_object().field("source", source.text).key("inputs").begin_array();
  for (NodeId id : graph.placeholders) write_type(json, graph.node(id).type, graph.env);
  json.end_array().key("symbols").begin_array();
  for (SymbolId id : source.symbol_parameters) json.value(graph.env.symbols()[static_cast<size_t>(id)].hint);
  json.end_array().key("names").begin_array();
  for (NodeId id : graph.outputs) json.value(graph.node(id).name);
  json.end_array().key("outputs").begin_array();
  for (NodeId id : graph.outputs) write_type(json, graph.node(id).type, graph.env);
  return json.end_array().end_object().text();
}

TEST(NumpySource, numpy_agrees_with_inference_on_every_value_of_random_graphs) {
  std::string path = ::testing::TempDir() + "suture_numpy_source_cases.jsonl";
  constexpr int kCases = 400;
  {
    std::ofstream out(path);
    for (uint64_t seed = 0; seed < kCases; ++seed) {
      Graph graph = RandomGraph(seed, seed % 2 == 1).make(12);
      // The result of an in-place operator has no name of its own in the source.
      std::erase_if(graph.outputs, [&](NodeId id) {
        return spelling_of(graph.node(id)) == Spelling::kInPlace && graph.node(id).op != OpId::kStore;
      });
      out << case_line(graph) << "\n";
    }
  }
  std::vector<std::string> lines = run_python_script("scripts/check_numpy_source.py", path);
  remove(path.c_str());
  ASSERT_FALSE(lines.empty());
  std::string all;
  for (size_t i = 0; i + 1 < lines.size() && i < 60; ++i) all += lines[i] + "\n";
  EXPECT_EQ(all, "");
  std::istringstream last(lines.back());
  std::string word;
  int cases = 0, values = 0;
  last >> word >> cases >> values;
  EXPECT_EQ(cases, kCases);
  EXPECT_GT(values, 10 * kCases);
}

}  // namespace
}  // namespace suture
