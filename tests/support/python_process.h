// Runs a script of this checkout in the configured interpreter and returns its output lines. For tests whose
// expected values come from NumPy itself; a failure to run fails the test instead of skipping it.
#pragma once

#include <gtest/gtest.h>
#include <stdio.h>

#include <string>
#include <vector>

namespace suture {

inline std::vector<std::string> run_python_script(const std::string& script,
                                                  const std::string& arguments = "") {
  std::string command =
      std::string("'") + SUTURE_TEST_PYTHON + "' '" + SUTURE_TEST_ROOT "/" + script + "' " + arguments;
  std::vector<std::string> lines;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) {
    ADD_FAILURE() << "cannot run " << command;
    return lines;
  }
  char* line = nullptr;
  size_t capacity = 0;
  for (ssize_t n; (n = getline(&line, &capacity, pipe)) >= 0;) {
    while (n > 0 && line[n - 1] == '\n') --n;
    lines.emplace_back(line, static_cast<size_t>(n));
  }
  free(line);
  int status = pclose(pipe);
  if (status != 0) ADD_FAILURE() << command << " ended with status " << status;
  return lines;
}

}  // namespace suture
