#include "driver/replay.h"

#include "cpython/numpy_api.h"
#include "graph/print.h"

namespace suture {
namespace {

// [(file, line, function)] of the frames a source line stands for, outermost first.
PyRef frame_list(const UserSpan& where, const CallSites& sites) {
  PyRef frames = PyRef::steal(PyList_New(0));
  const auto append = [&](const UserSpan& span) {
    PyRef frame = PyRef::steal(Py_BuildValue("(sis)", span.file.c_str(), span.line, span.function.c_str()));
    return frame && PyList_Append(frames.get(), frame.get()) == 0;
  };
  if (!frames || !where.known()) return frames;
  for (size_t i = 0; sites && i < sites->size(); ++i)
    if (!append((*sites)[i])) return {};
  return append(where) ? frames : PyRef();
}

PyRef frames_of_lines(const NumpySource& source, std::span<const CallSites> call_sites) {
  PyRef lines = PyRef::steal(PyList_New(0));
  for (size_t i = 0; lines && i < source.lines.size(); ++i) {
    const auto node = static_cast<size_t>(source.nodes[i]);
    PyRef frames = frame_list(source.lines[i], node < call_sites.size() ? call_sites[node] : nullptr);
    if (!frames || PyList_Append(lines.get(), frames.get()) < 0) return {};
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

// The replay as users meet it: a C function, so that no frame of ours stands between the caller's and the
// user's function in a traceback.
PyObject* run_replay(PyObject* self, PyObject* const* inputs, Py_ssize_t count) {
  PyRef given = PyRef::steal(PyTuple_New(count));
  for (Py_ssize_t i = 0; given && i < count; ++i)
    PyTuple_SET_ITEM(given.get(), i, PyRef::borrow(inputs[i]).release());
  PyRef forward = given ? PyRef::steal(PyObject_CallMethod(self, "forward", nullptr)) : PyRef();
  PyRef arguments =
      forward ? PyRef::steal(PyObject_CallMethod(self, "arguments", "(O)", given.get())) : PyRef();
  return arguments ? PyObject_CallObject(forward.get(), arguments.get()) : nullptr;
}

PyMethodDef replay_method = {"replay",
                             reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(run_replay)),
                             METH_FASTCALL, "The captured graph under NumPy."};

}  // namespace

Result<PyRef> make_replay(const Graph& graph, std::span<const CallSites> call_sites,
                          std::span<const NativeGraph::InputBinding> bindings, PyView user_globals) {
  const NumpySource source = to_numpy_source(graph);
  SUTURE_TRY(symbols, symbol_list(source, bindings));
  PyRef lines = frames_of_lines(source, call_sites);
  PyRef module = PyRef::steal(PyImport_ImportModule("suture._replay"));
  if (!lines || !module) return Error::python("replay");
  PyRef replay =
      PyRef::steal(PyObject_CallMethod(module.get(), "Replay", "sOiOOO", source.text.c_str(), lines.get(),
                                       static_cast<int>(graph.placeholders.size()), symbols.get(),
                                       user_globals ? user_globals : Py_None, numpy_names()));
  PyRef callable = replay ? PyRef::steal(PyCFunction_New(&replay_method, replay.get())) : PyRef();
  if (!callable) return Error::python("replay");
  return callable;
}

}  // namespace suture
