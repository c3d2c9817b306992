// What the files of module suture._core share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "base/result.h"
#include "driver/compiler.h"
#include "graph/graph.h"

namespace nb = nanobind;

namespace suture {

// Made when the module is imported; lives as long as the process, because compiled callables refer to it.
Compiler& compiler();

// Raises ValueError (kUnsupported), RuntimeError (kInternal) or the Python exception that is already set.
[[noreturn]] void raise(const Error& error);
template <class T>
T value_or_raise(Result<T> result) {
  if (!result.ok()) raise(result.error());
  return std::move(result).value();
}

// suture.compile(options={...}), checked. ValueError.
std::vector<std::pair<std::string, std::string>> overridden_options(const nb::object& options);

void bind_graph(nb::module_& module);    // class Graph
void bind_records(nb::module_& module);  // write-ahead records
void bind_status(nb::module_& module);   // status, explain_records
void bind_guards(nb::module_& module);   // guard_functions, failing_guard
void bind_tables(nb::module_& module);   // option, event, break, guard, op tables

const char* kind_name(OpKind kind);  // "Elementwise"

Result<PyRef> make_graph_object(const Graph& graph, PyRef forward,
                                std::vector<NativeGraph::InputBinding> bindings);
const ShapeEnv* relied_on(PyView graph_object);  // null: nothing was compiled from it
Result<PyRef> make_interpreter(const Graph& lowered, std::vector<NativeGraph::InputBinding> bindings);

// Of a compiled function; TypeError for anything else.
CodeCache& checked_cache_of(nb::handle object);

inline nb::str text(const std::string& s) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "backslashreplace"));
}

}  // namespace suture
