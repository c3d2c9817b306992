// Child processes: output and exit code come back, and nothing can hang us.
#include "toolchain/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace suture {
namespace {

ChildOutcome must_run(std::vector<std::string> argv, int timeout = 20) {
  auto outcome = run_child(argv, timeout);
  EXPECT_TRUE(outcome.ok());
  return outcome.ok() ? *outcome : ChildOutcome{};
}

TEST(ChildProcess, CollectsBothStreamsAndTheExitCode) {
  const ChildOutcome o = must_run({"sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(o.exit_code, 3);
  EXPECT_THAT(o.output, testing::AllOf(testing::HasSubstr("out\n"), testing::HasSubstr("err\n")));
}

TEST(ChildProcess, StdinIsEmpty) { EXPECT_EQ(must_run({"cat"}).exit_code, 0); }

TEST(ChildProcess, ArgumentsAreNotReadByAShell) {
  EXPECT_EQ(must_run({"echo", "$(id) *"}).output, "$(id) *\n");
}

TEST(ChildProcess, AMissingProgramIsExitCode127) { EXPECT_EQ(must_run({"/no/such/program"}).exit_code, 127); }

TEST(ChildProcess, TimeoutEndsTheWholeGroup) {
  const ChildOutcome o = must_run({"sh", "-c", "sleep 30 & sleep 30"}, 1);
  EXPECT_TRUE(o.timed_out);
  EXPECT_EQ(o.signal, SIGKILL);
}

TEST(ChildProcess, OutputIsBounded) {
  EXPECT_EQ(must_run({"sh", "-c", "yes | head -c 1000000"}).output.size(), 64u * 1024);
}

}  // namespace
}  // namespace suture
