// Graph surgery: what a part of a graph reads, returns, keeps and forgets.
#include "graph/subgraph.h"

#include <gtest/gtest.h>

#include "graph/canonical.h"
#include "graph/graph_builder.h"
#include "graph/print.h"
#include "graph/symbols.h"
#include "graph/verify.h"
#include "random_graph.h"

namespace suture {
namespace {

const char* const kPlace = " @ \"f.py\" \"f\" 1 1 0 9\n";

std::string graph_text(const std::vector<std::string>& lines) {
  std::string text = "graph \"graph_0\" captured\n";
  for (const std::string& line : lines) {
    const bool node = line.find(" = ") != std::string::npos;
    text += "  " + line + (node ? kPlace : "\n");
  }
  return text;
}

Graph parsed(const std::vector<std::string>& lines) {
  Result<Graph> graph = parse_graph(graph_text(lines));
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_TRUE(verify(*graph).ok()) << verify(*graph).error().message;
  return *graph;
}

NodeId id_of(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes)
    if (node.name == name) return node.id;
  ADD_FAILURE() << "no node " << name;
  return kNoNode;
}

std::vector<NodeId> ids_of(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<NodeId> ids;
  for (const std::string& name : names) ids.push_back(id_of(graph, name));
  return ids;
}

Graph chain() {
  return parsed({"x = placeholder() : f64[3] ; \"x\"", "y = placeholder() : f64[3] ; \"y\"",
                 "sin = sin(x) : f64[3] ; \"np.sin\"", "cos = cos(sin) : f64[3] ; \"np.cos\"",
                 "add = add(cos, y) : f64[3] ; \"+\"", "inputs x, y", "return add"});
}

TEST(Subgraph, of_everything_is_the_graph_itself) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = RandomGraph(seed, seed % 2 == 1).make(12);
    const Result<Subgraph> part = subgraph(graph, {});
    ASSERT_TRUE(part.ok()) << part.error().message << to_text(graph);
    ASSERT_EQ(part->graph.outputs.size(), graph.outputs.size());
    // Unused inputs go; here every node is an output, so none is unused.
    ASSERT_EQ(part->graph.op_count(), graph.op_count());
    ASSERT_EQ(part->graph.placeholders.size(), graph.placeholders.size());
  }
}

TEST(Subgraph, missing_operands_become_inputs_and_unread_values_outputs) {
  const Graph graph = chain();
  const Result<Subgraph> part = subgraph(graph, {.keep = ids_of(graph, {"cos"}), .outputs = {{}}});
  ASSERT_TRUE(part.ok()) << part.error().message;
  EXPECT_EQ(to_text(part->graph),
            graph_text({"sin = placeholder() : f64[3] ; \"sin\"", "cos = cos(sin) : f64[3] ; \"np.cos\"",
                        "inputs sin", "return cos"}));
  ASSERT_EQ(part->inputs.size(), 1u);
  EXPECT_EQ(part->inputs[0].node, id_of(graph, "sin"));
  EXPECT_EQ(part->inputs[0].after_store, kNoNode);
}

TEST(Subgraph, own_inputs_come_before_promoted_ones) {
  const Graph graph = chain();
  const Result<Subgraph> part = subgraph(graph, {.keep = ids_of(graph, {"add"}), .outputs = {{}}});
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->graph.node(part->graph.placeholders[0]).name, "y");
  EXPECT_EQ(part->graph.node(part->graph.placeholders[1]).name, "cos");
}

TEST(Subgraph, readers_can_be_sent_to_an_earlier_value) {
  const Graph graph = chain();
  GraphEdit edit{.keep = ids_of(graph, {"sin", "add"})};
  edit.instead[id_of(graph, "cos")] = id_of(graph, "sin");
  const Result<Subgraph> part = subgraph(graph, edit);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->graph.op_count(), 2u);
  EXPECT_EQ(part->graph.placeholders.size(), 2u);
}

TEST(Subgraph, a_value_can_become_a_number) {
  const Graph graph = chain();
  GraphEdit edit;
  edit.constants[id_of(graph, "y")] = {2.0, ValueClass::kPyFloat};
  const Result<Subgraph> part = subgraph(graph, edit);
  ASSERT_TRUE(part.ok()) << part.error().message;
  EXPECT_EQ(part->graph.placeholders.size(), 1u);
  EXPECT_NE(to_numpy_source(part->graph).text.find("cos + 2.0"), std::string::npos);
}

TEST(Subgraph, types_follow_from_those_of_the_inputs) {
  const Graph graph = chain();
  GraphEdit edit;
  TensorType small{.dtype = DType::kFloat32, .shape = {2}, .strides = {1}};
  edit.types[id_of(graph, "x")] = small;
  small.shape = {1};
  edit.types[id_of(graph, "y")] = small;
  const Result<Subgraph> part = subgraph(graph, edit);
  ASSERT_TRUE(part.ok()) << part.error().message;
  EXPECT_EQ(part->graph.node(part->graph.outputs[0]).type.str(), "f32[2]");
}

TEST(Subgraph, sizes_that_do_not_match_any_more_are_refused) {
  const Graph graph = chain();
  GraphEdit edit;
  edit.types[id_of(graph, "x")] = {.shape = {2}, .strides = {1}};
  const Result<Subgraph> part = subgraph(graph, edit);
  ASSERT_FALSE(part.ok());
  EXPECT_EQ(part.error().kind, ErrorKind::kUnsupported);
}

TEST(Subgraph, slices_keep_their_distance_from_both_ends) {
  const Graph graph = parsed(
      {"x = placeholder() : f64[10] ; \"x\"", "slice = slice(x) {index=[slice(1, 8, 1)]} : f64[8] ; \"[]\"",
       "slice_1 = slice(x) {index=[slice(9, 10, -1)]} : f64[10] strides [-1] ; \"[]\"",
       "reshape = reshape(slice_1) {dims=[2, 5], copies=true} : f64[2, 5] ; \"ndarray.reshape\"", "inputs x",
       "return slice, reshape"});
  GraphEdit edit;
  edit.types[id_of(graph, "x")] = {.shape = {4}, .strides = {1}};
  const Result<Subgraph> part = subgraph(graph, edit);
  ASSERT_TRUE(part.ok()) << part.error().message;
  EXPECT_EQ(part->graph.node(id_of(part->graph, "slice")).type.str(), "f64[2]");
  EXPECT_EQ(part->graph.node(id_of(part->graph, "slice_1")).type.str(), "f64[4]");
  EXPECT_EQ(product(part->graph.node(id_of(part->graph, "reshape")).type.shape), SymInt(4));
}

Graph with_store() {
  return parsed({"x = placeholder() : f64[4] ; \"x\"", "sin = sin(x) : f64[4] ; \"np.sin\"",
                 "slice = slice(sin) {index=[slice(1, 3, 1)]} : f64[3] ; \"[]\"",
                 "constant = constant() {value=2.0} : py_float ; \"\"",
                 "store = store(slice, constant) : f64[3] ; \"=\"", "cos = cos(sin) : f64[4] ; \"np.cos\"",
                 "inputs x", "return cos"});
}

TEST(Subgraph, views_of_written_memory_stay_with_their_readers) {
  const Graph graph = with_store();
  const Result<Subgraph> part = subgraph(graph, {.keep = ids_of(graph, {"store", "cos"}), .outputs = {{}}});
  ASSERT_TRUE(part.ok()) << part.error().message;
  // `sin` became an input; the write goes through its slice, and cos sees it.
  EXPECT_EQ(part->graph.op_count(), 3u) << to_text(part->graph);
  ASSERT_EQ(part->inputs.size(), 1u);
  EXPECT_EQ(part->inputs[0].node, id_of(graph, "sin"));
  EXPECT_EQ(part->inputs[0].after_store, kNoNode);
}

TEST(Subgraph, a_store_alone_writes_into_an_input) {
  const Graph graph = with_store();
  const Result<Subgraph> part = subgraph(graph, {.keep = ids_of(graph, {"store"}), .outputs = {{}}});
  ASSERT_TRUE(part.ok()) << part.error().message;
  EXPECT_EQ(part->graph.op_count(), 1u) << to_text(part->graph);
  ASSERT_EQ(part->inputs.size(), 1u);
  EXPECT_EQ(part->inputs[0].node, id_of(graph, "slice"));
}

TEST(Subgraph, what_a_lost_store_wrote_is_in_the_promoted_value) {
  const Graph graph = with_store();
  const Result<Subgraph> part = subgraph(graph, {.keep = ids_of(graph, {"cos"}), .outputs = {{}}});
  ASSERT_TRUE(part.ok());
  ASSERT_EQ(part->inputs.size(), 1u);
  EXPECT_EQ(part->inputs[0].node, id_of(graph, "sin"));
  EXPECT_EQ(part->inputs[0].after_store, id_of(graph, "store"));
}

TEST(Subgraph, memory_that_is_only_written_is_returned) {
  const Graph graph = with_store();
  const Result<Subgraph> part =
      subgraph(graph, {.keep = ids_of(graph, {"sin", "slice", "store"}), .outputs = {{}}});
  ASSERT_TRUE(part.ok());
  ASSERT_EQ(part->graph.outputs.size(), 1u);
  EXPECT_EQ(part->graph.node(part->graph.outputs[0]).name, "slice");
}

Graph symbolic() {
  return parsed({"symbol s0 \"x.shape[0]\" hint 32 range 3..max size",
                 "symbol s1 \"n\" hint 7 range min..max", "symbol s2 \"y.shape[0]\" hint 9 range 2..max size",
                 "fact s0 <= 64", "fact s2 <= 10", "x = placeholder() : f64[s0] ; \"x\"",
                 "y = placeholder() : f64[s2] ; \"y\"", "symbol = symbol() {sym=s1} : py_int ; \"\"",
                 "sin = sin(x) : f64[s0] ; \"np.sin\"",
                 "slice = slice(sin) {index=[slice(1, s0 - 1, 1)]} : f64[s0 - 1] ; \"[]\"",
                 "mul = mul(slice, symbol) : f64[s0 - 1] ; \"*\"", "exp = exp(y) : f64[s2] ; \"np.exp\"",
                 "inputs x, y", "return mul, exp"});
}

TEST(Subgraph, symbols_stay_while_a_node_mentions_them) {
  const Graph graph = symbolic();
  const Result<Subgraph> part = subgraph(graph, {.keep = ids_of(graph, {"mul"}), .outputs = {{}}});
  ASSERT_TRUE(part.ok()) << part.error().message;
  EXPECT_EQ(part->graph.env.symbols().size(), 2u);
  ASSERT_EQ(part->graph.env.facts().size(), 1u);
  // The promoted slice has s0 - 1 elements: nobody carries s0, nor the int, so both are inputs of their own.
  const std::vector<SymbolCarrier> carriers = symbol_carriers(part->graph);
  EXPECT_EQ(carriers[0].input, 1);
  EXPECT_EQ(carriers[0].axis, -1);
  EXPECT_EQ(carriers[1].input, 2);
  const Result<Subgraph> other = subgraph(graph, {.keep = ids_of(graph, {"exp"}), .outputs = {{}}});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->graph.env.symbols()[0].source, "y.shape[0]");
  EXPECT_EQ(other->graph.env.facts()[0].str(), "s0 <= 10");
}

TEST(Subgraph, symbols_take_other_values_that_their_facts_allow) {
  const Graph graph = symbolic();
  const Result<Subgraph> small = subgraph(graph, {.symbols = {{0, 3}}, .fixed = {1}});
  ASSERT_TRUE(small.ok()) << small.error().message;
  EXPECT_EQ(small->graph.env.symbols().size(), 2u);
  EXPECT_EQ(small->graph.env.symbols()[0].hint, 3);
  EXPECT_FALSE(subgraph(graph, {.symbols = {{0, 65}}}).ok());
  EXPECT_FALSE(subgraph(graph, {.symbols = {{0, 1}}}).ok());
}

TEST(Subgraph, edits_that_make_no_sense_are_refused_in_words) {
  const Graph graph = chain();
  GraphEdit later;
  later.instead[id_of(graph, "sin")] = id_of(graph, "cos");
  EXPECT_EQ(subgraph(graph, later).error().message, "a value can be replaced by an earlier one only");
  EXPECT_EQ(subgraph(graph, {.keep = {{}}, .outputs = {{}}}).error().message,
            "nothing would be left to compute");
  const Graph stores = with_store();
  GraphEdit number{.keep = ids_of(stores, {"store"}), .outputs = {{}}};
  number.constants[id_of(stores, "slice")] = {1.0, ValueClass::kPyFloat};
  EXPECT_EQ(subgraph(stores, number).error().kind, ErrorKind::kUnsupported);
}

TEST(Subgraph, every_single_op_of_a_random_graph_runs_alone) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph = RandomGraph(seed, seed % 2 == 1).make(12);
    for (const Node& node : graph.nodes) {
      if (info(node.op).kind == OpKind::Input) continue;
      const Result<Subgraph> part = subgraph(graph, {.keep = {{node.id}}, .outputs = {{}}});
      ASSERT_TRUE(part.ok()) << part.error().message << "\n" << node.name << "\n" << to_text(graph);
      ASSERT_TRUE(parse_graph(to_text(part->graph)).ok());
    }
  }
}

TEST(CanonicalText, forgets_names_and_places_and_nothing_else) {
  const Graph graph = symbolic();
  Graph renamed = graph;
  for (Node& node : renamed.nodes) {
    node.name = "other_" + node.name;
    node.where.line += 3;
  }
  renamed.name = "graph_7";
  EXPECT_EQ(canonical_hash(graph), canonical_hash(renamed));
  const Result<Graph> again = parse_graph(canonical_text(graph));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(canonical_text(*again), canonical_text(graph));
  renamed.nodes.back().target = "ndarray.exp";
  EXPECT_NE(canonical_hash(graph), canonical_hash(renamed));
}

}  // namespace
}  // namespace suture
