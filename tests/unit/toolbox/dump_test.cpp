#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/sha256.h"
#include "toolbox/dump/dump_files.h"
#include "toolbox/dump/dump_writer.h"
#include "toolbox/dump/recorded_run.h"
#include "unit/toolbox/recorded_events.h"

namespace suture::toolbox {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class DumpTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "suture_dump_test_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    ASSERT_EQ(writer_.open(root_ / "dump"), "");
  }
  static Event done(int frame) {
    return Event(EventId::kFrameDone, {frame, 0, 0}).set("function", std::string("f"));
  }
  static Event replay(int frame) {
    return Event(EventId::kReplay, {frame, 0, 0}).set("conditions", std::string("divide by zero"));
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string read(const std::string& name) const {
    std::ifstream in(root_ / "dump" / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void add(Event event) { ASSERT_EQ(writer_.add_line(line_of(std::move(event))), ""); }

  static Event inputs() {
    return Event(EventId::kGraphInputs, {0, 0, 0})
        .set("graph", std::string("f"))
        .set("names", Strings{"x", "n"})
        .set("kinds", Strings{"array", "py_float"})
        .set("dtypes", Strings{"float64", "float64"})
        .set("itemsizes", Strings{"8", "8"})
        .set("shapes", Strings{"3,2", ""})
        .set("strides", Strings{"-16,8", ""})
        .set("values", Strings{"", "0x1.8p+1"})
        .set("symbols", Strings{"s0"})
        .set("symbol_values", Strings{"3"})
        .set("parameters", Strings{"s0"});
  }
  static Event kernels(const std::string& plan) {
    return Event(EventId::kKernelSource, {0, 0, 0})
        .set("code", std::string("// kernels\n"))
        .set("plan", plan);
  }
  static Event captured() {
    return Event(EventId::kGraphCaptured, {0, 0, 0})
        .set("code", std::string("def forward(x, n, s0):\n    return (x,)\n"));
  }

  fs::path root_;
  DumpWriter writer_{{.prelude = "// prelude\n",
                      .build_flags = "-O3",
                      .facts = "",
                      .limit = 2,
                      .source_line = seed_source()}};
};

constexpr const char* kPlan =
    R"({"symbols":["s0"],"buffers":[)"
    R"({"kind":"input","input":0,"base":-1,"class":"array","dtype":"float64","c_type":"double","typestr":"<f8","itemsize":8,"shape":["s0","2"],"strides":["2","1"],"offset":"0"},)"
    R"({"kind":"output","input":-1,"base":-1,"class":"array","dtype":"float64","c_type":"double","typestr":"<f8","itemsize":8,"shape":["s0"],"strides":["1"],"offset":"0"}],)"
    R"("steps":[{"kernel":"k0","numpy":"","buffers":[0,1],"sizes":["s0"],"result":-1}],"outputs":[1],"written":[]})";

TEST_F(DumpTest, names_become_safe_and_stay_readable) {
  EXPECT_EQ(safe_name("outer.<locals>.f"), "f");
  EXPECT_EQ(safe_name("../../etc/passwd"), "_etc_passwd");
  EXPECT_EQ(safe_name(""), "frame");
  EXPECT_EQ(safe_name(".."), "__");
  EXPECT_EQ(safe_name(std::string(300, 'n')).size(), 60u);
}

TEST_F(DumpTest, files_appear_as_their_events_arrive) {
  ASSERT_EQ(writer_.add_line(frame_start(0, 0, "f")), "");
  EXPECT_FALSE(fs::exists(root_ / "dump/f_0_0/graph_readable.py"));
  add(captured());
  EXPECT_THAT(read("f_0_0/graph_readable.py"), HasSubstr("def forward"));
}

TEST_F(DumpTest, the_manifest_holds_digests_of_what_is_there) {
  ASSERT_EQ(writer_.add_line(frame_start(0, 0, "f")), "");
  add(captured());
  ASSERT_EQ(writer_.finish(), "");
  EXPECT_THAT(read("index.json"), HasSubstr(to_hex(sha256(read("f_0_0/graph_readable.py")))));
}

TEST_F(DumpTest, main_binds_symbols_and_lays_out_inputs_with_negative_strides) {
  ASSERT_EQ(writer_.add_line(frame_start(0, 0, "f")), "");
  add(inputs());
  add(kernels(kPlan));
  const std::string code = read("f_0_0/output_code.cpp");
  EXPECT_THAT(code, HasSubstr("g++ -O3 -include ../prelude.h output_code.cpp"));
  EXPECT_THAT(code, HasSubstr("const int64_t s0 = 3;"));
  EXPECT_THAT(code, HasSubstr("dump::memory(48)"));
  EXPECT_THAT(code, HasSubstr("memory0 + 32"));
  EXPECT_THAT(code, HasSubstr("status |= k0(buffers, sizes);"));
}

TEST_F(DumpTest, the_line_table_says_where_the_kernels_begin_in_the_dumped_file) {
  ASSERT_EQ(writer_.add_line(frame_start(0, 0, "f")), "");
  const Event event = Event(EventId::kKernelSource, {0, 0, 0}).set("code", std::string("// k0: sin\n"));
  add(Event(event).set("lines", std::string(R"({"schema":"suture.kernel_lines/1"})")));
  const std::string code = read("f_0_0/output_code.cpp"), table = read("f_0_0/kernel_lines.json");
  const auto before =
      std::count(code.begin(), code.begin() + static_cast<int64_t>(code.find("// k0: sin")), '\n');
  EXPECT_EQ(table, R"({"file":"output_code.cpp","first_line":)" + std::to_string(before + 1) +
                       R"(,"table":{"schema":"suture.kernel_lines/1"}})" + "\n");
}

TEST_F(DumpTest, a_line_table_that_is_no_json_gives_no_file) {
  ASSERT_EQ(writer_.add_line(frame_start(0, 0, "f")), "");
  add(Event(EventId::kKernelSource, {0, 0, 0})
          .set("code", std::string("// k\n"))
          .set("lines", std::string("{\"a\":")));
  EXPECT_FALSE(fs::exists(root_ / "dump" / "f_0_0" / "kernel_lines.json"));
}

TEST_F(DumpTest, plans_that_do_not_fit_together_give_no_main) {
  ASSERT_EQ(writer_.add_line(frame_start(0, 0, "f")), "");
  add(inputs());
  add(kernels(R"({"symbols":[],"buffers":[],"steps":[],"outputs":[7],"written":[]})"));
  EXPECT_THAT(read("f_0_0/output_code.cpp"), HasSubstr("The launch plan is not known"));
}

TEST_F(DumpTest, paths_of_a_recorded_run_stay_inside) {
  ASSERT_EQ(writer_.add_line(frame_start(0, 0, "f")), "");
  add(captured());
  add(inputs());
  add(Event(EventId::kGraphRun, {0, 0, 0})
          .set("graph", std::string("f"))
          .set(
              "inputs",
              Strings{
                  R"({"kind":"array","shape":[1],"strides":[8],"memory_bytes":8,"file":"inputs/../../../etc/x"})"})
          .set("outputs", Strings{})
          .set("numpy_steps", Strings{}));
  EXPECT_THAT(read("f_0_0/graph_runnable.py"), Not(HasSubstr("etc/x")));
}

TEST_F(DumpTest, compiles_beyond_the_limit_are_counted) {
  for (int frame = 0; frame < 5; ++frame) ASSERT_EQ(writer_.add_line(frame_start(frame, 0, "f")), "");
  ASSERT_EQ(writer_.finish(), "");
  EXPECT_THAT(read("index.json"), HasSubstr("\"compiles_not_written\":3"));
}

TEST_F(DumpTest, events_of_calls_are_not_kept) {
  ASSERT_EQ(writer_.add_line(frame_start(0, 0, "f")), "");
  add(replay(0));
  add(done(0));
  for (int call = 0; call < 100; ++call) add(replay(0));
  add(Event(EventId::kGraphRun, {0, 0, 0}));
  const std::string lines = read("f_0_0/events.jsonl");
  EXPECT_EQ(std::ranges::count(lines, '\n'), 4) << lines;  // start, the replay before the end, end, run
}

TEST(DumpWriter, files_of_old_compiles_stay_as_they_are) {
  std::string root = (fs::temp_directory_path() / "suture_dump_test_XXXXXX").string();
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  DumpWriter writer(
      {.prelude = "", .build_flags = "", .facts = "", .limit = 1000, .source_line = seed_source()});
  ASSERT_EQ(writer.open(root + "/dump"), "");
  const auto add = [&](Event event) { ASSERT_EQ(writer.add_line(line_of(std::move(event))), ""); };
  const auto lines = [&] {
    std::ifstream in(root + "/dump/f_0_0/events.jsonl");
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  for (int frame = 0; frame < 200; ++frame) {
    ASSERT_EQ(writer.add_line(frame_start(frame, 0, "f")), "");
    add(Event(EventId::kFrameDone, {frame, 0, 0}).set("function", std::string("f")));
  }
  const std::string before = lines();
  EXPECT_NE(before, "");
  add(Event(EventId::kGraphRun, {0, 0, 0}));
  EXPECT_EQ(lines(), before);
  fs::remove_all(root);
}

TEST_F(DumpTest, the_page_escapes_what_programs_are_called) {
  ASSERT_EQ(writer_.add_line(frame_start(0, 0, "<img src=x onerror=alert(1)>\x1b[31m")), "");
  ASSERT_EQ(writer_.finish(), "");
  const std::string page = read("index.html");
  EXPECT_THAT(page, HasSubstr("&lt;img src=x"));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
}

TEST_F(DumpTest, trouble_is_told_once_and_costs_the_file) {
  ASSERT_EQ(writer_.add_line(frame_start(0, 0, "f")), "");
  std::ofstream(root_ / "dump/f_0_0") << "a file where the directory belongs";
  EXPECT_THAT(writer_.add_line(line_of(captured())), HasSubstr("f_0_0"));
  EXPECT_EQ(writer_.add_line(line_of(captured())), "");
  EXPECT_EQ(writer_.finish(), "");
  EXPECT_THAT(read("index.json"), HasSubstr("\"troubles\":[\"f_0_0"));
}

TEST_F(DumpTest, foreign_lines_are_ignored) {
  EXPECT_EQ(writer_.add_line("{\"schema\": 1}"), "");
  EXPECT_EQ(writer_.add_line("no json"), "");
}

}  // namespace
}  // namespace suture::toolbox
