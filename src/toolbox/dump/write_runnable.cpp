// graph_runnable.py: the graph's source, a table of its inputs and the digests of its outputs. What loads, generates, runs
// and compares is suture._dump_run, so that the file stays readable.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/escaped_text.h"
#include "toolbox/dump/dump_files.h"
#include "toolbox/dump/recorded_run.h"

namespace suture::toolbox {
namespace {

constexpr std::string_view kHead = R"("""Graph of {}

    python graph_runnable.py                  runs it under NumPy and under Suture and checks both
    python graph_runnable.py --save-inputs    first writes the inputs that the dump does not hold (output_code.cpp reads them)

{}
"""

)";

constexpr std::string_view kTail = R"(
if __name__ == "__main__":
    import sys

    from suture._dump_run import main

    sys.exit(main(__file__, forward, INPUTS, SYMBOLS, OUTPUTS))
)";

std::string python_string(std::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += static_cast<char>(c);
    else if (c < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", c);
    else
      out += static_cast<char>(c);
  }
  return out + "\"";
}

std::string input_row(const RecordedInput& input) {
  std::string row = fmt::format("    {{\"name\": {}, \"kind\": {}, \"dtype\": {}", python_string(input.name),
                                python_string(input.kind), python_string(input.dtype));
  if (input.kind != "array") return row + fmt::format(", \"value\": {}}},\n", python_string(input.value));
  row += fmt::format(
      ", \"shape\": [{}], \"strides\": [{}],\n     \"memory\": {}, \"memory_bytes\": {}, \"offset\": {}",
      fmt::join(input.shape, ", "), fmt::join(input.strides, ", "), input.memory, input.memory_bytes,
      input.offset);
  if (!input.file.empty()) return row + fmt::format(", \"file\": {}}},\n", python_string(input.file));
  return row + fmt::format(", \"file\": None}},  # {}: a generator with a fixed seed stands for it\n",
                           escaped_line(input.note));
}

std::string output_row(const RecordedOutput& output) {
  const bool changed_input = output.input >= 0;
  return fmt::format("    {{\"{}\": {}, \"digest\": {}}},\n", changed_input ? "input" : "output",
                     changed_input ? output.input : output.output, python_string(output.digest));
}

std::string explanation(const RecordedRun& run) {
  if (!run.recorded)
    return "No run was recorded: inputs come from a generator, and NumPy and Suture are compared with each "
           "other.";
  if (run.raised)
    return "The recorded run raised an exception: NumPy and Suture are compared with each other.";
  for (const RecordedInput& input : run.inputs)
    if (input.kind == "array" && input.file.empty())
      return "Some inputs were too large to save and come from a generator, so the recorded digests do not "
             "apply: NumPy and "
             "Suture are compared with each other.";
  return "Inputs and digests are those of the first run of the compiled graph.";
}

}  // namespace

std::string write_graph_runnable(const CompileDump& dump) {
  const std::string code = dump.text_of(EventId::kGraphCaptured, "code");
  const auto run = recorded_run(dump);
  if (code.empty() || !run) return "";
  std::string text = fmt::format(kHead, dump.title(), explanation(*run)) + code;
  text += "\n\nINPUTS = [\n";
  for (const RecordedInput& input : run->inputs) text += input_row(input);
  std::vector<int64_t> symbols;
  for (const std::string& parameter : run->parameters) symbols.push_back(run->symbol(parameter).value_or(0));
  text += fmt::format(
      "]\nSYMBOLS = [{}]  # {}\n", fmt::join(symbols, ", "),
      symbols.empty() ? "none are parameters" : fmt::format("{}", fmt::join(run->parameters, ", ")));
  text += "# What the recorded run gave; an \"input\" is one that the run changed.\nOUTPUTS = [\n";
  for (const RecordedOutput& output : run->outputs) text += output_row(output);
  return text + "]\n" + std::string(kTail);
}

}  // namespace suture::toolbox
