#include "driver/replay.h"

#include <set>

#include "graph/print.h"

namespace suture {
namespace {

// The file most nodes came from: a code object has one file name, and inlined helpers may live elsewhere.
std::string main_file(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (node.where.known()) return node.where.file;
  return "<suture graph>";
}

PyRef line_list(const NumpySource& source, const std::string& file) {
  PyRef lines = PyRef::steal(PyList_New(0));
  int last = 0;
  for (const UserSpan& span : source.lines) {
    if (span.known() && span.file == file) last = span.line;
    PyRef number = PyRef::steal(PyLong_FromLong(last));
    if (!lines || !number || PyList_Append(lines.get(), number.get()) < 0) return {};
  }
  return lines;
}

// [(input, axis)] per trailing symbol parameter; axis -1 is the int itself.
Result<PyRef> symbol_list(const NumpySource& source, std::span<const NativeGraph::InputBinding> bindings) {
  PyRef symbols = PyRef::steal(PyList_New(0));
  for (SymbolId symbol : source.symbol_parameters) {
    const NativeGraph::InputBinding* found = nullptr;
    for (const auto& binding : bindings)
      if (binding.symbol == symbol) found = &binding;
    if (!found) return Error::internal("replay", "symbol s" + std::to_string(symbol) + " has no input");
    PyRef pair = PyRef::steal(Py_BuildValue("(ii)", found->input, found->axis));
    if (!symbols || !pair || PyList_Append(symbols.get(), pair.get()) < 0) return Error::python("replay");
  }
  return symbols;
}

std::string user_function(const Graph& graph) {
  for (const Node& node : graph.nodes)
    if (node.where.known() && !node.where.function.empty()) return node.where.function;
  return "forward";
}

}  // namespace

Result<PyRef> make_replay(const Graph& graph, std::span<const NativeGraph::InputBinding> bindings,
                          PyView user_globals) {
  const NumpySource source = to_numpy_source(graph);
  const std::string file = main_file(graph);
  SUTURE_TRY(symbols, symbol_list(source, bindings));
  PyRef lines = line_list(source, file);
  PyRef module = PyRef::steal(PyImport_ImportModule("suture._replay"));
  if (!lines || !module) return Error::python("replay");
  PyRef replay = PyRef::steal(PyObject_CallMethod(module.get(), "Replay", "ssOsiOO", source.text.c_str(),
                                                  file.c_str(), lines.get(), user_function(graph).c_str(),
                                                  static_cast<int>(graph.placeholders.size()), symbols.get(),
                                                  user_globals ? user_globals : Py_None));
  if (!replay) return Error::python("replay");
  return replay;
}

}  // namespace suture
