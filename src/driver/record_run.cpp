// How a run is recorded
//   hook(compile id, graph name, inputs)  -> an object, or None: this run is not wanted
//     .numpy_step(step, result)           after each step that NumPy did
//     .done(outputs | None)               None: the run raised.  -> (inputs, outputs, numpy steps), lists of JSON texts for
//                                         the event graph_run, or None
// The hook is Python because it writes arrays with NumPy; its failures are reported as unraisable and cost the
// record, not the call.
#include "driver/record_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/json_writer.h"
#include "cpython/discard_error.h"
#include "cpython/numpy_api.h"
#include "driver/compiler.h"
#include "driver/hooks.h"
#include "graph/print.h"
#include "guard/recipe.h"
#include "runtime/compiled_graph.h"

namespace suture {
namespace {

using Strings = std::vector<std::string>;

Strings cpp_texts(const std::vector<SymInt>& values, const Strings& names) {
  Strings out;
  for (const SymInt& value : values) out.push_back(value.cpp(names));
  return out;
}

std::string_view kind_name(BufferSpec::Kind kind) {
  switch (kind) {
    case BufferSpec::Kind::kInput: return "input";
    case BufferSpec::Kind::kTemp: return "temporary";
    case BufferSpec::Kind::kOutput: return "output";
    case BufferSpec::Kind::kView: return "view";
  }
  return "";
}

// "<f8", as in a .npy file.
std::string typestr(DType dtype) {
  const DTypeInfo& row = info(dtype);
  return fmt::format("{}{}{}", row.itemsize == 1 ? '|' : '<', row.kind, row.itemsize);
}

void write_buffer(JsonWriter& json, const BufferSpec& buffer, const Strings& names) {
  json.begin_object()
      .field("kind", kind_name(buffer.kind))
      .field("input", buffer.input)
      .field("base", buffer.base)
      .field("class", name(buffer.value_class))
      .field("dtype", info(buffer.dtype).numpy_name)
      .field("c_type", info(buffer.dtype).c_type)
      .field("typestr", typestr(buffer.dtype))
      .field("itemsize", itemsize(buffer.dtype))
      .list("shape", cpp_texts(buffer.shape, names))
      .list("strides", cpp_texts(buffer.strides, names))
      .field("offset", buffer.offset.cpp(names))
      .end_object();
}

void write_step(JsonWriter& json, const LaunchStep& step, const Strings& names) {
  const bool numpy = step.kind == LaunchStep::Kind::kNumpyCall;
  json.begin_object()
      .field("kernel", step.kernel)
      .field("numpy", numpy ? info(step.op).numpy : std::string_view())
      .list("buffers", step.buffers)
      .list("sizes", cpp_texts(step.sizes, names))
      .field("result", step.result)
      .field("why", step.why)
      .end_object();
}

}  // namespace

std::string plan_json(const LaunchPlan& plan, const ShapeEnv& env) {
  Strings names;
  for (const SymbolInfo& symbol : env.symbols()) names.push_back(symbol.name);
  JsonWriter json;
  json.begin_object().list("symbols", names).key("buffers").begin_array();
  for (const BufferSpec& buffer : plan.buffers) write_buffer(json, buffer, names);
  json.end_array().key("steps").begin_array();
  for (const LaunchStep& step : plan.steps) write_step(json, step, names);
  json.end_array().list("outputs", plan.outputs).list("written", plan.written).end_object();
  return json.text();
}

namespace {

template <class T>
std::string number_text(const void* memory) {
  return fmt::format("{}", *static_cast<const T*>(memory));
}

// Floats in hexadecimal: every bit, readable by float.fromhex and strtod.
std::string scalar_text(DType dtype, const void* memory) {
  switch (dtype) {
    case DType::kBool: return *static_cast<const bool*>(memory) ? "True" : "False";
    case DType::kInt8: return fmt::format("{}", int{*static_cast<const int8_t*>(memory)});
    case DType::kUInt8: return fmt::format("{}", int{*static_cast<const uint8_t*>(memory)});
    case DType::kInt16: return number_text<int16_t>(memory);
    case DType::kUInt16: return number_text<uint16_t>(memory);
    case DType::kInt32: return number_text<int32_t>(memory);
    case DType::kUInt32: return number_text<uint32_t>(memory);
    case DType::kInt64: return number_text<int64_t>(memory);
    case DType::kUInt64: return number_text<uint64_t>(memory);
    case DType::kFloat32: return fmt::format("{:a}", double{*static_cast<const float*>(memory)});
    case DType::kFloat64: return fmt::format("{:a}", *static_cast<const double*>(memory));
  }
  return "";
}

}  // namespace

std::string scalar_value_text(PyView object, const TensorType& type) {
  int overflow = 0;
  if (type.value_class == ValueClass::kPyFloat && PyFloat_Check(object))
    return fmt::format("{:a}", PyFloat_AS_DOUBLE(object));
  if (type.value_class == ValueClass::kPyBool && PyBool_Check(object))
    return object == Py_True ? "True" : "False";
  if (type.value_class == ValueClass::kPyInt && PyLong_Check(object)) {
    const int64_t value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow ? "" : fmt::format("{}", value);
  }
  alignas(8) char memory[8] = {};
  if (type.value_class == ValueClass::kNumpyScalar && read_numpy_scalar(object, type.dtype, memory))
    return scalar_text(type.dtype, memory);
  return "";
}

namespace {

PyView object_of(const Capture& capture, const FrameInput& input, size_t index) {
  if (index >= capture.input_recipes.size()) return nullptr;
  const Recipe& recipe = capture.recipes[static_cast<size_t>(capture.input_recipes[index])];
  return recipe.kind == Recipe::Kind::kSource ? fetch(capture.guards.sources, recipe.source, input) : nullptr;
}

std::string hints_text(const ShapeEnv& env, const std::vector<SymInt>& values, int64_t factor) {
  std::vector<int64_t> numbers;
  for (const SymInt& value : values) numbers.push_back(env.hint(value) * factor);
  return fmt::format("{}", fmt::join(numbers, ","));
}

}  // namespace

namespace {

// `values`: per placeholder, "" for arrays.
Event inputs_event(const CompileId& id, const Graph& graph, Strings values) {
  Strings names, kinds, dtypes, itemsizes, shapes, strides, symbols, symbol_values, parameters;
  for (NodeId placeholder : graph.placeholders) {
    const Node& node = graph.node(placeholder);
    const TensorType& type = node.type;
    names.push_back(node.name);
    kinds.emplace_back(name(type.value_class));
    dtypes.emplace_back(info(type.dtype).numpy_name);
    itemsizes.push_back(std::to_string(itemsize(type.dtype)));
    shapes.push_back(hints_text(graph.env, type.shape, 1));
    strides.push_back(hints_text(graph.env, type.strides, itemsize(type.dtype)));
  }
  for (const SymbolInfo& symbol : graph.env.symbols()) {
    symbols.push_back(symbol.name);
    symbol_values.push_back(fmt::format("{}", symbol.hint));
  }
  for (SymbolId symbol : to_numpy_source(graph).symbol_parameters)
    parameters.push_back(symbols[static_cast<size_t>(symbol)]);
  return Event(EventId::kGraphInputs, id)
      .set("graph", graph.name)
      .set("names", std::move(names))
      .set("kinds", std::move(kinds))
      .set("dtypes", std::move(dtypes))
      .set("itemsizes", std::move(itemsizes))
      .set("shapes", std::move(shapes))
      .set("strides", std::move(strides))
      .set("values", std::move(values))
      .set("symbols", std::move(symbols))
      .set("symbol_values", std::move(symbol_values))
      .set("parameters", std::move(parameters));
}

}  // namespace

void report_inputs(const CompileContext& ctx, Compiler& compiler, const Capture& capture,
                   const FrameInput& input) {
  const Graph& graph = capture.graph;
  Strings values;  // of the call's objects, which nobody keeps
  for (size_t i = 0; i < graph.placeholders.size(); ++i) {
    const TensorType& type = graph.node(graph.placeholders[i]).type;
    PyView object = type.scalar() ? object_of(capture, input, i) : nullptr;
    values.push_back(object ? scalar_value_text(object, type) : "");
  }
  compiler.report_unwritten(ctx.id, {EventId::kGraphInputs}, [id = ctx.id, graph, values] {
    return std::vector<Event>{inputs_event(id, graph, values)};
  });
}

namespace {

Strings strings_of(PyView list) {
  Strings out;
  for (Py_ssize_t i = 0; PyList_Check(list) && i < PyList_GET_SIZE(list); ++i) {
    const char* item = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
    if (!item) discard_error();
    out.emplace_back(item ? item : "");
  }
  return out;
}

class HookRecorder : public RunRecorder {
 public:
  HookRecorder(PyRef hook, std::string graph, Trace& trace, CompileId id)
      : hook_(std::move(hook)), graph_(std::move(graph)), trace_(trace), id_(id) {}

  void before(std::span<PyObject* const> inputs) override {
    PyRef arguments = tuple_of(inputs);
    if (arguments)
      session_ = PyRef::steal(
          PyObject_CallFunction(hook_.get(), "ssO", id_.str().c_str(), graph_.c_str(), arguments.get()));
    drop_hook_failure(hook_.get());
    if (session_.get() == Py_None) session_ = {};
  }

  void numpy_step(size_t step, PyView result) override {
    if (!session_) return;
    PyRef done = PyRef::steal(
        PyObject_CallMethod(session_.get(), "numpy_step", "nO", static_cast<Py_ssize_t>(step), result));
    drop_hook_failure(hook_.get());
  }

  void after(std::span<PyObject* const> outputs) override {
    if (PyRef tuple = tuple_of(outputs)) finish(tuple.get());
    drop_hook_failure(hook_.get());
  }

  void failed() override { finish(Py_None); }

 private:
  void finish(PyView outputs) {
    if (!session_) return;
    PyRef session = std::move(session_);
    PyRef lists = PyRef::steal(PyObject_CallMethod(session.get(), "done", "(O)", outputs));
    drop_hook_failure(hook_.get());
    if (!lists || !PyTuple_Check(lists.get()) || PyTuple_GET_SIZE(lists.get()) != 3) return;
    if (!trace_.wants(EventId::kGraphRun)) return;
    trace_.emit(Event(EventId::kGraphRun, id_)
                    .set("graph", graph_)
                    .set("inputs", strings_of(PyTuple_GET_ITEM(lists.get(), 0)))
                    .set("outputs", strings_of(PyTuple_GET_ITEM(lists.get(), 1)))
                    .set("numpy_steps", strings_of(PyTuple_GET_ITEM(lists.get(), 2))));
  }

  PyRef hook_, session_;
  std::string graph_;
  Trace& trace_;  // outlives every compiled graph: it belongs to the module
  CompileId id_;
};

}  // namespace

void record_first_run(PyView compiled_graph, const std::string& graph, const Compiler& compiler,
                      const CompileContext& ctx) {
  if (!compiler.hooks.graph_recorder) return;
  record_next_run(compiled_graph,
                  std::make_unique<HookRecorder>(compiler.hooks.graph_recorder, graph, ctx.trace, ctx.id));
}

}  // namespace suture
