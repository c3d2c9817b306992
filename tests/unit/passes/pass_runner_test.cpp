#include "passes/pass_runner.h"

#include <gmock/gmock.h>

#include "pass_testing.h"

namespace suture {
namespace {

using namespace test;
using ::testing::HasSubstr;

Graph seed() {
  return captured(R"(
    x = placeholder() : f64[4]
    sin = sin(x) : f64[4]
    one = constant() {value=1} : py_int
    add = add(sin, one) : f64[4] ; "+"
    sum = sum(add) {axes=[0], all_axes=true} : f64 scalar
    zero = constant() {value=0} : py_int
    gt = gt(sum, zero) : bool scalar ; ">"
    inputs x
    return gt, add)");
}

TEST(PassRunner, LowersTheSeedAndReportsEveryPassInOrder) {
  Graph graph = seed();
  auto reports = run_pipeline(graph, {});
  ASSERT_TRUE(reports.ok()) << reports.error().message;
  std::vector<std::string> names;
  for (const PassReport& report : *reports) names.push_back(report.name);
  EXPECT_THAT(names,
              ::testing::ElementsAre("decompose", "insert_casts", "fold_casts", "fold_constants",
                                     "simplify_views", "common_subexpressions", "eliminate_dead_nodes"));
  EXPECT_EQ(graph.level, Graph::Level::kLowered);
  EXPECT_EQ(lines_of(graph), plain_lines(R"(
    x = placeholder() : f64[4]
    sin = sin(x) : f64[4]
    constant = constant() {value=1.0} : f64 scalar
    add = add(sin, constant) : f64[4]
    sum = sum(add) {axes=[0], all_axes=true} : f64 scalar
    constant_1 = constant() {value=0.0} : f64 scalar
    gt = gt(sum, constant_1) : bool scalar
    return gt, add)"));
}

TEST(PassRunner, RefusesACapturedGraphThatBreaksALaw) {
  Graph graph = seed();
  graph.nodes[1].where = {};
  const auto reports = run_pipeline(graph, {});
  ASSERT_FALSE(reports.ok());
  EXPECT_THAT(reports.error().message, HasSubstr("law nodes_have_an_origin broken by sin"));
}

TEST(PassRunner, RefusesAPassThatLosesAnOrigin) {
  const PassInfo pass{.name = "forgets", .doc = "", .run = [](Graph& graph, Applications&) -> Result<bool> {
                        graph.nodes[1].where = {};
                        return true;
                      }};
  Graph graph = seed();
  const auto reports = run_passes(graph, {&pass, 1}, {});
  ASSERT_FALSE(reports.ok());
  EXPECT_THAT(reports.error().message, HasSubstr("pass forgets: law nodes_have_an_origin broken by sin"));
}

TEST(PassRunner, SkipsAPassByName) {
  Graph graph = seed();
  auto reports = run_pipeline(graph, {.skip = {"eliminate_dead_nodes"}});
  ASSERT_TRUE(reports.ok());
  EXPECT_TRUE(reports->back().skipped);
  EXPECT_THAT(lines_of(graph), HasSubstr("zero = constant"));
}

TEST(PassRunner, RefusesToSkipARequiredPass) {
  Graph graph = seed();
  auto reports = run_pipeline(graph, {.skip = {"insert_casts"}});
  ASSERT_TRUE(reports.ok());
  EXPECT_FALSE((*reports)[1].skipped);
  EXPECT_EQ(graph.level, Graph::Level::kLowered);
}

TEST(PassRunner, KeepsTheTextAfterEachPassWhenAsked) {
  Graph graph = seed();
  auto reports = run_pipeline(graph, {.keep_text = true});
  ASSERT_TRUE(reports.ok());
  EXPECT_EQ(reports->back().text, to_text(graph));
}

Result<bool> drops_output(Graph& graph, Applications&) {
  graph.outputs.pop_back();
  return true;
}
Result<bool> hides_a_change(Graph& graph, Applications&) {
  graph.outputs.pop_back();
  return false;
}
Result<bool> boasts(Graph&, Applications&) { return true; }
Result<bool> breaks_a_law(Graph& graph, Applications&) {
  graph.nodes[1].operands[0] = 5;
  return true;
}

std::string failure_of(Result<bool> (*run)(Graph&, Applications&),
                       const std::vector<std::string>& skip = {}) {
  Graph graph = seed();
  const PassInfo passes[] = {{"first", "", drops_output, false}, {"second", "", run, false}};
  auto reports = run_passes(graph, passes, {.skip = skip});
  return reports.ok() ? "" : reports.error().message;
}

TEST(PassRunner, CatchesAPassThatHidesAChange) {
  EXPECT_THAT(failure_of(hides_a_change), HasSubstr("changed the graph but claims it did not"));
}

TEST(PassRunner, CatchesAPassThatClaimsAChangeItDidNotMake) {
  EXPECT_THAT(failure_of(boasts), HasSubstr("left the graph as it was"));
}

TEST(PassRunner, VerifiesAfterAChangeAndNamesThePassAndTheNextStep) {
  EXPECT_THAT(failure_of(breaks_a_law), HasSubstr("pass second"));
  EXPECT_THAT(failure_of(breaks_a_law), HasSubstr("SUTURE_SKIP_PASSES=second:1"));
}

// Two casts that fold, a dead node: three changes in two passes.
Graph three_changes() {
  return captured(R"(
    x = placeholder() : f64[4]
    a = cast(x) {dtype=f64} : f64[4]
    b = cast(a) {dtype=f64} : f64[4]
    dead = abs(x) : f64[4]
    r = neg(b) : f64[4]
    inputs x
    return r)");
}

std::vector<std::string> changes_of(Graph graph, int64_t limit) {
  std::vector<std::string> names;
  auto reports = run_pipeline(graph, {.limit = limit});
  EXPECT_TRUE(reports.ok());
  for (const PassReport& report : *reports) {
    EXPECT_EQ(report.first_application, static_cast<int64_t>(names.size()) + 1) << report.name;
    for (const std::string& what : report.applications) names.push_back(report.name + ": " + what);
  }
  return names;
}

TEST(PassRunner, NumbersTheChangesOfOptionalPassesInTheirOrder) {
  EXPECT_THAT(changes_of(three_changes(), Applications::kNoLimit),
              ::testing::ElementsAre("fold_casts: a is x", "fold_casts: b is x",
                                     "eliminate_dead_nodes: without dead"));
}

TEST(PassRunner, MakesTheFirstChangesUpToTheLimitAndNoOther) {
  const std::vector<std::string> all = changes_of(three_changes(), Applications::kNoLimit);
  for (size_t limit = 0; limit <= all.size(); ++limit)
    EXPECT_EQ(changes_of(three_changes(), static_cast<int64_t>(limit)),
              std::vector<std::string>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(limit)));
}

TEST(PassRunner, KeepsWhatADeadNodeReadsWhenTheLimitKeepsTheNode) {
  Graph graph = captured(R"(
    x = placeholder() : f64[4]
    a = neg(x) : f64[4]
    b = neg(a) : f64[4]
    inputs x
    return x)");
  ASSERT_TRUE(run_pipeline(graph, {.limit = 1}).ok());
  EXPECT_EQ(lines_of(graph), plain_lines(R"(
    x = placeholder() : f64[4]
    a = neg(x) : f64[4]
    return x)"));
}

TEST(PassRunner, SkipsOneOccurrenceOfARepeatedPass) {
  Graph graph = seed();
  const PassInfo passes[] = {{"drop", "", drops_output, false}, {"drop", "", drops_output, false}};
  auto reports = run_passes(graph, passes, {.skip = {"drop:2"}});
  ASSERT_TRUE(reports.ok());
  EXPECT_FALSE((*reports)[0].skipped);
  EXPECT_TRUE((*reports)[1].skipped);
  EXPECT_EQ(graph.outputs.size(), 1u);
}

}  // namespace
}  // namespace suture
