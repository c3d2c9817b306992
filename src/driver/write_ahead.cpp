#include "driver/write_ahead.h"

#include <cmath>
#include <cstdlib>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>

#include "base/hash.h"
#include "base/json_writer.h"
#include "cpython/discard_error.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "driver/compiler.h"
#include "driver/failed_compile.h"
#include "driver/record_run.h"
#include "graph/print.h"

namespace suture {

using InputBinding = NativeGraph::InputBinding;

struct RecordedGraph {
  std::string facts;  // JSON object without its end
  std::vector<std::string> names;
  std::vector<TensorType> types;  // per placeholder
  std::vector<InputBinding> bindings;
  std::vector<std::string> symbols;
  std::vector<int64_t> hints;
  bool every_run = false;
};

namespace {

constexpr uint64_t kCapacity = uint64_t{32} << 20;
// Bytes of input data in one record: what copying them may cost before a first run, and before every run.
constexpr int64_t kDataOfFirstRuns = int64_t{1} << 20, kDataOfAllRuns = int64_t{6} << 20;
constexpr size_t kMostSignatures = 16;
constexpr size_t kFilesBeforeSweep = 16, kFilesKept = 8;
constexpr int64_t kSample = 4096;

// --- what is written ---------------------------------------------------------------------------------------

void write_backend_place(JsonWriter& json, PyView backend) {
  if (!backend || !is_python_function(backend)) return;
  PyRef module = PyRef::steal(PyObject_GetAttrString(backend, "__module__"));
  auto* code = reinterpret_cast<PyCodeObject*>(function_code(backend));
  discard_error();
  json.key("backend_function").begin_object();
  json.field("module", module ? exact_text(module.get()).value_or("") : std::string());
  json.field("qualname", function_qualname(backend));
  json.field("file", exact_text(code->co_filename).value_or("")).field("line", code->co_firstlineno);
  json.end_object();
}

template <class T>
std::pair<double, double> range_of(const void* memory, int64_t count) {
  const T* items = static_cast<const T*>(memory);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (int64_t i = 0, step = std::max<int64_t>(count / kSample, 1); i < count; i += step) {
    const auto item = static_cast<double>(items[i]);
    if (!std::isfinite(item)) continue;
    low = std::min(low, item);
    high = std::max(high, item);
  }
  return low <= high ? std::pair{low, high} : std::pair{0.0, 1.0};
}

std::pair<double, double> sampled_range(DType dtype, const void* memory, int64_t count) {
  switch (dtype) {
    case DType::kBool: return {0, 1};
    case DType::kInt8: return range_of<int8_t>(memory, count);
    case DType::kUInt8: return range_of<uint8_t>(memory, count);
    case DType::kInt16: return range_of<int16_t>(memory, count);
    case DType::kUInt16: return range_of<uint16_t>(memory, count);
    case DType::kInt32: return range_of<int32_t>(memory, count);
    case DType::kUInt32: return range_of<uint32_t>(memory, count);
    case DType::kInt64: return range_of<int64_t>(memory, count);
    case DType::kUInt64: return range_of<uint64_t>(memory, count);
    case DType::kFloat32: return range_of<float>(memory, count);
    case DType::kFloat64: return range_of<double>(memory, count);
  }
  return {0, 1};
}

// The inputs of one call: rows of JSON, and the bytes they refer to.
class InputWriter {
 public:
  InputWriter(JsonWriter& json, int64_t limit) : json_(json), room_(limit) {}

  void write(const std::string& name, const TensorType& type, PyView object) {
    json_.begin_object().field("name", name);
    if (is_exact_ndarray(object)) {
      write_array(object);
    } else {
      json_.field("kind", suture::name(type.value_class)).field("dtype", info(type.dtype).numpy_name);
      json_.field("value", scalar_value_text(object, type));
    }
    json_.end_object();
  }
  std::span<const std::string_view> data() const { return data_; }

 private:
  void write_array(PyView array) {
    const ArrayFacts facts = array_facts(array);
    if (!facts.dtype) {
      json_.field("kind", "other");
      return;
    }
    const int64_t size = itemsize(*facts.dtype);
    int64_t count = 1;
    std::vector<int64_t> shape(facts.shape, facts.shape + facts.ndim), strides;
    for (int64_t extent : shape) count *= extent;
    for (int i = 0; i < facts.ndim; ++i) strides.push_back(facts.strides[i] / size);
    json_.field("kind", "array").field("dtype", info(*facts.dtype).numpy_name).list("shape", shape);
    json_.list("strides", strides).field("address", reinterpret_cast<uintptr_t>(facts.data));
    json_.field("writeable", facts.writeable);
    write_elements(array, facts, count);
  }

  void write_elements(PyView array, const ArrayFacts& facts, int64_t count) {
    const int64_t bytes = count * itemsize(*facts.dtype);
    if (bytes > room_) {
      const int64_t reach = facts.c_contiguous ? count : 1;
      const auto [low, high] = sampled_range(*facts.dtype, facts.data, reach);
      json_.field("low", low).field("high", high);
      return;
    }
    std::string_view memory(static_cast<const char*>(facts.data), static_cast<size_t>(bytes));
    if (!facts.c_contiguous && bytes > 0) {
      PyRef copy = PyRef::steal(PyObject_CallMethod(array, "tobytes", nullptr));
      if (!copy || !PyBytes_Check(copy.get())) return discard_error();
      memory = {PyBytes_AS_STRING(copy.get()), static_cast<size_t>(PyBytes_GET_SIZE(copy.get()))};
      copies_.push_back(std::move(copy));
    }
    json_.field("data", offset_).field("bytes", bytes);
    data_.push_back(memory);
    offset_ += bytes;
    room_ -= bytes;
  }

  JsonWriter& json_;
  int64_t room_, offset_ = 0;
  std::vector<std::string_view> data_;
  std::vector<PyRef> copies_;
};

// The value of a symbol in this call; its hint where that cannot be read.
int64_t symbol_value(const InputBinding& binding, std::span<PyObject* const> inputs, int64_t hint) {
  if (binding.input < 0 || static_cast<size_t>(binding.input) >= inputs.size()) return hint;
  PyView input = inputs[static_cast<size_t>(binding.input)];
  if (binding.axis < 0) {
    int overflow = 0;
    return PyLong_Check(input) ? PyLong_AsLongLongAndOverflow(input, &overflow) : hint;
  }
  if (!is_exact_ndarray(input)) return hint;
  const ArrayFacts facts = array_facts(input);
  if (!facts.dtype || binding.axis >= facts.ndim) return hint;
  return binding.stride ? facts.strides[binding.axis] / itemsize(*facts.dtype) : facts.shape[binding.axis];
}

// `number`: the how manieth run it is, from 1; 0: not known.
RingFile::Ticket write_record(RingFile& file, const RecordedGraph& graph, const char* kind, int64_t number,
                              std::span<PyObject* const> inputs, int64_t limit) {
  JsonWriter json;
  json.begin_object().field("kind", kind).field("number", number).key("symbols").begin_object();
  std::vector<int64_t> symbols = graph.hints;
  for (const InputBinding& binding : graph.bindings) {
    auto& value = symbols[static_cast<size_t>(binding.symbol)];
    value = symbol_value(binding, inputs, value);
  }
  for (size_t s = 0; s < symbols.size(); ++s) json.field(graph.symbols[s], symbols[s]);
  json.end_object().key("inputs").begin_array();
  InputWriter writer(json, limit);
  for (size_t i = 0; i < graph.names.size() && i < inputs.size(); ++i)
    writer.write(graph.names[i], graph.types[i], inputs[i]);
  json.end_array().end_object();
  return file.begin(graph.facts + ", \"call\": " + json.text() + "}", writer.data());
}

// --- when it is written ------------------------------------------------------------------------------------

uint64_t signature_of(std::span<PyObject* const> inputs) {
  uint64_t hash = inputs.size();
  for (PyObject* input : inputs) {
    if (!is_exact_ndarray(input)) continue;
    const ArrayFacts facts = array_facts(input);
    hash = hash_combine(hash, static_cast<uint64_t>(facts.ndim));
    for (int i = 0; i < facts.ndim; ++i)
      hash = hash_combine(hash_combine(hash, static_cast<uint64_t>(facts.shape[i])),
                          static_cast<uint64_t>(facts.strides[i]));
  }
  return hash;
}

class RunRecords : public RunWatch {
 public:
  RunRecords(std::shared_ptr<const RecordedGraph> graph, Compiler& compiler)
      : graph_(std::move(graph)), compiler_(compiler) {}

  bool every_run() const override { return graph_->every_run; }

  Session begins(std::span<PyObject* const> inputs) override {
    if (Compiler::measuring || (!every_run() && !is_new(signature_of(inputs)))) return {};
    const int64_t limit = every_run() ? kDataOfAllRuns : kDataOfFirstRuns;
    const int64_t number = every_run() ? ++runs_ : 0;
    const RingFile::Ticket ticket = write_record(*compiler_.records(), *graph_, "run", number, inputs, limit);
    return {ticket.serial, ticket.offset};
  }

  void ended(Session session) override { compiler_.records()->end({session.serial, session.place}); }

 private:
  bool is_new(uint64_t signature) {
    const auto end = seen_.begin() + static_cast<std::ptrdiff_t>(count_);
    if (count_ == kMostSignatures || std::find(seen_.begin(), end, signature) != end) return false;
    seen_[count_++] = signature;
    return true;
  }

  std::shared_ptr<const RecordedGraph> graph_;
  Compiler& compiler_;  // outlives every compiled graph: it belongs to the module
  std::array<uint64_t, kMostSignatures> seen_{};
  size_t count_ = 0;
  int64_t runs_ = 0;
};

}  // namespace

std::shared_ptr<const RecordedGraph> recorded_graph(const Capture& capture,
                                                    std::vector<InputBinding> bindings, Compiler& compiler,
                                                    const CompileContext& ctx) {
  const std::string& mode = ctx.options.text("record");
  if (mode == "off" || !compiler.records()) return nullptr;
  const Graph& graph = capture.graph;
  auto out = std::make_shared<RecordedGraph>();
  JsonWriter json;
  json.begin_object().key("case").raw(case_facts(ctx, graph, capture.function.code));
  json.field("graph", to_text(graph)).field("ops", graph.op_count());
  write_backend_place(json, ctx.frame.backend_callable.get());
  out->facts = json.text();
  for (NodeId placeholder : graph.placeholders) {
    out->names.push_back(graph.node(placeholder).name);
    out->types.push_back(graph.node(placeholder).type);
  }
  for (const SymbolInfo& symbol : graph.env.symbols()) out->symbols.push_back(symbol.name);
  out->hints = graph.env.hints();
  out->bindings = std::move(bindings);
  out->every_run = mode == "always";
  return out;
}

OpenRecord record_compile(const RecordedGraph* graph, std::span<const PyRef> inputs, Compiler& compiler) {
  if (!graph) return {};
  std::vector<PyObject*> objects;
  for (const PyRef& input : inputs) objects.push_back(input.get());
  RingFile* file = compiler.records();
  return {file, write_record(*file, *graph, "compile", 0, objects, kDataOfFirstRuns)};
}

void record_runs(PyView compiled_graph, std::shared_ptr<const RecordedGraph> graph, Compiler& compiler) {
  if (graph) watch_runs(compiled_graph, std::make_unique<RunRecords>(std::move(graph), compiler));
}

std::string record_directory(const Compiler& compiler) {
  const std::string cache = compiler.cache_directory();
  return cache.empty() ? "" : cache + "/records";
}

// --- the file of this process ------------------------------------------------------------------------------

namespace {

RingFile* file_of_process = nullptr;  // never freed: exit handlers come after everything

void finish_file() {
  if (file_of_process) file_of_process->finish();
}

std::string about_process() {
  std::vector<std::string> words;
  std::ifstream command("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(command, word, '\0');) words.push_back(word);
  std::array<char, 4096> directory{};
  JsonWriter json;
  json.begin_object().field("directory", getcwd(directory.data(), directory.size()) ? directory.data() : "");
  return json.list("command", words).end_object().text();
}

}  // namespace

RingFile* Compiler::records() {
  if (file_of_process) return file_of_process;
  const std::string directory = record_directory(*this);
  if (directory.empty()) return nullptr;
  if (ring_files(directory).size() > kFilesBeforeSweep) sweep_ring_files(directory, kFilesKept);
  file_of_process = new RingFile(directory, about_process(), kCapacity);
  std::atexit(finish_file);
  return file_of_process;
}

}  // namespace suture
