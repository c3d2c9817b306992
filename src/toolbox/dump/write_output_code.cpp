// output_code.cpp: the kernels as they were compiled, then a main that does what a call does: loads the inputs, gives
// every buffer of the launch plan its memory, runs the steps, and compares digests of the outputs.
//
// Steps that NumPy did are not computed again: their results were recorded and are loaded.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json_writer.h"
#include "toolbox/dump/dump_files.h"
#include "toolbox/dump/recorded_run.h"
#include "toolbox/model/json_reader.h"

namespace suture::toolbox {
namespace {

constexpr std::string_view kHead = R"(// Kernels of {}
//
// Build and run in this directory (clang++ takes the same options):
//   g++ {} -include ../prelude.h output_code.cpp -o output_code && ./output_code
//
// {}
)";

enum class BufferKind : uint8_t { kInput, kTemporary, kOutput, kView };
constexpr std::string_view kBufferKinds[] = {"input", "temporary", "output", "view"};

struct PlanBuffer {
  BufferKind kind = BufferKind::kTemporary;
  std::string value_class, c_type, typestr, offset;
  int64_t itemsize = 0, input = -1, base = -1;
  std::vector<std::string> shape, strides;  // C++ text, strides in elements
  bool scalar() const { return value_class != "array"; }
};

struct PlanStep {
  std::string kernel, numpy;
  std::vector<int64_t> buffers;
  std::vector<std::string> sizes;
  int64_t result = -1;
};

struct Plan {
  std::vector<std::string> symbols;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanStep> steps;
  std::vector<int64_t> outputs;
};

std::optional<BufferKind> buffer_kind(std::string_view name) {
  const auto* found = std::ranges::find(kBufferKinds, name);
  if (found == std::end(kBufferKinds)) return std::nullopt;
  return static_cast<BufferKind>(found - std::begin(kBufferKinds));
}

// None: no plan, or one whose indices do not fit together (a trace may come from anywhere).
std::optional<Plan> read_plan(const std::string& json) {
  simdjson::dom::parser parser;
  JsonObject object;
  if (parser.parse(json).get(object) != simdjson::SUCCESS) return std::nullopt;
  Plan plan;
  plan.symbols = json_list(object, "symbols");
  plan.outputs = json_ints(object, "outputs");
  bool ok = true;
  json_objects(object, "buffers", [&](const JsonObject& row) {
    const auto kind = buffer_kind(json_str(row, "kind"));
    ok &= kind.has_value();
    plan.buffers.push_back({kind.value_or(BufferKind::kTemporary), json_str(row, "class"),
                            json_str(row, "c_type"), json_str(row, "typestr"), json_str(row, "offset"),
                            json_int(row, "itemsize"), json_int(row, "input"), json_int(row, "base"),
                            json_list(row, "shape"), json_list(row, "strides")});
  });
  json_objects(object, "steps", [&](const JsonObject& row) {
    plan.steps.push_back({json_str(row, "kernel"), json_str(row, "numpy"), json_ints(row, "buffers"),
                          json_list(row, "sizes"), json_int(row, "result")});
  });
  const auto count = static_cast<int64_t>(plan.buffers.size());
  const auto known = [&](int64_t b) { return b >= 0 && b < count; };
  ok &= std::ranges::all_of(plan.outputs, known);
  for (const PlanStep& step : plan.steps)
    ok &= std::ranges::all_of(step.buffers, known) && (step.numpy.empty() || known(step.result));
  for (int64_t b = 0; b < count; ++b) {
    const PlanBuffer& buffer = plan.buffers[static_cast<size_t>(b)];
    ok &= buffer.kind != BufferKind::kView || (buffer.base >= 0 && buffer.base < b);
    ok &= buffer.itemsize > 0 && !buffer.c_type.empty() && buffer.typestr.size() == 3;
  }
  return ok ? std::optional(std::move(plan)) : std::nullopt;
}

std::string sizes_text(const std::vector<std::string>& sizes) {
  return fmt::format("{{{}}}", fmt::join(sizes, ", "));
}
std::string sizes_text(const std::vector<int64_t>& sizes) {
  return fmt::format("{{{}}}", fmt::join(sizes, ", "));
}

std::string cpp_string(std::string_view text) {
  std::string out = "\"";
  for (unsigned char c : text)
    if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '?')
      out += fmt::format("\\{:03o}", c);
    else
      out += static_cast<char>(c);
  return out + "\"";
}

class MainWriter {
 public:
  MainWriter(const Plan& plan, const RecordedRun& run) : plan_(plan), run_(run) {}

  std::string write() {
    text_ = "int main() {\n";
    symbols();
    memories();
    for (size_t b = 0; b < plan_.buffers.size(); ++b) buffer(b);
    text_ += "\n  uint32_t status = 0;\n";
    for (size_t s = 0; s < plan_.steps.size(); ++s) step(s);
    text_ += "\n  bool all_same = true;\n";
    for (size_t i = 0; i < plan_.outputs.size(); ++i) output(i);
    for (const RecordedOutput& changed : run_.outputs)
      if (changed.input >= 0) changed_input(changed);
    return text_ + "  return dump::finish(status, all_same);\n}\n";
  }

 private:
  void line(std::string_view code) { text_ += fmt::format("  {}\n", code); }

  void symbols() {
    for (const std::string& symbol : plan_.symbols)
      line(fmt::format("const int64_t {} = {};", symbol, run_.symbol(symbol).value_or(0)));
  }

  // One block per group of inputs that share memory.
  void memories() {
    std::vector<int64_t> made;
    for (const RecordedInput& input : run_.inputs) {
      if (input.kind != "array" || std::ranges::find(made, input.memory) != made.end()) continue;
      made.push_back(input.memory);
      line(fmt::format("char* const memory{} = dump::memory({});", input.memory, input.memory_bytes));
    }
  }

  void scalar_input(size_t b, const RecordedInput& input) {
    const std::string type = plan_.buffers[b].c_type;
    std::string value = input.value.empty() ? "0" : "";
    if (value.empty() && type == "bool") value = input.value == "True" ? "true" : "false";
    if (value.empty()) {
      const char* reader = type == "double" || type == "float" ? "real"
                           : type == "uint64_t"                ? "natural"
                                                               : "integer";
      value = fmt::format("dump::{}({})", reader, cpp_string(input.value));
    }
    line(fmt::format("{0} value{1} = static_cast<{0}>({2});{3}", type, b, value,
                     input.value.empty() ? "  // its value was not recorded" : ""));
    line(fmt::format("char* const b{0} = reinterpret_cast<char*>(&value{0});", b));
  }

  void input(size_t b) {
    const PlanBuffer& buffer = plan_.buffers[b];
    const auto index = static_cast<size_t>(buffer.input);
    if (index >= run_.inputs.size()) return line(fmt::format("char* const b{} = nullptr;", b));
    const RecordedInput& from = run_.inputs[index];
    if (buffer.scalar()) return scalar_input(b, from);
    const std::string file = from.file.empty() ? fmt::format("inputs/input_{}.npy", index) : from.file;
    line(fmt::format("char* const b{} = memory{} + {};  // input {}", b, from.memory, from.offset, index));
    line(fmt::format("dump::load(b{}, {}, \"{}\", {}, {});", b, cpp_string(file), buffer.typestr,
                     sizes_text(from.shape), sizes_text(from.strides)));
  }

  void buffer(size_t b) {
    const PlanBuffer& buffer = plan_.buffers[b];
    if (buffer.kind == BufferKind::kInput) return input(b);
    const int64_t size = buffer.itemsize;
    if (buffer.kind == BufferKind::kView)
      return line(
          fmt::format("char* const b{} = b{} + {} * ({});  // view", b, buffer.base, size, buffer.offset));
    line(fmt::format("char* const b{} = dump::memory(dump::extent({}, {}, {}));  // {}", b,
                     sizes_text(buffer.shape), sizes_text(buffer.strides), size,
                     kBufferKinds[static_cast<size_t>(buffer.kind)]));
  }

  void step(size_t s) {
    const PlanStep& step = plan_.steps[s];
    if (!step.numpy.empty()) return numpy_step(s);
    std::vector<std::string> pointers, sizes = step.sizes;
    for (int64_t b : step.buffers) pointers.push_back(fmt::format("b{}", b));
    if (pointers.empty()) pointers.emplace_back("nullptr");
    if (sizes.empty()) sizes.emplace_back("0");
    line("{");
    line(fmt::format("  void* const buffers[] = {};", sizes_text(pointers)));
    line(fmt::format("  const int64_t sizes[] = {};", sizes_text(sizes)));
    line(fmt::format("  status |= {}(buffers, sizes);", step.kernel));
    line("}");
  }

  void numpy_step(size_t s) {
    const PlanStep& step = plan_.steps[s];
    const PlanBuffer& result = plan_.buffers[static_cast<size_t>(step.result)];
    const auto saved =
        std::ranges::find(run_.steps, static_cast<int64_t>(s), [](const RecordedStep& r) { return r.step; });
    if (saved == run_.steps.end() || saved->file.empty())
      return line(fmt::format(
          "dump::stop({});",
          cpp_string(fmt::format("step {} is {}, whose result this dump does not hold", s, step.numpy))));
    line(fmt::format("// {}: its result in the recorded run", step.numpy));
    line(fmt::format("dump::load(b{}, {}, \"{}\", {}, dump::scaled({}, {}));", step.result,
                     cpp_string(saved->file), result.typestr, sizes_text(result.shape),
                     sizes_text(result.strides), result.itemsize));
  }

  // Digests of generated inputs' outputs would be compared with those of other inputs.
  bool comparable() const {
    return std::ranges::all_of(run_.inputs,
                               [](const RecordedInput& i) { return i.kind != "array" || !i.file.empty(); });
  }

  void check(const std::string& name, size_t b, const std::string& digest) {
    const PlanBuffer& buffer = plan_.buffers[b];
    std::string shape = sizes_text(buffer.shape),
                strides = fmt::format("dump::scaled({}, {})", sizes_text(buffer.strides), buffer.itemsize);
    if (buffer.kind == BufferKind::kInput && !buffer.scalar() &&
        static_cast<size_t>(buffer.input) < run_.inputs.size()) {
      const RecordedInput& input = run_.inputs[static_cast<size_t>(buffer.input)];
      shape = sizes_text(input.shape);
      strides = sizes_text(input.strides);
    }
    line(fmt::format("all_same &= dump::check({}, dump::digest(\"{}\", \"{}\", b{}, {}, {}), \"{}\");",
                     cpp_string(name), buffer.value_class, buffer.typestr, b, shape, strides,
                     comparable() ? digest : ""));
  }

  void output(size_t i) {
    std::string digest;
    for (const RecordedOutput& output : run_.outputs)
      if (output.output == static_cast<int64_t>(i)) digest = output.digest;
    check(fmt::format("output {}", i), static_cast<size_t>(plan_.outputs[i]), digest);
  }

  void changed_input(const RecordedOutput& changed) {
    for (size_t b = 0; b < plan_.buffers.size(); ++b)
      if (plan_.buffers[b].kind == BufferKind::kInput && plan_.buffers[b].input == changed.input)
        check(fmt::format("input {} after the call", changed.input), b, changed.digest);
  }

  const Plan& plan_;
  const RecordedRun& run_;
  std::string text_;
};

std::string explanation(const std::optional<RecordedRun>& run) {
  if (!run || !run->recorded) return "No run was recorded: outputs are printed, not compared.";
  if (run->raised) return "The recorded run raised an exception: outputs are printed, not compared.";
  return "main runs the launch plan on the inputs of the first run and compares digests of the outputs with "
         "that run.";
}

// What stands before the kernels.
std::string head(const CompileDump& dump, const std::optional<RecordedRun>& run) {
  return fmt::format(kHead, dump.title(), *dump.build_flags, explanation(run));
}

}  // namespace

// {"file": "output_code.cpp", "first_line": of the kernels in it, "table": see codegen/line_table.h}
std::string write_kernel_lines(const CompileDump& dump) {
  const std::string table = dump.text_of(EventId::kKernelSource, "lines");
  simdjson::dom::parser parser;
  if (table.empty() || parser.parse(table).error() != simdjson::SUCCESS) return "";
  const std::string before = head(dump, recorded_run(dump));
  JsonWriter json;
  json.begin_object().field("file", "output_code.cpp");
  json.field("first_line", std::count(before.begin(), before.end(), '\n') + 1);
  json.key("table").raw(table).end_object();
  return json.text() + "\n";
}

std::string write_output_code(const CompileDump& dump) {
  const std::string code = dump.text_of(EventId::kKernelSource, "code");
  if (code.empty()) return "";
  const auto run = recorded_run(dump);
  std::string text = head(dump, run) + code;
  const auto plan = read_plan(dump.text_of(EventId::kKernelSource, "plan"));
  if (!plan || !run) return text + "\n// The launch plan is not known, so there is no main.\n";
  return text + "\n#include \"../run_support.h\"\n\n" + MainWriter(*plan, *run).write();
}

}  // namespace suture::toolbox
