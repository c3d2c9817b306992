// RecordedRun: inputs and outputs of a graph's first run, from the events graph_inputs and graph_run. Without the
// latter the inputs are described, not saved.
//
// Arrays that share memory are in one `memory` at their offsets, so that a program that loads them has the same aliases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "toolbox/dump/compile_dump.h"

namespace suture::toolbox {

struct RecordedInput {
  std::string name, kind, dtype;        // kind: array | scalar | py_bool | py_int | py_float
  std::vector<int64_t> shape, strides;  // strides in bytes
  int64_t memory = 0, memory_bytes = 0, offset = 0;
  std::string file;    // of an array: relative to the compile's directory; "" = not saved
  std::string value;   // of a scalar: see graph_inputs.values; "" = unknown
  std::string note;    // why an array was not saved
  int64_t bytes = 0;   // of `file`
  std::string sha256;  // of `file`
};

struct RecordedOutput {
  std::string digest;
  int64_t output = -1, input = -1;  // which output; or which input, as the run left it
};

struct RecordedStep {  // what NumPy computed in one step of the launch plan
  int64_t step = 0;
  std::string file, sha256;
  int64_t bytes = 0;
};

struct RecordedRun {
  bool recorded = false;
  bool raised = false;
  std::vector<RecordedInput> inputs;
  std::vector<RecordedOutput> outputs;
  std::vector<RecordedStep> steps;
  std::vector<std::pair<std::string, int64_t>> symbols;
  std::vector<std::string> parameters;  // symbols that the source takes after the inputs

  std::optional<int64_t> symbol(const std::string& name) const;
};

// None: the graph's inputs are unknown.
std::optional<RecordedRun> recorded_run(const CompileDump& dump);

}  // namespace suture::toolbox
