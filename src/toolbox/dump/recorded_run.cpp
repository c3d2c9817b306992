#include "toolbox/dump/recorded_run.h"

#include <algorithm>
#include <charconv>

#include "toolbox/model/json_reader.h"

namespace suture::toolbox {
namespace {

int64_t to_number(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::vector<int64_t> to_numbers(std::string_view text) {
  std::vector<int64_t> numbers;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    numbers.push_back(to_number(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return numbers;
}

std::string item(const std::vector<std::string>& list, size_t i) {
  return i < list.size() ? list[i] : std::string();
}

// Memory of its own for an array that nobody saved: from its lowest to one past its highest byte.
void lay_out(RecordedInput& input, int64_t itemsize, int64_t memory) {
  int64_t low = 0, high = itemsize;
  for (size_t i = 0; i < input.shape.size() && i < input.strides.size(); ++i) {
    if (input.shape[i] == 0) high = 0;
    const int64_t reach = (input.shape[i] - 1) * input.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  if (std::ranges::find(input.shape, 0) != input.shape.end()) low = high = 0;
  input.memory = memory;
  input.offset = -low;
  input.memory_bytes = high - low;
}

std::vector<RecordedInput> described_inputs(const EventRecord& event) {
  std::vector<RecordedInput> inputs;
  const auto& names = event.list("names");
  for (size_t i = 0; i < names.size(); ++i) {
    RecordedInput input;
    input.name = names[i];
    input.kind = item(event.list("kinds"), i);
    input.dtype = item(event.list("dtypes"), i);
    input.shape = to_numbers(item(event.list("shapes"), i));
    input.strides = to_numbers(item(event.list("strides"), i));
    input.value = item(event.list("values"), i);
    input.note = "its values were not recorded";
    if (input.kind == "array")
      lay_out(input, to_number(item(event.list("itemsizes"), i)), static_cast<int64_t>(i));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// Files are named by the one who saved them; a trace may come from anywhere, and a path in it may not leave the dump.
std::string safe_path(std::string path) {
  const bool plain = std::ranges::all_of(path, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '/' || c == '.';
  });
  const bool inside = path.starts_with("inputs/") && path.find("..") == std::string::npos;
  return plain && inside ? path : "";
}

template <class Each>
void each_json(const std::vector<std::string>& texts, Each each) {
  simdjson::dom::parser parser;
  for (size_t i = 0; i < texts.size(); ++i) {
    JsonObject object;
    if (parser.parse(texts[i]).get(object) == simdjson::SUCCESS) each(i, object);
  }
}

void read_inputs(const EventRecord& event, std::vector<RecordedInput>& inputs) {
  each_json(event.list("inputs"), [&](size_t i, const JsonObject& object) {
    if (i >= inputs.size()) return;  // later ones only bind symbols
    RecordedInput& input = inputs[i];
    input.value = json_str(object, "value");
    if (json_str(object, "kind") != "array") return;
    input.shape = json_ints(object, "shape");
    input.strides = json_ints(object, "strides");
    input.memory = json_int(object, "memory");
    input.memory_bytes = json_int(object, "memory_bytes");
    input.offset = json_int(object, "offset");
    input.file = safe_path(json_str(object, "file"));
    input.note = json_str(object, "note");
    input.bytes = json_int(object, "bytes");
    input.sha256 = json_str(object, "sha256");
  });
}

int64_t index_or_none(const JsonObject& object, std::string_view key) {
  int64_t number = 0;
  return object[key].get(number) == simdjson::SUCCESS ? number : -1;
}

void read_run(const EventRecord& event, RecordedRun& run) {
  run.recorded = true;
  read_inputs(event, run.inputs);
  each_json(event.list("outputs"), [&](size_t, const JsonObject& object) {
    run.outputs.push_back(
        {json_str(object, "digest"), index_or_none(object, "output"), index_or_none(object, "input")});
  });
  each_json(event.list("numpy_steps"), [&](size_t, const JsonObject& object) {
    run.steps.push_back({json_int(object, "step"), safe_path(json_str(object, "file")),
                         json_str(object, "sha256"), json_int(object, "bytes")});
  });
  run.raised = run.outputs.empty();
}

}  // namespace

std::optional<int64_t> RecordedRun::symbol(const std::string& name) const {
  for (const auto& [symbol, value] : symbols)
    if (symbol == name) return value;
  return std::nullopt;
}

std::optional<RecordedRun> recorded_run(const CompileDump& dump) {
  const EventRecord* described = dump.last(EventId::kGraphInputs);
  if (!described) return std::nullopt;
  RecordedRun run;
  run.inputs = described_inputs(*described);
  const auto& symbols = described->list("symbols");
  for (size_t i = 0; i < symbols.size(); ++i)
    run.symbols.emplace_back(symbols[i], to_number(item(described->list("symbol_values"), i)));
  run.parameters = described->list("parameters");
  if (const EventRecord* recorded = dump.last(EventId::kGraphRun)) read_run(*recorded, run);
  return run;
}

}  // namespace suture::toolbox
