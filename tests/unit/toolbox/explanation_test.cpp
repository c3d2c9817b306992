#include "toolbox/explain/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_events.h"
#include "toolbox/model/json_reader.h"
#include "toolbox/toolbox.h"

namespace suture::toolbox {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kStatus =
    R"({"function":"f","file":"prog.py","line":19,"backend":"native","numerics":"exact","frames":[
  {"frame":0,"function":"f","file":"prog.py","line":19,"calls":3},
  {"frame":1,"function":"f.__resume_at_88_2","file":"prog.py","line":19,"calls":3}]})";

TEST(Explanation, counts_graphs_breaks_and_all_ops_of_the_seed) {
  Explanation explanation(seed_events(), {}, seed_source());
  EXPECT_EQ(explanation.graphs().size(), 2u);
  EXPECT_EQ(explanation.model().breaks.size(), 1u);
  EXPECT_EQ(explanation.op_count(), 7u);
}

TEST(Explanation, a_break_before_any_op_is_one_break_and_no_graph) {
  Explanation explanation({frame_start(0, 0, "f"), graph_break(0, 0)}, {}, seed_source());
  EXPECT_EQ(explanation.graphs().size(), 0u);
  EXPECT_EQ(explanation.model().breaks.size(), 1u);
}

TEST(Explanation, one_place_is_one_break_with_the_number_of_compiles_that_met_it) {
  Explanation explanation({graph_break(0, 0), graph_break(0, 0), graph_break(0, 1)}, {}, seed_source());
  ASSERT_EQ(explanation.model().breaks.size(), 1u);
  EXPECT_EQ(explanation.model().breaks[0].hits, 2) << "attempts of one compile are one meeting";
}

TEST(Explanation, a_recompiled_frame_counts_as_one_graph_and_lists_the_reason) {
  Strings events = seed_events();
  events.push_back(recompile(0, 1, "f", "0/0: array 'x' size mismatch at index 0. expected 32, actual 48"));
  events.push_back(graph_captured(0, 1, {"np.sin", "+", "ndarray.sum", ">"}, {"20", "20", "21", "21"}));
  events.push_back(frame_done(0, 1, "f", 30));
  Explanation explanation(events, {}, seed_source());
  EXPECT_EQ(explanation.graphs().size(), 2u);
  EXPECT_EQ(explanation.graphs()[0].compile->id, "0/1");
  EXPECT_THAT(explanation_text(explanation),
              HasSubstr("Recompiles:\n  f (prog.py:19), 30.0 ms\n    - 0/0: array 'x'"));
}

TEST(Explanation, text_has_the_familiar_labels) {
  auto text = *explain_text(seed_events(), kStatus, seed_source());
  EXPECT_THAT(
      text,
      StartsWith("Graph Count: 2\nGraph Break Count: 1\nOp Count: 7\nBreak Reasons:\n  Break Reason 1:\n"
                 "    Reason: Data-dependent branching (SB101)\n"));
  EXPECT_THAT(text, HasSubstr("prog.py:21 in f, met in 1 compile, crossed 3 times\n"));
  EXPECT_THAT(text, HasSubstr("    if y.sum() > 0:\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "Ops per Graph:\n  Ops 1:  # graph_0 of f (prog.py:19)\n    np.sin                   # line 20\n"));
  EXPECT_THAT(text, HasSubstr("  Ops 2:  # graph_1 of f.__resume_at_88_2"));
  EXPECT_THAT(text, HasSubstr("Out Guards:\n  Guard 1: type(x) is np.ndarray  # f, prog.py:20\n"));
  EXPECT_THAT(
      text,
      HasSubstr("Kernels:\n  cpp_fused_add_gt_sin_sum_0  # graph_0 of f\n    ops: add, gt, sin, sum\n"));
  EXPECT_THAT(text, HasSubstr("Compile Times: 60.0 ms\n"));
}

TEST(Explanation, json_has_a_schema_and_the_same_facts) {
  auto json = *explain_json(seed_events(), kStatus, seed_source());
  simdjson::dom::parser parser;
  JsonObject root;
  ASSERT_EQ(parser.parse(simdjson::padded_string(json)).get(root), simdjson::SUCCESS);
  EXPECT_EQ(json_str(root, "schema"), "suture.explain/1");
  EXPECT_EQ(json_str(root, "function"), "f");
  EXPECT_EQ(json_int(root, "graph_count"), 2);
  EXPECT_EQ(json_int(root, "graph_break_count"), 1);
  EXPECT_EQ(json_int(root, "op_count"), 7);
  json_objects(root, "break_reasons", [](const JsonObject& item) {
    EXPECT_EQ(json_str(item, "source"), "    if y.sum() > 0:");
    EXPECT_EQ(json_list(item, "resume"), (Strings{"__resume_at_88_2", "__resume_at_98_3"}));
    EXPECT_EQ(json_int(item, "crossings"), 3);
  });
  json_objects(root, "kernels",
               [](const JsonObject& item) { EXPECT_FALSE(json_list(item, "lines").empty()); });
}

TEST(Explanation, a_status_that_is_not_json_is_an_error_and_a_broken_line_is_not) {
  EXPECT_FALSE(explain_json({}, "{", nullptr).ok());
  Strings events = seed_events();
  events.push_back("{\"event\":\"graph_br");
  Explanation explanation(events, {}, seed_source());
  EXPECT_EQ(explanation.model().unreadable_lines, 1);
  EXPECT_EQ(explanation.op_count(), 7u);
}

}  // namespace
}  // namespace suture::toolbox
