#include "toolbox/logs/log_renderer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "recorded_events.h"
#include "toolbox/logs/render.h"

namespace suture::toolbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

struct Rendered {
  explicit Rendered(std::string_view logs) : renderer(*parse_log_settings(logs), seed_source()) {}
  std::vector<std::string> operator()(const std::string& line) {
    std::vector<std::string> texts;
    for (const LogLine& each : renderer.render(line)) texts.push_back(each.text);
    return texts;
  }
  LogRenderer renderer;
};

TEST(LogRenderer, a_graph_break_shows_place_reason_explanation_hints_and_the_expression) {
  Rendered logs("graph_breaks");
  EXPECT_THAT(logs(graph_break(0, 0)),
              ElementsAre("Graph break in user code at prog.py:21\n"
                          "Graph Break Reason: Data-dependent branching (SB101)\n"
                          "Explanation: Which way `y.sum() > 0` goes depends on values.\n"
                          "Hint: Use np.where.\n"
                          "Hint: Test x.shape.\n"
                          "    21 |     if y.sum() > 0:\n"
                          "       |        ^^^^^^^^^^^"));
}

TEST(LogRenderer, the_same_break_again_is_one_line_at_powers_of_two) {
  Rendered logs("graph_breaks");
  logs(graph_break(0, 0));
  EXPECT_THAT(logs(graph_break(0, 1)),
              ElementsAre("Same graph break again at prog.py:21 (2 times so far): Data-dependent branching"));
  EXPECT_THAT(logs(graph_break(0, 2)), IsEmpty());
  EXPECT_THAT(logs(graph_break(0, 3)), ElementsAre(HasSubstr("(4 times so far)")));
  logs(graph_break(0, 4));
  auto rest = logs.renderer.finish();
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].text, "1 repeat of 1 graph break not shown.");
  EXPECT_THAT(logs.renderer.finish(), IsEmpty());
}

TEST(LogRenderer, a_recompile_names_the_function_and_every_failed_guard) {
  Rendered logs("recompiles");
  EXPECT_THAT(logs(recompile(0, 1, "f", "0/0: array 'x' size mismatch at index 0. expected 32, actual 48")),
              ElementsAre("Recompiling function f in prog.py:19\n"
                          "    triggered by the following guard failure(s):\n"
                          "    - 0/0: array 'x' size mismatch at index 0. expected 32, actual 48\n"
                          "    To stop it: `suture.mark_dynamic(x, 1)` before the first call"));
  Rendered verbose("recompiles_verbose");
  EXPECT_THAT(verbose(recompile(0, 1, "f", "0/0: x")), ElementsAre(HasSubstr("    - 0/0: something else")));
}

TEST(LogRenderer, guards_that_were_counted_show_nanoseconds_tests_and_failures_and_say_what_a_source_is) {
  Rendered logs("guards");
  logs(frame_start(0, 0, "f"));
  using Strings = std::vector<std::string>;
  const auto text = logs(to_json_line(Event(EventId::kGuardCosts, {0, 0, 0})
                                          .set("guards", Strings{"type(m) is M", "m.w.ndim == 1", "a < b"})
                                          .set("sources", Strings{"m", "m.w", ""})
                                          .set("origins", Strings{"argument", "argument", ""})
                                          .set("kinds", Strings{"type", "rank", "shape"})
                                          .set("ns", Strings{"3.0", "12.5", ""})
                                          .set("tested", Strings{"7", "6", "1"})
                                          .set("failures", Strings{"1", "5", "0"})
                                          .set("hits", int64_t{1})));
  EXPECT_THAT(text, ElementsAre("Guards of f (prog.py:19), entry 0, after 1 hit: 3 guards, 15.5 ns\n"
                                "+- argument m\n"
                                "|  type        type(m) is M [   3.0 ns, 7 tests, 1 failed]\n"
                                "|  +- m.w\n"
                                "|  |  rank        m.w.ndim == 1 [  12.5 ns, 6 tests, 5 failed]\n"
                                "+- (sizes)\n"
                                "|  shape       a < b [1 test, 0 failed]"));
}

TEST(LogRenderer, assembly_of_kernels_stands_under_their_ops_and_lines_whoever_disassembled_it) {
  Rendered logs("asm");
  logs(frame_start(0, 0, "f"));
  logs(kernel_source(0, 0, "cpp_fused_sin_0"));
  const auto assembly = [](const std::string& text, const std::string& message) {
    return to_json_line(Event(EventId::kKernelAssembly, {0, 0, 1})
                            .set("graph", std::string("g"))
                            .set("text", text)
                            .set("message", message));
  };
  EXPECT_THAT(
      logs(assembly("\nhelper:\n  0:\tret\n\ncpp_fused_sin_0:\n  4:\tret\n", "")),
      ElementsAre("# Assembly of graph g of f (prog.py:19)\n\nhelper:\n  0:\tret\n\n# fuses add,gt,sin,sum\n"
                  "# lines prog.py:20,prog.py:21\ncpp_fused_sin_0:\n  4:\tret"));
  EXPECT_THAT(
      logs(assembly("0000000000001130 <cpp_fused_sin_0>:\n  1130:\tret", "")),
      ElementsAre("# Assembly of graph g of f (prog.py:19)\n# fuses add,gt,sin,sum\n"
                  "# lines prog.py:20,prog.py:21\n0000000000001130 <cpp_fused_sin_0>:\n  1130:\tret"));
  EXPECT_THAT(logs(assembly("", "objdump was not found")),
              ElementsAre("# No assembly of graph g of f (prog.py:19): objdump was not found"));
}

TEST(LogRenderer, the_cost_of_a_recompile_follows_when_it_is_known_once_and_for_recompiles_only) {
  Rendered logs("recompiles,recompiles_verbose");
  EXPECT_THAT(logs(frame_done(0, 0, "f", 9.5)), IsEmpty());
  logs(recompile(0, 1, "f", "0/0: x"));
  EXPECT_THAT(logs(frame_done(1, 1, "g", 9.5)), IsEmpty());
  EXPECT_THAT(logs(frame_done(0, 1, "f", 12.34)),
              ElementsAre(StartsWith("Recompiled function f in prog.py:19: 12.3 ms"),
                          StartsWith("Recompiled function f in prog.py:19: 12.3 ms")));
  EXPECT_THAT(logs(frame_done(0, 1, "f", 12.34)), IsEmpty());
}

TEST(LogRenderer, guards_are_a_tree_of_sources_with_the_user_line) {
  Rendered logs("guards");
  logs(frame_start(0, 0, "f"));
  auto text = logs(guards_built(0, 0));
  ASSERT_EQ(text.size(), 1u);
  EXPECT_THAT(text[0], StartsWith("Guards of f (prog.py:19), entry 0: 3 guards\n+- x\n|  array"));
  EXPECT_THAT(text[0],
              HasSubstr("|  +- x.shape\n|  |  +- x.shape[0]\n|  |  |  size        x.shape[0] == 32"));
  EXPECT_THAT(text[0], HasSubstr("# prog.py:20  y = np.sin(x) + 1"));
  EXPECT_THAT(text[0], HasSubstr("\n+- n\n|  constant    n == 3.0"));
}

TEST(LogRenderer, output_code_starts_with_the_path_and_holds_signature_and_text) {
  Rendered logs("output_code");
  logs(frame_start(0, 0, "f"));
  EXPECT_THAT(
      logs(kernel_source(0, 0, "cpp_fused_add_gt_sin_sum_0")),
      ElementsAre("// Output code written to: /cache/graph_0.cpp\n// Graph graph_0 of f (prog.py:19)\n"
                  "// cpp_fused_add_gt_sin_sum_0 = (const double* x, double* y)\nextern \"C\" int k;\n"));
}

TEST(LogRenderer, graph_code_and_compile_times_name_the_function) {
  Rendered logs("graph_code,compile_times");
  logs(frame_start(0, 0, "f"));
  EXPECT_THAT(logs(graph_captured(0, 0, {"np.sin"}, {"20"})),
              ElementsAre("# Graph graph_0 of f (prog.py:19), 1 op\ndef forward(x):\n    return (x,)\n"));
  EXPECT_THAT(logs(frame_done(0, 0, "f", 40)),
              ElementsAre(HasSubstr("Compile Times of f (prog.py:19), entry 0: 40.0 ms\n"
                                    "  capture               20.00 ms")));
}

TEST(LogRenderer, skips_limits_and_defects_are_visible_without_any_setting) {
  LogRenderer logs(*parse_log_settings(""), seed_source());
  auto skip = line_of(Event(EventId::kFrameSkipped, {3, 0, 0})
                          .set("function", std::string("g"))
                          .set("reason_id", std::string("SB501"))
                          .set("reason", std::string("Generator or coroutine"))
                          .set("explanation", std::string("g is a generator."))
                          .set("file", std::string("prog.py"))
                          .set("line", int64_t{7}));
  auto lines = logs.render(skip);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].level, Level::kWarning);
  EXPECT_EQ(lines[0].logger, "suture.capture");
  EXPECT_EQ(lines[0].text,
            "g (prog.py:7) runs in the interpreter: Generator or coroutine (SB501). g is a generator.");
  EXPECT_THAT(logs.render(skip), IsEmpty()) << "said once";
  auto error = line_of(Event(EventId::kInternalError, {3, 0, 0})
                           .set("function", std::string("g"))
                           .set("step", std::string("schedule"))
                           .set("message", std::string("law broken")));
  ASSERT_EQ(logs.render(error).size(), 1u);
  EXPECT_THAT(logs.render(graph_break(0, 0)), IsEmpty());
}

TEST(LogRenderer, a_function_without_array_work_is_no_warning) {
  LogRenderer logs(*parse_log_settings(""), seed_source());
  auto skip = Event(EventId::kFrameSkipped, {3, 0, 0})
                  .set("function", std::string("g"))
                  .set("severity", std::string("note"));
  EXPECT_THAT(logs.render(line_of(skip)), IsEmpty());
  LogRenderer info(*parse_log_settings("capture"), seed_source());
  EXPECT_EQ(info.render(line_of(skip)).size(), 1u);
}

TEST(LogRenderer, what_is_warned_of_without_any_setting_is_what_the_event_table_shows) {
  std::set<EventId> warned, shown;
  for (const ComponentMessage& message : component_messages())
    if (message.lowest >= Level::kWarning) warned.insert(message.event);
  for (const EventInfo& event : all_events())
    if (event.shown == Visibility::kShown) shown.insert(event.id);
  EXPECT_EQ(warned, shown);
}

TEST(LogRenderer, minus_component_hides_its_warnings) {
  LogRenderer logs(*parse_log_settings("-cache"), seed_source());
  auto trouble =
      Event(EventId::kCacheTrouble, {}).set("path", std::string("/x")).set("message", std::string("full"));
  EXPECT_THAT(logs.render(line_of(trouble)), IsEmpty());
}

TEST(LogRenderer, trouble_with_the_cache_is_told_once_per_reason) {
  LogRenderer logs(*parse_log_settings(""), seed_source());
  const auto told = [&](const char* message) {
    auto trouble =
        Event(EventId::kCacheTrouble, {}).set("path", std::string("/x")).set("message", std::string(message));
    return logs.render(line_of(trouble)).size();
  };
  EXPECT_EQ(told("/x is full"), 1u);
  EXPECT_EQ(told("/x is full"), 0u);
  EXPECT_EQ(told("/x belongs to another user"), 1u);
}

TEST(LogRenderer, text_of_programs_cannot_steer_the_terminal) {
  Rendered logs("recompiles");
  auto texts = logs(recompile(0, 1, "f\x1b[31m", "0/0: value \x1b]0;title\x07"));
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_THAT(texts[0], Not(HasSubstr("\x1b")));
  EXPECT_THAT(texts[0], HasSubstr("f\\x1b[31m"));
}

TEST(LogRenderer, lines_that_are_not_events_say_nothing) {
  Rendered logs("+all");
  EXPECT_THAT(logs("{\"schema\":1,\"suture\":\"0.1\"}"), IsEmpty());
  EXPECT_THAT(logs("{\"event\":\"graph_br"), IsEmpty());
  EXPECT_THAT(logs("[]"), IsEmpty());
}

TEST(LogRenderer, filters_choose_by_function_file_and_id_and_never_hide_warnings) {
  const auto shown = [](std::string_view settings) {
    LogRenderer logs(*parse_log_settings(settings), seed_source());
    logs.render(frame_start(0, 0, "f"));
    logs.render(frame_start(1, 0, "g"));
    std::string out;
    for (const std::string& line :
         {graph_captured(0, 0, {"np.sin"}, {"20"}), graph_captured(1, 0, {"np.cos"}, {"20"})})
      for (const LogLine& each : logs.render(line)) out += each.compile_id + " ";
    return out;
  };
  EXPECT_EQ(shown("graph_code"), "0/0 1/0 ");
  EXPECT_EQ(shown("graph_code,@function=f"), "0/0 ");
  EXPECT_EQ(shown("graph_code,@function=f,@function=g*"), "0/0 1/0 ");
  EXPECT_EQ(shown("graph_code,@file=prog.py,@id=1"), "1/0 ");
  EXPECT_EQ(shown("graph_code,@id=1/0"), "1/0 ");
  EXPECT_EQ(shown("graph_code,@file=other.py"), "");
  EXPECT_EQ(shown("graph_code,@function=f,@id=1"), "") << "different kinds must all hold";
  LogRenderer logs(*parse_log_settings("@function=nobody"), seed_source());
  EXPECT_EQ(logs.render(line_of(Event(EventId::kInternalError, {3, 0, 0}).set("function", std::string("h"))))
                .size(),
            1u);
}

TEST(LogRenderer, kernel_code_is_one_record_per_kernel) {
  LogRenderer logs(*parse_log_settings("kernel_code"), nullptr);
  const std::string code = "// k_0: add\nint k_0;\n// k_1: sum\nint k_1;\n";
  auto lines = logs.render(line_of(Event(EventId::kKernelSource, {0, 0, 0})
                                       .set("graph", std::string("g"))
                                       .set("kernels", std::vector<std::string>{"k_0", "k_1"})
                                       .set("code", code)));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_THAT(lines[0].text, ::testing::EndsWith("// k_0: add\nint k_0;\n"));
  EXPECT_THAT(lines[1].text, ::testing::EndsWith("// k_1: sum\nint k_1;\n"));
}

TEST(LogRenderer, quotes_come_from_the_event_so_that_a_trace_reads_like_the_live_log) {
  Rendered logs("graph_breaks");
  auto text = logs(line_of(Event(EventId::kGraphBreak, {0, 0, 0})
                               .set("file", std::string("gone.py"))
                               .set("line", int64_t{7})
                               .set("column", int64_t{4})
                               .set("end_column", int64_t{5})
                               .set("source", std::string("    x = \x1b[31m1"))));
  ASSERT_EQ(text.size(), 1u);
  EXPECT_THAT(text[0], HasSubstr("     7 |     x = \\x1b[31m1\n       |     ^"));
}

}  // namespace
}  // namespace suture::toolbox
