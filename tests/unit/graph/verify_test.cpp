// Every law of the graph is broken once, and verify names it.
#include "graph/verify.h"

#include <gtest/gtest.h>

#include <map>

#include "graph/graph_builder.h"

namespace suture {
namespace {

TensorType f64(std::vector<SymInt> shape) {
  TensorType type;
  type.strides = contiguous_strides(shape, Order::kC);
  type.shape = std::move(shape);
  return type;
}

// x: f64[3]; sin = sin(x); store x <- sin; returns sin. One symbol, one fact.
Graph lawful() {
  Graph graph;
  SymInt s0 = graph.env.create_symbol("n", 4, 2, INT64_MAX, false);
  graph.env.le(s0, 8);
  GraphBuilder b(graph);
  b.set_place({"a.py", "f", 1});
  NodeId x = b.placeholder("x", f64({3}));
  NodeId sine = *b.add(OpId::kSin, {x}, {}, "np.sin");
  NodeId c = b.constant(1.5, ValueClass::kPyFloat, DType::kFloat64);
  EXPECT_TRUE(b.add(OpId::kStore, {x, sine}, {}, "=").ok());
  EXPECT_TRUE(b.add(OpId::kMultiply, {sine, c}, {}, "*").ok());
  graph.outputs = {sine};
  return graph;
}

using Break = void (*)(Graph&);
const std::map<std::string, Break> kBreaks = {
    {"ids_are_indices", [](Graph& g) { g.nodes[1].id = 7; }},
    {"operands_come_first", [](Graph& g) { g.nodes[1].operands[0] = 3; }},
    {"ends_exist", [](Graph& g) { g.outputs = {99}; }},
    {"stores_give_no_value", [](Graph& g) { g.outputs = {3}; }},
    {"placeholders_are_listed", [](Graph& g) { g.placeholders.clear(); }},
    {"names_are_unique", [](Graph& g) { g.nodes[1].name = "x"; }},
    {"arity_matches", [](Graph& g) { g.nodes[1].operands.push_back(0); }},
    {"required_attributes_are_set", [](Graph& g) { g.nodes[2].attrs.scalar.reset(); }},
    {"shape_and_strides_agree", [](Graph& g) { g.nodes[0].type.strides.clear(); }},
    {"python_numbers_have_their_dtype", [](Graph& g) { g.nodes[2].type.dtype = DType::kFloat32; }},
    {"symbols_are_declared", [](Graph& g) { g.nodes[0].type.shape[0] = SymInt::symbol(5); }},
    {"facts_hold_at_the_hints", [](Graph& g) { g.env.assume({Relation::kLt, SymInt::symbol(0), 2, {}}); }},
    {"sizes_zero_and_one_are_static",
     [](Graph& g) { g.nodes[0].type.shape[0] = g.env.create_symbol("m", 3, 0, INT64_MAX, false); }},
    {"stores_are_allowed", [](Graph& g) { g.nodes[0].type.writeable = false; }},
    {"lowered_has_no_composites",
     [](Graph& g) {
       Attrs all;
       all.all_axes = true;
       GraphBuilder builder(g);
       builder.set_place(g.nodes[1].where);
       builder.add(OpId::kMean, {0}, all, "np.mean").value();
       g.level = Graph::Level::kLowered;
     }},
    {"nodes_have_an_origin", [](Graph& g) { g.nodes[1].where = {}; }},
    {"types_follow_from_operands", [](Graph& g) { g.nodes[1].type.dtype = DType::kFloat32; }},
};

TEST(Verify, a_graph_from_the_builder_is_lawful) {
  Status status = verify(lawful());
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST(Verify, every_law_can_be_broken_and_is_named) {
  EXPECT_EQ(kBreaks.size(), graph_laws().size());
  for (const GraphLaw& law : graph_laws()) {
    auto breaks = kBreaks.find(std::string(law.name));
    ASSERT_NE(breaks, kBreaks.end()) << "no test breaks " << law.name;
    Graph graph = lawful();
    breaks->second(graph);
    Status status = verify(graph);
    ASSERT_FALSE(status.ok()) << law.name;
    EXPECT_EQ(status.error().kind, ErrorKind::kInternal);
    EXPECT_TRUE(status.error().message.starts_with("law " + std::string(law.name) + " broken by "))
        << status.error().message;
  }
}

}  // namespace
}  // namespace suture
