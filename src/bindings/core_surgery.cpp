// suture.Graph as material: from text and back, parts of it, compiling it without a frame.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>

#include "bindings/core_graph.h"
#include "cpython/numpy_api.h"
#include "driver/backend.h"
#include "driver/native_backend.h"
#include "graph/attr_text.h"
#include "graph/canonical.h"
#include "graph/print.h"
#include "graph/subgraph.h"
#include "graph/symbols.h"
#include "graph/verify.h"

namespace suture {
namespace {

GraphObject standalone(Graph graph) {
  InputBindings bindings = standalone_bindings(graph);
  return {std::move(graph), {}, std::move(bindings)};
}

// Text that was written by hand may leave places out; the graph's name then stands for them.
GraphObject from_text(const std::string& text) {
  Graph graph = value_or_raise(parse_graph(text));
  for (Node& node : graph.nodes)
    if (!has_origin(node.where)) node.where.function = graph.name.empty() ? "graph" : graph.name;
  if (Status lawful = verify(graph); !lawful.ok()) throw nb::value_error(lawful.error().message.c_str());
  return standalone(std::move(graph));
}

// --- edits -------------------------------------------------------------------------------------------------
NodeId node_named(const Graph& graph, const std::string& name) {
  for (const Node& node : graph.nodes)
    if (node.name == name) return node.id;
  throw nb::value_error(("no node is named '" + name + "'").c_str());
}

SymbolId symbol_named(const Graph& graph, const std::string& name) {
  const auto& symbols = graph.env.symbols();
  for (size_t s = 0; s < symbols.size(); ++s)
    if (symbols[s].name == name) return static_cast<SymbolId>(s);
  throw nb::value_error(("no symbol is named '" + name + "'").c_str());
}

std::optional<std::vector<NodeId>> nodes_named(const Graph& graph, const nb::object& names) {
  if (names.is_none()) return std::nullopt;
  std::map<std::string, NodeId> known;
  for (const Node& node : graph.nodes) known.emplace(node.name, node.id);
  std::vector<NodeId> ids;
  for (nb::handle item : names) {
    const std::string name = nb::cast<std::string>(item);
    const auto found = known.find(name);
    if (found == known.end()) throw nb::value_error(("no node is named '" + name + "'").c_str());
    ids.push_back(found->second);
  }
  return ids;
}

PythonNumber python_number(nb::handle value) {
  if (PyBool_Check(value.ptr())) return {value.ptr() == Py_True, ValueClass::kPyBool};
  if (PyLong_CheckExact(value.ptr())) return {nb::cast<int64_t>(value), ValueClass::kPyInt};
  return {nb::cast<double>(value), ValueClass::kPyFloat};
}

GraphEdit edit_of(const Graph& graph, const nb::object& keep, const nb::object& outputs,
                  const nb::dict& instead, const nb::dict& constants, const nb::dict& types,
                  const nb::dict& symbols, const nb::object& fixed) {
  GraphEdit edit{.keep = nodes_named(graph, keep), .outputs = nodes_named(graph, outputs)};
  const auto node = [&](nb::handle name) { return node_named(graph, nb::cast<std::string>(name)); };
  for (auto [from, to] : instead) edit.instead[node(from)] = node(to);
  for (auto [name, value] : constants) edit.constants[node(name)] = python_number(value);
  for (auto [name, type] : types)
    edit.types[node(name)] =
        value_or_raise(parse_type(nb::cast<std::string>(type), graph.env.symbols().size()));
  for (auto [name, value] : symbols)
    edit.symbols[symbol_named(graph, nb::cast<std::string>(name))] = nb::cast<int64_t>(value);
  for (nb::handle name : fixed) edit.fixed.insert(symbol_named(graph, nb::cast<std::string>(name)));
  return edit;
}

nb::tuple part_of(const GraphObject& self, nb::object keep, nb::object outputs, nb::dict instead,
                  nb::dict constants, nb::dict types, nb::dict symbols, nb::object fixed) {
  const GraphEdit edit = edit_of(self.graph, keep, outputs, instead, constants, types, symbols, fixed);
  Subgraph part = value_or_raise(subgraph(self.graph, edit));
  nb::list origins;
  for (const Subgraph::Input& input : part.inputs) {
    const bool written = input.after_store != kNoNode;
    origins.append(nb::make_tuple(text(self.graph.node(input.node).name),
                                  text(written ? self.graph.node(input.after_store).name : std::string())));
  }
  return nb::make_tuple(nb::cast(standalone(std::move(part.graph))), origins);
}

// --- inputs ------------------------------------------------------------------------------------------------
nb::list known_sizes(const Graph& graph, const std::vector<SymInt>& sizes) {
  nb::list values;
  for (const SymInt& size : sizes) values.append(graph.env.hint(size));
  return values;
}

nb::list input_types(const GraphObject& self) {
  nb::list rows;
  for (NodeId id : self.graph.placeholders) {
    const TensorType& type = self.graph.node(id).type;
    nb::dict row;
    row["name"] = text(self.graph.node(id).name);
    row["kind"] = std::string(name(type.value_class));
    row["dtype"] = std::string(info(type.dtype).numpy_name);
    row["shape"] = known_sizes(self.graph, type.shape);
    row["strides"] = known_sizes(self.graph, type.strides);
    row["symbolic_shape"] = [&] {
      nb::list texts;
      for (const SymInt& size : type.shape) texts.append(text(size.str()));
      return texts;
    }();
    row["writeable"] = type.writeable;
    row["type"] = text(type_text(type));
    rows.append(row);
  }
  return rows;
}

nb::list symbol_rows(const GraphObject& self) {
  nb::list rows;
  for (const SymbolCarrier& carrier : symbol_carriers(self.graph)) {
    const SymbolInfo& symbol = self.graph.env.symbols()[static_cast<size_t>(carrier.symbol)];
    nb::dict row;
    row["name"] = text(symbol.name);
    row["source"] = text(symbol.source);
    row["hint"] = symbol.hint;
    row["min"] = symbol.min;
    row["max"] = symbol.max;
    row["is_size"] = symbol.is_size;
    row["input"] = carrier.input;
    row["axis"] = carrier.axis;
    row["stride"] = carrier.stride;
    rows.append(row);
  }
  return rows;
}

nb::dict symbol_values(const GraphObject& self, const nb::args& inputs) {
  nb::dict values;
  for (const NativeGraph::InputBinding& binding : self.bindings)
    values[text(self.graph.env.symbols()[static_cast<size_t>(binding.symbol)].name)] =
        symbol_value(binding, inputs);
  return values;
}

bool has_type(PyView object, const TensorType& type) {
  switch (type.value_class) {
    case ValueClass::kPyBool: return PyBool_Check(object);
    case ValueClass::kPyInt: return PyLong_CheckExact(object);
    case ValueClass::kPyFloat: return PyFloat_CheckExact(object);
    case ValueClass::kNumpyScalar: return numpy_scalar_dtype(object) == type.dtype;
    case ValueClass::kArray: break;
  }
  if (!is_exact_ndarray(object)) return false;
  const ArrayFacts facts = array_facts(object);
  return facts.plain && facts.dtype == type.dtype && facts.ndim == type.rank() &&
         (facts.writeable || !type.writeable);
}

// What the guards of a frame see to in front of a captured graph: kernels trust the types of their inputs.
void check_inputs(const GraphObject& self, const nb::args& inputs) {
  const Graph& graph = self.graph;
  size_t wanted = graph.placeholders.size();
  for (const auto& binding : self.bindings) wanted = std::max(wanted, static_cast<size_t>(binding.input) + 1);
  if (inputs.size() != wanted)
    throw nb::type_error(
        fmt::format("{} takes {} inputs, got {}", graph.name, wanted, inputs.size()).c_str());
  std::vector<int64_t> symbols = graph.env.hints();
  for (size_t i = 0; i < graph.placeholders.size(); ++i) {
    const Node& node = graph.node(graph.placeholders[i]);
    if (!has_type(nb::handle(inputs[i]).ptr(), node.type))
      throw nb::type_error(fmt::format("input {} ('{}') is no {}", i, node.name, node.type.str()).c_str());
  }
  for (const auto& binding : self.bindings)
    symbols[static_cast<size_t>(binding.symbol)] = symbol_value(binding, inputs);
  for (const ShapeFact& fact : graph.env.facts())
    if (!fact.holds(symbols)) throw nb::value_error(("sizes do not satisfy " + fact.str()).c_str());
  for (size_t i = 0; i < graph.placeholders.size(); ++i) {
    const Node& node = graph.node(graph.placeholders[i]);
    if (node.type.scalar()) continue;
    const ArrayFacts facts = array_facts(nb::handle(inputs[i]).ptr());
    for (size_t axis = 0; axis < node.type.shape.size(); ++axis) {
      const int64_t stride = facts.strides[axis] / itemsize(node.type.dtype);
      if (node.type.shape[axis].evaluate(symbols) == facts.shape[axis] &&
          node.type.strides[axis].evaluate(symbols) == stride)
        continue;
      throw nb::value_error(
          fmt::format("input {} ('{}') has size {} and stride {} along axis {}; the graph is for {}", i,
                      node.name, facts.shape[axis], stride, axis, type_text(node.type))
              .c_str());
    }
  }
}

nb::object compile_standalone(GraphObject& self, nb::object inputs, const std::string& backend,
                              nb::object backend_callable, const std::string& numerics, nb::object options) {
  FrameOptions frame;
  frame.backend = backend;
  if (!backend_callable.is_none()) frame.backend_callable = PyRef::borrow(backend_callable.ptr());
  frame.numerics = numerics;
  frame.overrides = overridden_options(options);
  Graph graph = self.graph;
  if (self.relied_on) graph.env = *self.relied_on;
  PyRef callable =
      value_or_raise(compile_graph(graph, self.bindings, std::move(frame), inputs.ptr(), compiler()));
  self.relied_on = std::move(graph.env);
  return nb::steal<nb::object>(callable.release());
}

// (graph, numerics, options) each
void compile_ahead_of(const nb::list& rows) {
  std::vector<GraphAhead> graphs;
  for (nb::handle row : rows) {
    FrameOptions frame;
    frame.numerics = nb::cast<std::string>(row[1]);
    frame.overrides = overridden_options(nb::borrow(row[2]));
    graphs.push_back({nb::cast<const GraphObject&>(row[0]).graph, std::move(frame)});
  }
  const Status status = compile_ahead(graphs, compiler());
  // What the compiler refuses it refuses again when the graph is compiled, and then it is told.
  if (!status.ok() && status.error().kind == ErrorKind::kPython) throw nb::python_error();
}

}  // namespace

void bind_graph_surgery(nb::module_& module, nb::class_<GraphObject>& graph) {
  graph.def_static("from_text", &from_text, nb::arg("text"))
      .def("to_text", [](const GraphObject& self) { return text(to_text(self.graph)); })
      .def("canonical_text", [](const GraphObject& self) { return text(canonical_text(self.graph)); })
      .def("canonical_hash", [](const GraphObject& self) { return text(canonical_hash(self.graph)); })
      .def("subgraph", &part_of, nb::arg("keep") = nb::none(), nb::arg("outputs") = nb::none(), nb::kw_only(),
           nb::arg("instead") = nb::dict(), nb::arg("constants") = nb::dict(), nb::arg("types") = nb::dict(),
           nb::arg("symbols") = nb::dict(), nb::arg("fixed") = nb::make_tuple())
      .def_prop_ro("input_types", &input_types)
      .def_prop_ro("symbols", &symbol_rows)
      .def("symbol_values", &symbol_values)
      .def("check_inputs", &check_inputs);
  module.def("compile_graph", &compile_standalone, nb::arg("graph"), nb::arg("inputs") = nb::make_tuple(),
             nb::kw_only(), nb::arg("backend") = "native", nb::arg("backend_callable") = nb::none(),
             nb::arg("numerics") = "exact", nb::arg("options") = nb::none());
  module.def("compile_ahead", &compile_ahead_of, nb::arg("graphs"));
  module.def("compiler_runs", [] { return compiler().compiler_runs(); });
}

}  // namespace suture
