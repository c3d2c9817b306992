// The line table: what each line of generated code is made from, checked against the text itself.
#include "codegen/line_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "support/graph_script.h"

namespace suture {
namespace {

struct Emitted {
  Graph graph;
  GeneratedCode code;
  std::vector<std::string> text;  // its lines
};

Emitted emitted(const std::string& script) {
  Emitted result{GraphScript::build(script), {}, {}};
  auto program = lower(result.graph);
  if (!program.ok()) throw std::runtime_error(program.error().message);
  auto schedule = plan_schedule(*program, result.graph, {});
  if (!schedule.ok()) throw std::runtime_error(schedule.error().message);
  std::map<int, int> asked;
  CodegenOptions options;
  options.source_line = [&asked](const UserSpan& where) {
    EXPECT_EQ(++asked[where.line], 1) << "line " << where.line << " is asked for again";
    return "  source of " + std::to_string(where.line);
  };
  auto code = emit(*schedule, result.graph, options);
  if (!code.ok()) throw std::runtime_error(code.error().message);
  result.code = std::move(*code);
  std::istringstream in(result.code.cpp);
  for (std::string line; std::getline(in, line);) result.text.push_back(line);
  return result;
}

// Two kernels: matmul between them is NumPy's.
constexpr const char* kTwoKernels =
    "x = input float64 8,8\na = sin x\nm = matmul a a\nb = exp m\ns = sum b axes=1\nl = max b all\nreturn s "
    "l b\n";

// Kinds of scripts: elementwise, reductions inside and outside, in memory (rows), argmax, max (zeros), symbols, stores.
const std::vector<std::string> kScripts = {
    kTwoKernels,
    "x = input float64 8,6\ns = sum x axes=0\nreturn s\n",
    "x = input float64 4096\ny = mul x x\ns = sum y all\nm = max y all\nk = argmax y all\nreturn s m k\n",
    "rows = symbol 48\nx = input float64 rows,8\none = const float64 numpy 1\ny = add x one\ns = sum y "
    "axes=1\nreturn y s\n",
};

bool is_frame(const std::string& line) {  // loops, braces, status, entry, comments of a header
  const size_t first = line.find_first_not_of(' ');
  if (first == std::string::npos) return true;
  const std::string_view code = std::string_view(line).substr(first);
  for (std::string_view head : {"//", "for (", "}", "{", "static ", "extern ", "return ", "uint32_t status",
                                "(void)", "const uint64_t nothing", "uint64_t kept", "uint32_t kept",
                                "op_use(", "const int64_t ", "int64_t i", "if ("})
    if (code.starts_with(head)) return true;
  return code.find(" += ") != std::string_view::npos || code.ends_with(".next();");
}

TEST(LineTable, every_statement_has_one_entry_and_nothing_else_has) {
  for (const std::string& script : kScripts) {
    const Emitted result = emitted(script);
    std::map<int, int> entries;
    for (const CodeLine& line : result.code.lines) ++entries[line.line];
    for (size_t i = 0; i < result.text.size(); ++i) {
      const int number = static_cast<int>(i) + 1;
      EXPECT_EQ(entries[number], is_frame(result.text[i]) ? 0 : 1) << number << ": " << result.text[i] << "\n"
                                                                   << result.code.cpp;
    }
    EXPECT_TRUE(std::ranges::is_sorted(result.code.lines, {}, &CodeLine::line));
  }
}

// The comment behind a statement and its entry are two tellings of one fact.
TEST(LineTable, entries_agree_with_the_comments) {
  size_t compared = 0;
  for (const std::string& script : kScripts) {
    const Emitted result = emitted(script);
    for (const CodeLine& line : result.code.lines) {
      const std::string& text = result.text.at(static_cast<size_t>(line.line - 1));
      const size_t comment = text.find("// script.py:");
      if (comment == std::string::npos) continue;
      EXPECT_EQ(std::stoi(text.substr(comment + 13)), line.where.line) << text;
      ++compared;
    }
  }
  EXPECT_GT(compared, 30u);
}

TEST(LineTable, a_statement_defines_the_value_of_its_node) {
  size_t compared = 0;
  const Emitted result = emitted(kTwoKernels);
  for (const CodeLine& line : result.code.lines) {
    const std::string& text = result.text.at(static_cast<size_t>(line.line - 1));
    if (line.kind != CodeLine::Kind::kCompute || text.find("const double ") == std::string::npos) continue;
    EXPECT_NE(text.find("const double " + result.graph.node(line.node).name + " = "), std::string::npos)
        << text;
    ++compared;
  }
  EXPECT_EQ(compared, 2u) << "sin and exp\n" << result.code.cpp;
}

TEST(LineTable, kernels_tell_the_lines_they_fill) {
  const Emitted result = emitted(kTwoKernels);
  ASSERT_GE(result.code.kernels.size(), 2u);
  int next = 1;
  for (const KernelInfo& kernel : result.code.kernels) {
    EXPECT_EQ(kernel.first_line, next);
    EXPECT_TRUE(
        result.text.at(static_cast<size_t>(kernel.first_line - 1)).starts_with("// " + kernel.name + ":"));
    EXPECT_EQ(result.text.at(static_cast<size_t>(kernel.last_line - 1)), "}");
    next = kernel.last_line + 2;  // an empty line between two
  }
  EXPECT_EQ(next - 2, static_cast<int>(result.text.size()));
}

TEST(LineTable, json_names_places_and_nodes_and_quotes_the_source) {
  const std::string json = emitted("x = input float64 8\ny = sin x\nreturn y\n").code.line_table;
  EXPECT_EQ(
      json,
      R"({"schema":"suture.kernel_lines/1","graph":"graph_0","line_count":15,)"
      R"("kernels":[{"name":"cpp_fused_sin_0","first_line":1,"last_line":15}],)"
      R"("places":[{"file":"/home/user/script.py","function":"f","line":2,"end_line":2,"column":-1,)"
      R"("end_column":-1,"source":"  source of 2"}],)"
      R"("nodes":[{"name":"x","op":"placeholder","target":"x"},{"name":"sin","op":"sin","target":"np.sin"}],)"
      R"("lines":[{"line":6,"kernel":0,"kind":"read","node":0,"place":0},)"
      R"({"line":7,"kernel":0,"kind":"compute","node":1,"place":0},)"
      R"({"line":8,"kernel":0,"kind":"write","node":1,"place":0}]})");
}

}  // namespace
}  // namespace suture
