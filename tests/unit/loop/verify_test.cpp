// Every law of a loop nest is broken once, and verify names it.
#include "loop/verify.h"

#include <gtest/gtest.h>

#include <map>

#include "support/graph_script.h"

namespace suture {
namespace {

const Graph& graph() {
  static const Graph graph = GraphScript::build(
      "x = input float64 8,6\none = const float64 numpy 1\ny = add x one\ns = sum y all\nreturn s\n");
  return graph;
}

// A nest of its own, not the program's: one element of everything a law looks at.
Nest lawful() {
  auto program = lower(graph());
  if (!program.ok()) throw std::runtime_error(program.error().message);
  Nest nest = std::get<Nest>(program->statements.at(0));
  nest.reductions = std::get<Nest>(program->statements.at(1)).reductions;
  return nest;
}

using Break = void (*)(Nest&);
const std::multimap<std::string, Break> kBreaks = {
    {"operands_come_first", [](Nest& nest) { nest.exprs.back().operands[0] = 7; }},
    {"operands_come_first", [](Nest& nest) { nest.exprs.back().operands[0] = -1; }},
    {"parts_name_their_node", [](Nest& nest) { nest.exprs[0].node = kNoNode; }},
    {"parts_name_their_node", [](Nest& nest) { nest.reductions[0].node = kNoNode; }},
    {"parts_name_their_node", [](Nest& nest) { nest.stores[0].node = 99; }},
    {"parts_name_their_node", [](Nest& nest) { nest.nodes.push_back(99); }},
    {"expressions_have_an_origin", [](Nest& nest) { nest.exprs[1].where = {}; }},
};

TEST(VerifyNest, what_lowering_makes_is_lawful) { EXPECT_TRUE(verify(lawful(), graph()).ok()); }

TEST(VerifyNest, every_law_can_be_broken_and_is_named) {
  for (const NestLaw& law : nest_laws()) EXPECT_TRUE(kBreaks.contains(std::string(law.name))) << law.name;
  for (const auto& [law, destroy] : kBreaks) {
    Nest nest = lawful();
    destroy(nest);
    const Status status = verify(nest, graph());
    ASSERT_FALSE(status.ok()) << law;
    EXPECT_EQ(status.error().kind, ErrorKind::kInternal);
    EXPECT_TRUE(status.error().message.starts_with("law " + law + " of loop nests broken by "))
        << status.error().message;
  }
}

TEST(VerifyNest, code_without_a_line_table_still_has_an_origin) {
  Nest nest = lawful();
  for (Expr& expr : nest.exprs) expr.where = {"stripped.py", "f"};
  EXPECT_TRUE(verify(nest, graph()).ok());
}

TEST(VerifyNest, lowering_refuses_a_graph_whose_nodes_have_no_origin) {
  Graph broken = graph();
  broken.nodes[2].where = {};
  const auto program = lower(broken);
  ASSERT_FALSE(program.ok());
  EXPECT_TRUE(program.error().message.starts_with("law expressions_have_an_origin"))
      << program.error().message;
}

}  // namespace
}  // namespace suture
