// How it works
//   fork + exec, because the child must ask for PR_SET_PDEATHSIG itself. Between the two only
//   async-signal-safe calls are made: other threads may hold any lock at the moment of the fork. The child
//   leads a process group of its own, so a timeout ends the compiler's helpers (cc1plus, as, ld) as well.
//   exec failures come back as exit code 127.
#include "toolchain/child_process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace suture {
namespace {

constexpr size_t kMostOutput = kChildOutputLimit;

[[noreturn]] void become_program(char* const* argv, int output, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // the parent died before the request was made
  const int null = open("/dev/null", O_RDONLY);
  dup2(null, 0);
  dup2(output, 1);
  dup2(output, 2);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  execvp(argv[0], argv);
  _exit(127);
}

int remaining_ms(std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return left.count() > 0 ? static_cast<int>(left.count()) : 0;
}

// Reads until every writer closed the pipe. False: out of time.
bool collect(int fd, std::chrono::steady_clock::time_point deadline, std::string& output) {
  char buffer[4096];
  for (;;) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, remaining_ms(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return false;
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    output.append(
        buffer, std::min<size_t>(static_cast<size_t>(n), kMostOutput - std::min(kMostOutput, output.size())));
  }
}

}  // namespace

Result<ChildOutcome> run_child(const std::vector<std::string>& argv, int timeout_seconds) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0)
    return Error::internal("toolchain", fmt::format("no pipe: {}", std::strerror(errno)));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_seconds);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) become_program(arguments.data(), pipe_ends[1], parent);
  close(pipe_ends[1]);
  if (child < 0) {
    close(pipe_ends[0]);
    return Error::internal("toolchain", fmt::format("no process for {}: {}", argv[0], std::strerror(errno)));
  }
  ChildOutcome outcome;
  outcome.timed_out = !collect(pipe_ends[0], deadline, outcome.output);
  close(pipe_ends[0]);
  if (outcome.timed_out && kill(-child, SIGKILL) != 0) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

}  // namespace suture
