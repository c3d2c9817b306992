// Answers of `suture where` from tables that are written here, hostile ones among them.
#include "toolbox/where/where.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/toolbox/recorded_events.h"

namespace suture::toolbox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Two kernels of one file; the second has a statement made from an expression over two lines.
const std::string kTable = R"json({"schema":"suture.kernel_lines/1","graph":"f","line_count":20,
 "kernels":[{"name":"cpp_fused_sin_0","first_line":1,"last_line":9},{"name":"cpp_fused_mul_1","first_line":11,"last_line":20}],
 "places":[{"file":"/home/user/app/script.py","function":"f","line":4,"end_line":4,"column":8,"end_column":17,"source":"a = np.sin(x)"
},
           {"file":"/home/user/app/script.py","function":"f","line":7,"end_line":8,"column":4,"end_column":9,"source":"    b = (a *"},
           {"file":"/home/user/app/other.py","function":"g","line":0,"end_line":0,"column":-1,"end_column":-1,"source":""}],
 "nodes":[{"name":"x","op":"placeholder","target":"x"},{"name":"sin","op":"sin","target":"np.sin"},{"name":"mul","op":"mul","target":"*"}],
 "lines":[{"line":5,"kernel":0,"kind":"read","node":0,"place":0},{"line":6,"kernel":0,"kind":"compute","node":1,"place":0},
          {"line":7,"kernel":0,"kind":"write","node":1,"place":0},{"line":15,"kernel":1,"kind":"compute","node":2,"place":1},
          {"line":16,"kernel":1,"kind":"write","node":2,"place":2}]
})json";
const std::vector<LineTable> kTables = {{"/cache/f_0123.cpp", 1, kTable}};

Where found(const std::string& query, const std::vector<LineTable>& tables = kTables) {
  auto where = find_where(tables, query);
  if (!where.ok()) throw std::runtime_error(where.error().message);
  return std::move(*where);
}

std::string refused(const std::string& query, const std::vector<LineTable>& tables = kTables) {
  const auto where = find_where(tables, query);
  EXPECT_FALSE(where.ok()) << query;
  return where.ok() ? "" : where.error().message;
}

TEST(Where, a_statement_names_its_user_line_op_and_node) {
  for (const std::string name : {"/cache/f_0123.cpp", "f_0123.cpp", "f_0123", "f", "cpp_fused_sin_0"}) {
    const Where where = found(name + ":6");
    EXPECT_TRUE(where.from_kernel);
    ASSERT_EQ(where.matches.size(), 1u) << name;
    const WhereMatch& match = where.matches[0];
    EXPECT_EQ(match.kernel, "cpp_fused_sin_0");
    EXPECT_THAT(match.nodes, ElementsAre(NodeFound{"sin", "sin", "np.sin"}));
    ASSERT_EQ(match.places.size(), 1u);
    EXPECT_EQ(match.places[0].line, 4);
    EXPECT_EQ(where_text(where),
              "/cache/f_0123.cpp:6 in kernel cpp_fused_sin_0 of graph f\n  computes sin (np.sin)\n"
              "  from /home/user/app/script.py:4 in f    a = np.sin(x)\n");
  }
}

TEST(Where, a_line_without_a_statement_belongs_to_its_kernel) {
  const Where where = found("f:2");
  ASSERT_EQ(where.matches.size(), 1u);
  EXPECT_EQ(where.matches[0].lines[0].kind, "kernel");
  EXPECT_THAT(where_text(where), HasSubstr("belongs to the whole kernel: x, sin (np.sin)\n"));
}

TEST(Where, a_user_line_names_every_line_made_from_it) {
  for (const std::string name : {"/home/user/app/script.py", "app/script.py", "script.py"}) {
    const Where where = found(name + ":4");
    EXPECT_FALSE(where.from_kernel);
    ASSERT_EQ(where.matches.size(), 1u);
    std::vector<int64_t> lines;
    for (const LineFound& line : where.matches[0].lines) lines.push_back(line.line);
    EXPECT_THAT(lines, ElementsAre(5, 6, 7));
  }
}

TEST(Where, a_line_inside_an_expression_over_several_lines_counts) {
  const Where where = found("script.py:8");
  EXPECT_EQ(where.matches.at(0).kernel, "cpp_fused_mul_1");
  EXPECT_THAT(where_text(where), HasSubstr("script.py:7 in f    b = (a *\n"));
}

TEST(Where, a_user_line_that_made_nothing_names_the_lines_around_it) {
  const Where where = found("script.py:5");
  EXPECT_THAT(where.matches, IsEmpty());
  EXPECT_THAT(where.nearest_lines, ElementsAre(4, 7));
  EXPECT_EQ(where_text(where), "no kernel is made from script.py:5; lines that are: 4, 7\n");
}

TEST(Where, lines_count_from_the_place_of_the_table_in_its_file) {
  const std::vector<LineTable> shifted = {{"/dump/f_0_0/output_code.cpp", 8, kTable}};
  EXPECT_EQ(found("output_code.cpp:13", shifted).matches.at(0).nodes.at(0).name, "sin");
  EXPECT_THAT(refused("output_code.cpp:3", shifted), HasSubstr("lines 8 to 16 of output_code.cpp"));
  EXPECT_EQ(found("script.py:7", shifted).matches.at(0).lines.at(0).line, 22);
}

TEST(Where, a_line_in_no_kernel_is_refused_with_the_lines_there_are) {
  EXPECT_EQ(
      refused("f:10"),
      "line 10 is in no kernel of 'f'; there are lines 1 to 9 of f_0123.cpp, lines 11 to 20 of f_0123.cpp");
  EXPECT_EQ(refused("cpp_fused_mul_1:3"),
            "line 3 is in no kernel of 'cpp_fused_mul_1'; there are lines 11 to 20 of f_0123.cpp");
}

TEST(Where, an_unknown_name_is_refused_with_the_nearest) {
  EXPECT_EQ(refused("scrpt.py:4"),
            "no kernel, graph, kernel file or user file is named 'scrpt.py'; did you mean 'script.py'?");
  EXPECT_THAT(refused("cpp_fused_sin_1:4"), HasSubstr("did you mean 'cpp_fused_sin_0'?"));
  EXPECT_THAT(refused("ript.py:4"), HasSubstr("did you mean 'script.py'?")) << "half a name is no name";
  EXPECT_EQ(refused("script.py:4", {}), "no kernels are recorded here");
}

TEST(Where, what_is_not_a_name_and_a_line_is_refused) {
  for (const std::string query : {"", "f", ":4", "f:", "f:0", "f:-1", "f:4x", "f:99999999999999999999"})
    EXPECT_THAT(refused(query), HasSubstr("is not NAME:LINE")) << query;
}

TEST(Where, a_table_recorded_twice_is_one_match) {
  EXPECT_EQ(found("f:6", {kTables[0], kTables[0]}).matches.size(), 1u);
  EXPECT_EQ(found("f:6", {kTables[0], {"/other/f_0123.cpp", 1, kTable}}).matches.size(), 2u);
}

TEST(Where, damaged_tables_are_passed_over_and_cut_ones_never_crash) {
  for (size_t length = 0; length < kTable.size(); ++length) {
    const auto where = find_where(std::vector<LineTable>{{"f.cpp", 1, kTable.substr(0, length)}}, "f:6");
    EXPECT_FALSE(where.ok());
  }
  const std::string wild =
      R"({"schema":"suture.kernel_lines/1","graph":"f","line_count":9,"kernels":[{"name":"k","first_line":1,"last_line":9}],)"
      R"("places":[],"nodes":[],"lines":[{"line":6,"kernel":0,"kind":"compute","node":-1,"place":7}]})";
  EXPECT_THAT(found("k:6", {{"f.cpp", 1, wild}}).matches.at(0).nodes, IsEmpty());
  EXPECT_EQ(find_where(std::vector<LineTable>{{"f.cpp", 1, "[]"}}, "f:6").error().message,
            "no kernels are recorded here");
}

TEST(Where, text_from_a_table_cannot_steer_a_terminal) {
  std::string hostile = kTable;
  hostile.replace(hostile.find("a = np.sin(x)"), 13, "\\u001b[31mred");
  const std::string text = where_text(found("f:6", {{"f.cpp", 1, hostile}}));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("\\x1b[31mred"));
}

TEST(Where, json_says_all_of_it) {
  EXPECT_EQ(
      where_json(found("f:16")),
      R"({"schema":"suture.where/1","query":"f:16","direction":"kernel","matches":[{"kernel":"cpp_fused_mul_1",)"
      R"("graph":"f","path":"/cache/f_0123.cpp","lines":[{"line":16,"kind":"write","nodes":[0],"places":[0]}],)"
      R"("places":[{"file":"/home/user/app/other.py","function":"g","line":0,"end_line":0,"column":-1,)"
      R"("end_column":-1,"source":""}],"nodes":[{"name":"mul","op":"mul","target":"*"}]}],"nearest_lines":[]})");
}

TEST(Where, tables_of_a_trace_are_found_among_other_events) {
  const Event event =
      Event(EventId::kKernelSource, {0, 0, 0}).set("graph", std::string("f")).set("lines", kTable);
  const std::vector<LineTable> tables =
      line_tables_of_trace({frame_start(0, 0, "f"), line_of(Event(event)), "{\"event\":\"kernel_source\",",
                            line_of(Event(event).set("path", std::string("/c/f_1.cpp")))});
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].path, "f.cpp");
  EXPECT_EQ(found("f_1.cpp:6", tables).matches.size(), 1u);
}

TEST(Where, the_table_of_a_dump_lies_beside_its_file) {
  const auto tables = line_table_of_dump(
      "/d/f_0_0/kernel_lines.json", R"({"file":"output_code.cpp","first_line":8,"table":)" + kTable + "}");
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_EQ(tables[0].path, "/d/f_0_0/output_code.cpp");
  EXPECT_EQ(found("f_0_0/output_code.cpp:13", tables).matches.size(), 1u);
  EXPECT_THAT(line_table_of_dump("k.json", "{"), IsEmpty());
}

}  // namespace
}  // namespace suture::toolbox
