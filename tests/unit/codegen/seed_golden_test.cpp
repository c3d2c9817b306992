// The text of the seed's two kernels. SUTURE_UPDATE_GOLDEN=1 rewrites the golden files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "codegen/emit.h"
#include "support/graph_script.h"

namespace suture {
namespace {

constexpr const char* kFirstGraph =
    "x = input float64 32,32\none = const float64 numpy 1\nzero = const float64 numpy 0\nsin = sin x\ny = "
    "add sin one\n"
    "s = sum y all\ng = gt s zero\nreturn g y\n";
constexpr const char* kSecondGraph =
    "y = input float64 32,32\nn = input float64 pyfloat\ntwo = const float64 numpy 2\nzero = const float64 "
    "numpy 0\n"
    "a = mul y two\nb = maximum a zero\nc = mul b n\nreturn c\n";
constexpr const char* kSymbolicGraph =
    "rows = symbol 48\ncolumns = symbol 48\nx = input float64 rows,columns\none = const float64 numpy 1\nsin "
    "= sin x\n"
    "y = add sin one\ns = sum y all\nreturn s y\n";

std::string generated(const std::string& script) {
  const Graph graph = GraphScript::build(script);
  auto program = lower(graph);
  if (!program.ok()) throw std::runtime_error(program.error().message);
  auto schedule = plan_schedule(*program, graph, {});
  if (!schedule.ok()) throw std::runtime_error(schedule.error().message);
  CodegenOptions options;
  options.source_line = [](const UserSpan& where) { return "source of line " + std::to_string(where.line); };
  auto code = emit(*schedule, graph, options);
  if (!code.ok()) throw std::runtime_error(code.error().message);
  return code->cpp;
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(SUTURE_TEST_ROOT) + "/tests/golden/codegen/" + name;
  if (std::getenv("SUTURE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << "differs from " << path << "; SUTURE_UPDATE_GOLDEN=1 rewrites it";
}

TEST(SeedKernels, first_graph) { expect_golden("seed_first_graph.txt", generated(kFirstGraph)); }
TEST(SeedKernels, second_graph) { expect_golden("seed_second_graph.txt", generated(kSecondGraph)); }
TEST(SeedKernels, symbolic_first_graph) {
  expect_golden("seed_symbolic_graph.txt", generated(kSymbolicGraph));
}
TEST(SeedKernels, the_same_graph_gives_the_same_bytes) {
  EXPECT_EQ(generated(kFirstGraph), generated(kFirstGraph));
}

}  // namespace
}  // namespace suture
