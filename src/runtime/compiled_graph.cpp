// The CompiledGraph Python type: a launcher, or another backend's callable, behind vectorcall.
#include "runtime/compiled_graph.h"

#include <structmember.h>

#include "cpython/discard_error.h"
#include "cpython/numpy_api.h"
#include "runtime/launcher.h"

namespace suture {

namespace {

struct CompiledGraphObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* name;
  PyObject* weak_references;
  Launcher* launcher;  // or:
  PyObject* callable;
  RunRecorder* recorder;  // null, but for a run that somebody wants to see
  RunAgain again;         // of a callable
  Py_ssize_t outputs;     // of a callable: how many it must return
  RunWatch* watch;        // of a callable; a launcher has its own
};

PyTypeObject* graph_type = nullptr;  // made once, kept for ever
PyObject* rerun_type = nullptr;      // the same
int64_t live_graphs = 0;

CompiledGraphObject* as_graph(PyView object) noexcept {
  return reinterpret_cast<CompiledGraphObject*>(object);
}

PyObject* graph_vectorcall(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* names) {
  CompiledGraphObject* self = as_graph(object);
  if (names != nullptr && PyTuple_GET_SIZE(names) > 0) {
    PyErr_SetString(PyExc_TypeError, "a compiled graph takes positional arguments only");
    return nullptr;
  }
  const std::span<PyObject* const> inputs(arguments, static_cast<size_t>(PyVectorcall_NARGS(flags)));
  if (self->launcher == nullptr) return run_foreign_graph(object, inputs).release();
  const size_t count = self->launcher->output_count();
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  if (!tuple) return nullptr;
  std::span<PyObject*> outputs(reinterpret_cast<PyTupleObject*>(tuple.get())->ob_item, count);
  return run_compiled_graph(object, inputs, outputs) ? tuple.release() : nullptr;
}

int graph_traverse(PyObject* object, visitproc visit, void* arg) {
  CompiledGraphObject* self = as_graph(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->callable);
  return self->launcher ? self->launcher->traverse(visit, arg) : 0;
}

int graph_clear(PyObject* object) {
  CompiledGraphObject* self = as_graph(object);
  if (self->launcher) self->launcher->clear();
  return 0;
}

void graph_dealloc(PyObject* object) {
  CompiledGraphObject* self = as_graph(object);
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  delete std::exchange(self->launcher, nullptr);
  delete std::exchange(self->recorder, nullptr);
  delete std::exchange(self->watch, nullptr);
  Py_CLEAR(self->callable);
  Py_CLEAR(self->name);
  PyObject_GC_Del(object);
  Py_DECREF(type);
  --live_graphs;
}

PyObject* graph_repr(PyObject* object) {
  return PyUnicode_FromFormat("<compiled graph %U>", as_graph(object)->name);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(CompiledGraphObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(CompiledGraphObject, weak_references), READONLY, nullptr},
    {"__name__", T_OBJECT_EX, offsetof(CompiledGraphObject, name), READONLY, nullptr},
    {},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(graph_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(graph_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(graph_clear)},
    {Py_tp_repr, reinterpret_cast<void*>(graph_repr)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {
    .name = "suture.CompiledGraph",
    .basicsize = sizeof(CompiledGraphObject),
    .itemsize = 0,
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

bool ready_type() {
  if (graph_type == nullptr) graph_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (rerun_type == nullptr) rerun_type = PyErr_NewException("suture.FrameRerun", nullptr, nullptr);
  return graph_type != nullptr && rerun_type != nullptr;
}

PyRef make_object(std::unique_ptr<Launcher> launcher, PyRef callable, const std::string& name) {
  PyRef text = PyRef::steal(PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
  if (!text || !ready_type()) return {};
  CompiledGraphObject* self = PyObject_GC_New(CompiledGraphObject, graph_type);
  if (self == nullptr) return {};
  self->vectorcall = graph_vectorcall;
  self->name = text.release();
  self->weak_references = nullptr;
  self->launcher = launcher.release();
  self->callable = callable.release();
  self->recorder = nullptr;
  self->again = RunAgain::kGraph;
  self->outputs = 0;
  self->watch = nullptr;
  ++live_graphs;
  PyObject_GC_Track(reinterpret_cast<PyObject*>(self));
  return PyRef::steal(reinterpret_cast<PyObject*>(self));
}

}  // namespace

Status register_compiled_graph_type(PyView module) {
  if (!ready_type()) return Error::python("compiled_graph");
  if (PyModule_AddObjectRef(module, "CompiledGraph", reinterpret_cast<PyObject*>(graph_type)) < 0)
    return Error::python("compiled_graph");
  return ok_status();
}

Result<PyRef> make_compiled_graph(NativeGraph native, std::string name) {
  SUTURE_TRY_VOID(import_numpy());
  SUTURE_TRY(launcher, Launcher::build(std::move(native)));
  PyRef object = make_object(std::move(launcher), {}, name);
  if (!object) return Error::python("compiled_graph");
  return object;
}

PyRef make_compiled_graph(PyRef callable, std::string name, size_t outputs, RunAgain again) {
  PyRef object = make_object(nullptr, std::move(callable), name);
  if (!object) return object;
  as_graph(object.get())->again = again;
  as_graph(object.get())->outputs = static_cast<Py_ssize_t>(outputs);
  return object;
}

bool needs_frame_rerun() noexcept {
  if (rerun_type == nullptr || !PyErr_ExceptionMatches(rerun_type)) return false;
  discard_error();
  return true;
}

namespace {

PyRef call_foreign(PyView compiled_graph, std::span<PyObject* const> inputs);
bool run_unrecorded(PyView compiled_graph, std::span<PyObject* const> inputs, std::span<PyObject*> outputs);

// Taken off the graph before the run, so that a call made while this one is running is not recorded into it.
bool run_recorded(PyView compiled_graph, std::span<PyObject* const> inputs, std::span<PyObject*> outputs) {
  const std::unique_ptr<RunRecorder> recorder(std::exchange(as_graph(compiled_graph)->recorder, nullptr));
  recorder->before(inputs);
  Launcher* launcher = as_graph(compiled_graph)->launcher;
  if (launcher) launcher->record_steps(recorder.get());
  const bool ok = run_unrecorded(compiled_graph, inputs, outputs);
  if (launcher) launcher->record_steps(nullptr);
  if (ok) {
    recorder->after(outputs);
    return true;
  }
  PyObject *type, *value, *traceback;  // the user's exception comes out unchanged
  PyErr_Fetch(&type, &value, &traceback);
  recorder->failed();
  PyErr_Restore(type, value, traceback);
  return false;
}

}  // namespace

bool run_compiled_graph(PyView compiled_graph, std::span<PyObject* const> inputs,
                        std::span<PyObject*> outputs) {
  if (as_graph(compiled_graph)->recorder) return run_recorded(compiled_graph, inputs, outputs);
  return run_unrecorded(compiled_graph, inputs, outputs);
}

namespace {

bool run_unrecorded(PyView compiled_graph, std::span<PyObject* const> inputs, std::span<PyObject*> outputs) {
  CompiledGraphObject* self = as_graph(compiled_graph);
  if (self->launcher == nullptr) {
    PyRef result = call_foreign(compiled_graph, inputs);
    if (!result) return false;
    for (size_t i = 0; i < outputs.size(); ++i)
      outputs[i] = PyRef::borrow(PyTuple_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i))).release();
    return true;
  }
  if (inputs.size() < self->launcher->input_count()) {
    PyErr_Format(PyExc_TypeError, "%U takes %zd inputs, got %zd", self->name,
                 static_cast<Py_ssize_t>(self->launcher->input_count()),
                 static_cast<Py_ssize_t>(inputs.size()));
    return false;
  }
  switch (self->launcher->run(inputs, outputs)) {
    case Launcher::Ending::kDone: return true;
    case Launcher::Ending::kRaised: return false;
    case Launcher::Ending::kRerunFrame: PyErr_SetNone(rerun_type); return false;
  }
  return false;
}

PyRef call_foreign(PyView compiled_graph, std::span<PyObject* const> inputs) {
  CompiledGraphObject* self = as_graph(compiled_graph);
  PyRef callable = PyRef::borrow(self->callable);
  const RunWatch::Session session = self->watch ? self->watch->begins(inputs) : RunWatch::Session{};
  PyRef result = PyRef::steal(PyObject_Vectorcall(callable.get(), inputs.data(), inputs.size(), nullptr));
  if (session) self->watch->ended(session);
  if (!result && self->again == RunAgain::kFrame && PyErr_ExceptionMatches(PyExc_Exception)) {
    discard_error();
    PyErr_SetNone(rerun_type);
  }
  if (result && PyList_Check(result.get())) result = PyRef::steal(PyList_AsTuple(result.get()));
  if (!result) return result;
  if (!PyTuple_Check(result.get())) {
    PyErr_Format(PyExc_TypeError,
                 "the callable of graph %U returned %s; it must return a tuple of the graph's outputs",
                 self->name, Py_TYPE(result.get())->tp_name);
    return {};
  }
  const Py_ssize_t count = PyTuple_GET_SIZE(result.get());
  if (count == self->outputs) return result;
  PyErr_Format(PyExc_TypeError, "the callable of graph %U returned %zd outputs; the graph has %zd",
               self->name, count, self->outputs);
  return {};
}

}  // namespace

PyRef run_foreign_graph(PyView compiled_graph, std::span<PyObject* const> inputs) {
  const std::unique_ptr<RunRecorder> recorder(std::exchange(as_graph(compiled_graph)->recorder, nullptr));
  if (recorder) recorder->before(inputs);
  PyRef result = call_foreign(compiled_graph, inputs);
  if (!recorder) return result;
  if (result) {
    const auto count = static_cast<size_t>(PyTuple_GET_SIZE(result.get()));
    recorder->after({reinterpret_cast<PyTupleObject*>(result.get())->ob_item, count});
    return result;
  }
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  recorder->failed();
  PyErr_Restore(type, value, traceback);
  return {};
}

void record_next_run(PyView compiled_graph, std::unique_ptr<RunRecorder> recorder) {
  delete std::exchange(as_graph(compiled_graph)->recorder, recorder.release());
}

void watch_runs(PyView compiled_graph, std::unique_ptr<RunWatch> watch) {
  CompiledGraphObject* self = as_graph(compiled_graph);
  if (self->launcher) {
    self->launcher->watch_runs(std::move(watch));
  } else {
    delete std::exchange(self->watch, watch.release());
  }
}

const KernelLibrary* kernel_library(PyView compiled_graph) noexcept {
  const Launcher* launcher = as_graph(compiled_graph)->launcher;
  return launcher ? launcher->library() : nullptr;
}

int compiled_graph_output_count(PyView compiled_graph) noexcept {
  const Launcher* launcher = as_graph(compiled_graph)->launcher;
  return launcher ? static_cast<int>(launcher->output_count()) : -1;
}

int64_t live_compiled_graphs() noexcept { return live_graphs; }

}  // namespace suture
