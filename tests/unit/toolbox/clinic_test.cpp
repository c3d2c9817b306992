#include "toolbox/clinic/clinic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recorded_events.h"
#include "toolbox/toolbox.h"

namespace suture::toolbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<CallableStatus> statuses(double time_ms) {
  FrameStatus root;
  root.frame = 0;
  root.function = "f";
  root.file = "prog.py";
  root.line = 19;
  root.calls = 11;
  root.compiles = 1;
  root.time_ms = time_ms;
  root.compile_ms = 40;
  FrameStatus resume = root;
  resume.frame = 1;
  resume.function = "f.__resume_at_88_2";
  resume.compile_ms = 20;
  CallableStatus status;
  status.function = "f";
  status.file = "prog.py";
  status.line = 19;
  status.frames = {root, resume};
  return {status};
}

std::vector<CallableStatus> baseline(double time_ms) {
  auto out = statuses(time_ms);
  out[0].frames.resize(1);
  out[0].frames[0].compiles = 0;
  out[0].frames[0].calls = 10;
  return out;
}

Report report_of(Strings events, RunFacts facts = {}, double time_ms = 10) {
  return examine(Explanation(std::move(events), statuses(time_ms), seed_source()), std::move(facts));
}

TEST(Clinic, a_break_is_a_warning_with_its_measured_cost_and_crossings) {
  Report report = report_of(seed_events());
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding& finding = report.findings[0];
  EXPECT_EQ(finding.station, "breaks");
  EXPECT_EQ(finding.id, "SB101");
  EXPECT_EQ(finding.severity, Severity::kWarning);
  EXPECT_EQ(finding.line, 21);
  EXPECT_EQ(finding.cost_ms, 20) << "compile time of the resume function";
  EXPECT_THAT(finding.evidence, ElementsAre("met in 1 compile; 1 graph compiled after it, 20.0 ms",
                                            "crossed 11 times at run time"));
  EXPECT_EQ(report.verdict, "findings");
  EXPECT_EQ(report.exit_code, 1);
}

TEST(Clinic, a_break_the_program_asked_for_is_a_note) {
  std::string line = graph_break(0, 0);
  line.replace(line.find("SB101"), 5, "SB205");
  Report report = report_of({frame_start(0, 0, "f"), line});
  EXPECT_EQ(report.findings.at(0).severity, Severity::kNote);
  EXPECT_EQ(report.verdict, "healthy");
  EXPECT_EQ(report.exit_code, 0);
}

TEST(Clinic, recompiles_are_warm_up_at_first_and_a_warning_from_the_third_on) {
  Strings events = {frame_start(0, 0, "f")};
  auto add = [&](int n) {
    events.push_back(recompile(0, n, "f", "0/0: array 'x' size mismatch at index 1. expected 32, actual 48"));
    events.push_back(frame_done(0, n, "f", 30));
  };
  add(1);
  add(2);
  Report few = report_of(events);
  EXPECT_EQ(few.findings.at(0).severity, Severity::kNote);
  EXPECT_EQ(few.findings.at(0).cost_ms, 60);
  add(3);
  Report many = report_of(events);
  EXPECT_EQ(many.findings.at(0).severity, Severity::kWarning);
  EXPECT_THAT(many.findings.at(0).advice.at(0), HasSubstr("suture.mark_dynamic(x, 1)"));
}

TEST(Clinic, functions_are_compared_with_numpy_per_steady_call) {
  RunFacts facts;
  facts.baseline = baseline(40);
  Report report = report_of(seed_events(), facts, 10);
  ASSERT_EQ(report.functions.size(), 1u);
  const FunctionRow& row = report.functions[0];
  EXPECT_EQ(row.graphs, 2);
  EXPECT_EQ(row.ops, 7);
  EXPECT_EQ(row.kernels, 2);
  EXPECT_EQ(row.breaks, 1);
  EXPECT_DOUBLE_EQ(row.call_ms, 1.0);
  EXPECT_DOUBLE_EQ(row.numpy_call_ms, 4.0);
  EXPECT_DOUBLE_EQ(row.speedup(), 4.0);
}

TEST(Clinic, slower_than_numpy_is_a_finding_of_the_kernel_station) {
  RunFacts facts;
  facts.baseline = baseline(5);
  Report report = report_of({frame_start(0, 0, "f")}, facts, 10);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].id, "slower_than_numpy");
  EXPECT_DOUBLE_EQ(report.findings[0].cost_ms, 5.5);
}

TEST(Clinic, exit_code_follows_the_program_and_fail_on) {
  RunFacts failed;
  failed.program_exit_code = 7;
  EXPECT_EQ(report_of(seed_events(), failed).exit_code, 3);
  EXPECT_EQ(report_of(seed_events(), failed).verdict, "failed");
  RunFacts never;
  never.fail_on = "never";
  EXPECT_EQ(report_of(seed_events(), never).exit_code, 0);
  RunFacts errors;
  errors.fail_on = "error";
  EXPECT_EQ(report_of(seed_events(), errors).exit_code, 0);
  RunFacts interrupted;
  interrupted.interrupted = true;
  EXPECT_EQ(report_of({}, interrupted).exit_code, 130);
  EXPECT_EQ(report_of({}).exit_code, 0);
}

TEST(Clinic, findings_come_most_costly_first_and_errors_before_all) {
  Strings events = seed_events();
  events.push_back(line_of(Event(EventId::kInternalError, {5, 0, 0})
                               .set("function", std::string("g"))
                               .set("step", std::string("schedule"))
                               .set("message", std::string("law broken"))));
  Report report = report_of(events);
  EXPECT_EQ(report.findings.at(0).station, "crash");
  EXPECT_EQ(report.findings.at(1).station, "breaks");
}

TEST(Clinic, text_walks_the_stations_in_order) {
  std::string facts = R"({"program":"prog.py","wall_ms":120.0,"baseline_ms":80.0})";
  std::string status =
      R"([{"function":"f","file":"prog.py","line":19,"frames":[{"frame":0,"function":"f","file":"prog.py","line":19,"calls":2}]}])";
  auto json = clinic_json(seed_events(), status, facts, seed_source());
  ASSERT_TRUE(json.ok());
  auto text = clinic_text(*json);
  ASSERT_TRUE(text.ok());
  size_t breaks = text->find("\nStation 1, graph breaks"), recompiles = text->find("\nStation 2, recompiles"),
         kernels = text->find("\nStation 3, kernels");
  EXPECT_LT(breaks, recompiles);
  EXPECT_LT(recompiles, kernels);
  EXPECT_THAT(*text,
              HasSubstr("warning SB101 Graph break: Data-dependent branching\n    in f, prog.py:21\n"));
  EXPECT_THAT(
      *text,
      HasSubstr("  f: /cache/graph_0.cpp\n    cpp_fused_add_gt_sin_sum_0  # prog.py:20, prog.py:21\n"));
  EXPECT_THAT(*text, HasSubstr("verdict   findings\n"));
}

TEST(Clinic, facts_that_are_not_json_are_an_error) {
  EXPECT_FALSE(clinic_json({}, "", "nonsense", nullptr).ok());
}

}  // namespace
}  // namespace suture::toolbox
