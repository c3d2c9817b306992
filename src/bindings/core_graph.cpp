// class suture.Graph: what a backend receives.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "bindings/core_graph.h"
#include "cpython/numpy_api.h"
#include "driver/backend.h"
#include "driver/replay.h"
#include "graph/interpret.h"
#include "graph/print.h"
#include "ops/op_info.h"

namespace suture {

int64_t symbol_value(const NativeGraph::InputBinding& binding, const nb::args& inputs) {
  if (binding.input < 0 || static_cast<size_t>(binding.input) >= inputs.size())
    throw nb::type_error("too few inputs");
  nb::object input = inputs[static_cast<size_t>(binding.input)];
  if (binding.axis < 0) return nb::cast<int64_t>(input);
  const auto facts = is_any_ndarray(input.ptr()) ? array_facts(input.ptr()) : ArrayFacts{};
  if (!facts.dtype || facts.ndim <= binding.axis)
    throw nb::type_error("an input that carries a size is no array of that many axes");
  return binding.stride ? facts.strides[binding.axis] / itemsize(*facts.dtype) : facts.shape[binding.axis];
}

namespace {

nb::dict describe_node(const Graph& graph, const Node& node) {
  nb::dict row;
  nb::list operands, shape;
  for (NodeId operand : node.operands) operands.append(text(graph.node(operand).name));
  for (const SymInt& dim : node.type.shape) shape.append(text(dim.str()));
  row["name"] = text(node.name);
  row["op"] = std::string(info(node.op).name);
  row["kind"] = kind_name(info(node.op).kind);
  row["target"] = text(node.target);
  row["operands"] = operands;
  row["dtype"] = std::string(info(node.type.dtype).numpy_name);
  row["shape"] = shape;
  row["type"] = text(node.type.str());
  row["file"] = text(node.where.file);
  row["line"] = node.where.line;
  return row;
}

nb::list names_of(const Graph& graph, const std::vector<NodeId>& ids) {
  nb::list names;
  for (NodeId id : ids) names.append(text(graph.node(id).name));
  return names;
}

nb::object forward(GraphObject& self) {
  if (!self.forward.is_valid()) {
    PyRef replay = value_or_raise(make_replay(self.graph, {}, self.bindings, nullptr));
    self.forward = nb::steal<nb::object>(replay.release());
  }
  return self.forward;
}

Graph lowered(const Graph& captured) {
  FrameOptions options;
  CompileContext ctx{compiler().trace, compiler().options, options, {}};
  auto graph = lower_graph(captured, compiler(), ctx);
  if (!graph.ok()) {
    PyErr_SetString(PyExc_NotImplementedError, graph.error().message.c_str());
    throw nb::python_error();
  }
  return std::move(*graph);
}

// --- the reference interpreter as a callable ---------------------------------------------------------------
struct InputStorage {
  alignas(8) unsigned char scalar[8] = {};
  BufferView view;
};

// The memory of one input: an array's own, or the value of a scalar.
void load_input(const TensorType& type, PyObject* object, InputStorage& out) {
  out.view.dtype = type.dtype;
  out.view.data = out.scalar;
  if (is_any_ndarray(object)) {
    const ArrayFacts facts = array_facts(object);
    out.view.data = facts.data;
    out.view.shape.assign(facts.shape, facts.shape + facts.ndim);
    out.view.strides.assign(facts.strides, facts.strides + facts.ndim);
  } else if (auto dtype = numpy_scalar_dtype(object)) {
    read_numpy_scalar(object, *dtype, out.scalar);
  } else if (PyFloat_Check(object)) {
    *reinterpret_cast<double*>(out.scalar) = PyFloat_AS_DOUBLE(object);
  } else if (PyBool_Check(object)) {
    out.scalar[0] = object == Py_True;
  } else {
    *reinterpret_cast<int64_t*>(out.scalar) = PyLong_AsLongLong(object);
    if (PyErr_Occurred()) throw nb::python_error();
  }
}

nb::object scalar_object(const TensorType& type, const void* data) {
  PyObject* result = nullptr;
  switch (type.value_class) {
    case ValueClass::kPyFloat: result = PyFloat_FromDouble(*static_cast<const double*>(data)); break;
    case ValueClass::kPyInt: result = PyLong_FromLongLong(*static_cast<const int64_t*>(data)); break;
    case ValueClass::kPyBool: result = PyBool_FromLong(*static_cast<const bool*>(data)); break;
    default: result = make_numpy_scalar(type.dtype, data).release();
  }
  if (!result) throw nb::python_error();
  return nb::steal<nb::object>(result);
}

nb::object output_object(const TensorType& type, const InterpretedOutput& output, const nb::args& inputs) {
  if (type.scalar()) return scalar_object(type, output.view.data);
  std::vector<int64_t> strides;
  for (int64_t stride : output.view.strides) strides.push_back(stride / itemsize(output.view.dtype));
  PyRef array;
  if (output.aliases_placeholder >= 0) {
    nb::object base = inputs[static_cast<size_t>(output.aliases_placeholder)];
    array =
        new_view(base.ptr(), output.view.data, output.view.dtype, output.view.shape, strides, type.writeable);
  } else {
    array = new_array(output.view.dtype, output.view.shape, strides);
    int64_t lowest = 0, span = itemsize(output.view.dtype);
    for (size_t i = 0; i < strides.size(); ++i) {
      if (output.view.shape[i] == 0) span = 0;
      const int64_t reach = (output.view.shape[i] - 1) * output.view.strides[i];
      (reach < 0 ? lowest : span) += reach;
    }
    if (array && span > 0)
      std::copy_n(static_cast<const char*>(output.view.data) + lowest, span - lowest,
                  static_cast<char*>(array_data(array.get())) + lowest);
  }
  if (!array) throw nb::python_error();
  return nb::steal<nb::object>(array.release());
}

nb::object array_over(const BufferView& view) {
  std::vector<int64_t> strides;
  for (int64_t stride : view.strides) strides.push_back(stride / itemsize(view.dtype));
  PyRef array = new_view(Py_None, view.data, view.dtype, view.shape, strides, true);
  if (!array) throw nb::python_error();
  return nb::steal<nb::object>(array.release());
}

Status numpy_product(const BufferView& a, const BufferView& b, const BufferView& out) {
  const nb::object product = nb::module_::import_("numpy").attr("matmul");
  product(array_over(a), array_over(b), nb::arg("out") = array_over(out));
  return ok_status();
}

struct Interpreter {
  Graph graph;  // lowered
  InputBindings bindings;

  nb::tuple operator()(const nb::args& inputs) const {
    if (inputs.size() < graph.placeholders.size()) throw nb::type_error("too few inputs");
    std::vector<InputStorage> storage(graph.placeholders.size());
    std::vector<BufferView> views;
    std::vector<int64_t> symbols = graph.env.hints();
    for (size_t i = 0; i < storage.size(); ++i) {
      nb::object input = inputs[i];
      const TensorType& type = graph.node(graph.placeholders[i]).type;
      load_input(type, input.ptr(), storage[i]);
      for (size_t axis = 0; axis < type.shape.size(); ++axis)
        if (auto symbol = type.shape[axis].as_symbol())
          symbols[static_cast<size_t>(*symbol)] = storage[i].view.shape[axis];
      for (size_t axis = 0; axis < type.strides.size(); ++axis)
        if (auto symbol = type.strides[axis].as_symbol())
          symbols[static_cast<size_t>(*symbol)] = storage[i].view.strides[axis] / itemsize(type.dtype);
      views.push_back(storage[i].view);
    }
    for (SymbolId symbol : to_numpy_source(graph).symbol_parameters) {
      const auto binding = std::ranges::find(bindings, symbol, &NativeGraph::InputBinding::symbol);
      if (binding == bindings.end()) throw nb::type_error("a symbol of the graph has no input");
      symbols[static_cast<size_t>(symbol)] = symbol_value(*binding, inputs);
    }
    std::vector<InterpretedOutput> outputs = value_or_raise(interpret(graph, views, symbols, numpy_product));
    nb::list result;
    for (size_t i = 0; i < outputs.size(); ++i)
      result.append(output_object(graph.node(graph.outputs[i]).type, outputs[i], inputs));
    return nb::tuple(result);
  }
};

// A graph's forward holds the globals of the user's module, and these may hold the graph.
int graph_traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  if (nb::inst_ready(object)) Py_VISIT(nb::inst_ptr<GraphObject>(object)->forward.ptr());
  return 0;
}

int graph_clear(PyObject* object) {
  if (nb::inst_ready(object)) nb::inst_ptr<GraphObject>(object)->forward.reset();
  return 0;
}

PyType_Slot graph_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(graph_traverse)},
                             {Py_tp_clear, reinterpret_cast<void*>(graph_clear)},
                             {0, nullptr}};

}  // namespace

Result<PyRef> make_graph_object(const Graph& graph, PyRef forward, InputBindings bindings) {
  nb::object object =
      nb::cast(GraphObject{graph, nb::steal<nb::object>(forward.release()), std::move(bindings), {}});
  return PyRef::steal(object.release().ptr());
}

const ShapeEnv* relied_on(PyView graph_object) {
  const auto* graph = nb::inst_ptr<GraphObject>(graph_object);
  return graph->relied_on ? &*graph->relied_on : nullptr;
}

Result<PyRef> make_interpreter(const Graph& lowered, InputBindings bindings) {
  nb::object object = nb::cast(Interpreter{lowered, std::move(bindings)});
  return PyRef::steal(object.release().ptr());
}

void bind_graph(nb::module_& module) {
  nb::class_<Interpreter>(module, "Interpreter").def("__call__", &Interpreter::operator());
  nb::class_<GraphObject> graph(module, "Graph", nb::type_slots(graph_slots));
  graph.def_prop_ro("name", [](const GraphObject& self) { return text(self.graph.name); })
      .def_prop_ro("nodes",
                   [](const GraphObject& self) {
                     nb::list nodes;
                     for (const Node& node : self.graph.nodes) nodes.append(describe_node(self.graph, node));
                     return nodes;
                   })
      .def_prop_ro("placeholders",
                   [](const GraphObject& self) { return names_of(self.graph, self.graph.placeholders); })
      .def_prop_ro("outputs",
                   [](const GraphObject& self) { return names_of(self.graph, self.graph.outputs); })
      .def_prop_ro("code", [](const GraphObject& self) { return text(to_numpy_source(self.graph).text); })
      .def_prop_ro("text", [](const GraphObject& self) { return text(to_text(self.graph)); })
      .def("print_readable", [](const GraphObject& self) { return text(to_text(self.graph)); })
      .def("to_json", [](const GraphObject& self) { return text(to_json(self.graph)); })
      .def("forward", &forward)
      .def("eval", [](GraphObject& self, nb::args inputs) { return forward(self)(*inputs); })
      .def("lowered", [](const GraphObject& self) { return text(to_text(lowered(self.graph))); })
      .def("interpreter",
           [](const GraphObject& self) { return Interpreter{lowered(self.graph), self.bindings}; })
      .def("__repr__", [](const GraphObject& self) {
        return text("<suture.Graph " + self.graph.name + ": " + std::to_string(self.graph.op_count()) +
                    " ops>");
      });
  bind_graph_surgery(module, graph);
}

}  // namespace suture
