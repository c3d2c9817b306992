// One symbolic graph serves many sizes: whatever sizes satisfy its facts, capturing anew with those sizes as
// constants must give the same nodes with the same types. This is what makes a recompile unnecessary, so it
// must never be wrong.
#include <gtest/gtest.h>

#include "graph/print.h"
#include "random_graph.h"

namespace suture {
namespace {

bool facts_hold(const Graph& graph, const std::vector<int64_t>& sizes) {
  for (const ShapeFact& fact : graph.env.facts()) {
    if (!fact.holds(sizes)) return false;
  }
  return true;
}

std::string at_sizes(const Node& node, const std::vector<int64_t>& sizes) {
  TensorType type = node.type;
  for (SymInt& dim : type.shape) dim = dim.evaluate(sizes).value();
  std::string out = node.name + ": " + type.str() + " strides";
  for (size_t i = 0; i < type.shape.size(); ++i) {
    out += type.shape[i] == SymInt(1) ? " -" : " " + std::to_string(type.strides[i].evaluate(sizes).value());
  }
  return out + (node.attrs.copies ? " copies" : "");
}

TEST(SymbolicGraph, types_hold_for_every_size_that_satisfies_the_facts) {
  std::mt19937_64 rng(11);
  auto pick = [&] { return std::uniform_int_distribution<int64_t>(2, 8)(rng); };
  int compared = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    Graph symbolic = RandomGraph(seed, true).make(12);
    for (int attempt = 0; attempt < 20; ++attempt) {
      std::vector<int64_t> sizes{pick(), pick(), pick()};
      if (!facts_hold(symbolic, sizes)) continue;
      ++compared;
      Graph constant = RandomGraph(seed, false, sizes).make(12);
      ASSERT_EQ(constant.nodes.size(), symbolic.nodes.size()) << to_text(symbolic) << to_text(constant);
      for (size_t i = 0; i < constant.nodes.size(); ++i) {
        ASSERT_EQ(at_sizes(symbolic.nodes[i], sizes), at_sizes(constant.nodes[i], sizes))
            << to_text(symbolic) << to_text(constant);
      }
      break;
    }
  }
  EXPECT_GT(compared, 400) << "most graphs serve other sizes than those they were captured with";
}

}  // namespace
}  // namespace suture
