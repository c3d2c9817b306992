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
  EXPECT_EQ(finding.station, Station::breaks);
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
  line.replace(line.find("warning"), 7, "note");
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

TEST(Clinic, a_function_that_runs_in_the_interpreter_is_neither_slower_nor_faster_than_numpy) {
  FunctionRow row;
  row.call_ms = 2;
  row.numpy_call_ms = 1;
  EXPECT_DOUBLE_EQ(row.speedup(), 0.5);
  row.skipped = true;
  EXPECT_EQ(row.speedup(), -1);
  row.graphs = 1;  // a part of it is compiled
  EXPECT_DOUBLE_EQ(row.speedup(), 0.5);
}

TEST(Clinic, slower_than_numpy_is_a_finding_of_the_kernel_station) {
  RunFacts facts;
  facts.baseline = baseline(5);
  Report report = report_of({frame_start(0, 0, "f")}, facts, 10);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].id, "slower_than_numpy");
  EXPECT_DOUBLE_EQ(report.findings[0].cost_ms, 5.5);
}

TEST(Clinic, a_slower_function_gets_the_cause_that_its_counters_show) {
  auto found = [](double extra_ms, int64_t replays) {
    std::vector<CallableStatus> ours = statuses(10 * (0.01 + extra_ms));  // ten steady calls
    ours[0].frames[0].replays = replays;
    RunFacts facts;
    facts.baseline = baseline(10 * 0.01);
    return examine(Explanation({frame_start(0, 0, "f")}, ours, seed_source()), facts).findings.at(0);
  };
  // Two frames, each entered once per call.
  EXPECT_EQ(found(0.015, 0).why,
            "A call enters 2 compiled regions and takes 15.00 us longer; entering one (guards, arguments, "
            "results) costs "
            "that much whatever is computed inside.");
  EXPECT_THAT(found(0.015, 0).advice,
              ElementsAre("Compile a larger function around it, or leave this one undecorated."));
  EXPECT_EQ(found(3, 0).why,
            "A call takes 3.0 ms longer, more than entering 2 compiled regions costs: the time is in the "
            "work itself, "
            "which is the kernels and the arrays made for them.");
  EXPECT_EQ(found(3, 11).why,
            "11 of 11 calls were computed twice, the second time under NumPy, for its warnings.");
  EXPECT_THAT(
      found(3, 0).evidence,
      ElementsAre("3.0 ms per call compiled, 10.00 us per call under NumPy, 11 calls",
                  "0 kernels, 0 graph breaks, 0 replays; one run of each reads 0 bytes and writes 0"));
}

TEST(Clinic, a_program_that_compiles_nothing_is_a_note) {
  auto found = [](std::vector<CallableStatus> statuses, RunFacts facts) {
    return examine(Explanation({}, std::move(statuses), nullptr), std::move(facts)).findings;
  };
  EXPECT_EQ(found({}, {}).at(0).what, "No function is compiled");
  EXPECT_EQ(found({}, {}).at(0).severity, Severity::kNote);
  auto uncalled = statuses(0);
  uncalled[0].frames[0].calls = 0;
  EXPECT_EQ(found(uncalled, {}).at(0).what, "No compiled function was called");
  EXPECT_TRUE(found({}, {.program_exit_code = 1}).empty()) << "it may have failed before";
  EXPECT_TRUE(found(statuses(1), {}).empty());
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
                               .set("reason_id", std::string("SB507"))
                               .set("step", std::string("schedule"))
                               .set("message", std::string("law broken"))
                               .set("hints", Strings{"Please report it."})));
  Report report = report_of(events);
  EXPECT_EQ(report.findings.at(0).station, Station::crash);
  EXPECT_THAT(report.findings.at(0).advice, ElementsAre("Please report it."));
  EXPECT_EQ(report.findings.at(1).station, Station::breaks);
}

TEST(Clinic, a_costly_note_comes_before_a_cheap_warning) {
  Strings events = seed_events();
  events.push_back(recompile(0, 1, "f", "0/0: array 'x' rank mismatch. expected 1, actual 2"));
  events.push_back(frame_done(0, 1, "f", 300));
  Report report = report_of(events);
  EXPECT_EQ(report.findings.at(0).id, "recompile");
  EXPECT_EQ(report.findings.at(0).severity, Severity::kNote);
  EXPECT_EQ(report.findings.at(1).severity, Severity::kWarning);
}

std::string output_bytecode(int frame, bool loop, int64_t line, Strings continuations, Strings frames) {
  return line_of(Event(EventId::kOutputBytecode, {frame, 0, 0})
                     .set("name", std::string("__transformed_code_0_for_f"))
                     .set("file", std::string("prog.py"))
                     .set("line", line)
                     .set("loop", loop)
                     .set("continuations", std::move(continuations))
                     .set("continuation_frames", std::move(frames))
                     .set("instructions", int64_t{40})
                     .set("transformed", int64_t{12}));
}

TEST(Clinic, bytecode_that_python_still_executes_is_a_note_with_its_continuations) {
  Strings events = seed_events();
  events.push_back(output_bytecode(0, false, 21, {"__resume_at_88_2", "__resume_at_98_3"}, {"1", "2"}));
  Report report = report_of(events);
  ASSERT_EQ(report.findings.size(), 2u);
  const Finding& finding = report.findings[1];
  EXPECT_EQ(finding.station, Station::bytecode);
  EXPECT_EQ(finding.id, "python_at_break");
  EXPECT_EQ(finding.severity, Severity::kNote);
  EXPECT_EQ(finding.line, 21);
  EXPECT_EQ(finding.what, "Python executes 12 instructions per call around the break at line 21");
  EXPECT_THAT(finding.evidence, ElementsAre("40 instructions of f, 12 in __transformed_code_0_for_f",
                                            "goes on in __resume_at_88_2: 11 calls, 1 per call of f",
                                            "goes on in __resume_at_98_3"));
}

TEST(Clinic, a_loop_that_python_runs_often_is_a_warning) {
  auto loop = [](int64_t iterations) {
    auto known = statuses(10);
    known[0].frames[1].function = "f.__iteration_at_20";
    known[0].frames[1].calls = iterations;
    Strings events = {frame_start(0, 0, "f"), output_bytecode(0, true, 22, {"__iteration_at_20"}, {"1"})};
    return examine(Explanation(events, known, nullptr), {}).findings.at(0);
  };
  EXPECT_EQ(loop(11 * 99).severity, Severity::kNote);
  EXPECT_EQ(loop(11 * 250).severity, Severity::kWarning);
  EXPECT_EQ(loop(11 * 250).id, "python_loop");
  EXPECT_EQ(loop(11 * 250).evidence.at(1), "goes on in __iteration_at_20: 2750 calls, 250 per call of f");
  EXPECT_EQ(loop(11 * 10000).evidence.at(1),
            "goes on in __iteration_at_20: 110000 calls, 10,000 per call of f");
}

TEST(Clinic, a_function_that_only_writes_back_what_it_changed_is_no_finding) {
  EXPECT_TRUE(report_of({frame_start(0, 0, "f"), output_bytecode(0, false, 0, {}, {})}).findings.empty());
}

TEST(Clinic, results_that_differ_are_errors_rounding_is_a_note_and_equal_ones_are_no_finding) {
  const auto found = [](double ulp, std::string mismatch) {
    RunFacts facts;
    facts.accuracy.push_back(
        {"f", "prog.py", 19, 3, 2, 1, {{"the reason", 1}}, ulp, 64, "result of call 2", std::move(mismatch)});
    return report_of({}, std::move(facts)).findings;
  };
  EXPECT_TRUE(found(0, "").empty());
  const Finding rounding = found(2, "").at(0);
  EXPECT_EQ(rounding.station, Station::accuracy);
  EXPECT_EQ(rounding.severity, Severity::kNote);
  EXPECT_EQ(rounding.what, "Up to 2 ULP away from NumPy's result");
  EXPECT_THAT(
      rounding.evidence,
      ElementsAre("greatest difference: result of call 2", "3 calls compared",
                  "1 of them with the arguments of the compiled run, as the run under NumPy came to others",
                  "1 call not compared: the reason"));
  EXPECT_EQ(found(65, "").at(0).severity, Severity::kWarning);
  EXPECT_EQ(found(0, "other dtype").at(0).severity, Severity::kError);
  EXPECT_EQ(found(0, "other dtype").at(0).why, "other dtype");
}

TEST(Clinic, a_break_whose_cause_is_a_finding_too_is_a_note) {
  auto called = [](int64_t cause_line) {
    return line_of(Event(EventId::kGraphBreak, {1, 0, 0})
                       .set("reason_id", std::string("SB206"))
                       .set("severity", std::string("warning"))
                       .set("file", std::string("prog.py"))
                       .set("line", int64_t{40})
                       .set("cause_id", std::string("SB101"))
                       .set("cause_file", std::string("prog.py"))
                       .set("cause_line", cause_line));
  };
  auto severity = [&](int64_t cause_line) {
    for (const Finding& finding : report_of({graph_break(0, 0), called(cause_line)}).findings)
      if (finding.id == "SB206") return finding.severity;
    return Severity::kError;
  };
  EXPECT_EQ(severity(21), Severity::kNote);
  EXPECT_EQ(severity(22), Severity::kWarning) << "the cause is in sight of nobody";
}

TEST(Clinic, a_skip_that_an_internal_error_caused_is_told_once) {
  Strings events = {frame_start(0, 0, "f"),
                    line_of(Event(EventId::kInternalError, {0, 0, 0})
                                .set("function", std::string("f"))
                                .set("reason_id", std::string("SB507"))
                                .set("step", std::string("loop"))),
                    line_of(Event(EventId::kFrameSkipped, {0, 0, 0})
                                .set("function", std::string("f"))
                                .set("reason_id", std::string("SB507"))
                                .set("station", std::string("crash"))
                                .set("severity", std::string("error")))};
  Report report = report_of(events);
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].what, "Internal error in loop");
}

TEST(Clinic, a_skip_goes_to_the_station_its_reason_names) {
  Report report = report_of({frame_start(0, 0, "f"), line_of(Event(EventId::kFrameSkipped, {0, 0, 0})
                                                                 .set("function", std::string("f"))
                                                                 .set("reason_id", std::string("SB509"))
                                                                 .set("station", std::string("kernels"))
                                                                 .set("severity", std::string("error")))});
  EXPECT_EQ(report.findings.at(0).station, Station::kernels);
  EXPECT_EQ(report.findings.at(0).severity, Severity::kError);
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

TEST(Clinic, stations_that_are_shown_are_numbered_without_gaps) {
  std::string facts =
      R"({"program":"prog.py","accuracy":[{"function":"f","file":"prog.py","line":1,"compared":2,"repeated":1,"ulp":1,"bound":64,
          "left_out":[{"why":"too many","calls":18}]}]})";
  std::string status =
      R"([{"function":"f","file":"prog.py","line":19,"frames":[{"frame":0,"function":"f","file":"prog.py","line":19,"calls":1}]},
          {"function":"g","file":"prog.py","line":29,"frames":[{"frame":1,"function":"g","file":"prog.py","line":29,"calls":4,
           "skipped":true,"reason":"a reason","time_ms":4,"steady_calls":4}]}])";
  auto json = clinic_json({}, status, facts, nullptr);
  ASSERT_TRUE(json.ok());
  const std::string text = clinic_text(*json).value();
  EXPECT_THAT(text, HasSubstr("\nStation 5, accuracy"));
  EXPECT_THAT(
      text,
      HasSubstr("    no time per call: the one call compiled; only calls that compile nothing are timed\n"));
  EXPECT_THAT(
      text,
      HasSubstr("g                              4      0      0          0       0          -     1.0 ms"));
  EXPECT_THAT(
      text,
      HasSubstr("results   2 calls compared with NumPy: at most 1 ULP away\n"
                "          1 of them with the arguments of the first run: the second one came to others\n"
                "          18 calls not compared: too many\n"));
}

TEST(Clinic, facts_that_are_not_json_are_an_error) {
  EXPECT_FALSE(clinic_json({}, "", "nonsense", nullptr).ok());
}

}  // namespace
}  // namespace suture::toolbox
