// Module suture._core. The interface is documented in python/suture/_core.pyi.
#include "bindings/core_module.h"

#include <dlfcn.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <climits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "base/kernel_lines.h"
#include "cpython/code_object.h"
#include "cpython/discard_error.h"
#include "cpython/interpreter_end.h"
#include "cpython/jit_callable.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "driver/hooks.h"
#include "runtime/compiled_graph.h"
#include "toolchain/kernel_cache.h"
#include "toolchain/prelude.h"
#include "toolchain/toolchain.h"
#include "trace/trace_file.h"

namespace suture {

Compiler& compiler() {
  static auto* instance = new Compiler();  // never freed: compiled callables may outlive the module at exit
  return *instance;
}

void raise(const Error& error) {
  if (error.kind == ErrorKind::kPython) throw nb::python_error();
  if (error.kind == ErrorKind::kUnsupported) throw nb::value_error(error.message.c_str());
  throw std::runtime_error(error.step + ": " + error.message);
}

std::vector<std::pair<std::string, std::string>> overridden_options(const nb::object& options) {
  std::vector<std::pair<std::string, std::string>> overrides;
  if (options.is_none()) return overrides;
  Options checked = compiler().options;
  for (auto [key, value] : nb::cast<nb::dict>(options)) {
    std::string name = nb::cast<std::string>(key), text = nb::cast<std::string>(nb::str(value));
    value_or_raise(checked.set(name, text));
    const auto& table = all_options();
    const auto option = std::ranges::find(table, name, &OptionInfo::name);
    if (option->scope != "function")
      raise(Error::unsupported(
          "options", "option '" + name + "' has one value for the process; set suture.config." + name));
    overrides.emplace_back(std::move(name), std::move(text));
  }
  return overrides;
}

namespace {

std::string plugin_path() {
  Dl_info where;
  if (!dladdr(reinterpret_cast<const void*>(&plugin_path), &where) || !where.dli_fname) return "";
  std::string path = where.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + "libsuture_toolchain.so";
}

DynamicMode dynamic_mode(std::optional<bool> dynamic) {
  if (!dynamic) return DynamicMode::kAutomatic;
  return *dynamic ? DynamicMode::kAlways : DynamicMode::kNever;
}

nb::object compile(nb::object fn, bool fullgraph, std::optional<bool> dynamic, const std::string& backend,
                   nb::object backend_callable, const std::string& numerics, nb::object options) {
  value_or_raise(Options(compiler().options).set("numerics", numerics));
  FrameOptions frame;
  frame.fullgraph = fullgraph;
  frame.dynamic = dynamic_mode(dynamic);
  frame.backend = backend;
  if (!backend_callable.is_none()) frame.backend_callable = PyRef::borrow(backend_callable.ptr());
  frame.numerics = numerics;
  frame.overrides = overridden_options(options);
  PyRef callable = value_or_raise(compiler().compile(fn.ptr(), std::move(frame)));
  return nb::steal<nb::object>(callable.release());
}

// --- events ------------------------------------------------------------------------------------------------
uint64_t event_mask(const nb::object& names) {
  // A disassembly may load LLVM, and printed guards are long: they are made for those who name them.
  if (names.is_none()) return ~(event_bit(EventId::kKernelAssembly) | event_bit(EventId::kGuardCode));
  uint64_t mask = 0;
  for (nb::handle name : names) {
    const std::string wanted = nb::cast<std::string>(name);
    const auto event = event_named(wanted);
    if (!event) throw nb::value_error(("no event is named '" + wanted + "'").c_str());
    mask |= uint64_t{1} << static_cast<int>(*event);
  }
  return mask;
}

int subscribe(nb::object names, nb::object callback) {
  return compiler().trace.subscribe(event_mask(names), [callback](const Event& event) {
    // Events may be emitted while a Python exception is on its way; it must come out unchanged.
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    const PyRef line = PyRef::steal(text(to_json_line(event)).release().ptr());
    PyObject* result = PyObject_CallOneArg(callback.ptr(), line.get());
    if (!result && pending_error_is_ordinary()) PyErr_WriteUnraisable(callback.ptr());
    discard_error();  // Ctrl-C while a listener was at work is raised later
    Py_XDECREF(result);
    PyErr_Restore(type, value, traceback);
  });
}

// One trace per process: a file of its own in `directory`; see trace/trace_file.h.
struct ActiveTrace {
  std::unique_ptr<TraceFile> file;
  int token = 0;
};

ActiveTrace& active_trace() {
  static auto* trace = new ActiveTrace();  // never freed: it holds a Python callback
  return *trace;
}

void trace_stop() {
  ActiveTrace& active = active_trace();
  if (active.file) compiler().trace.unsubscribe(active.token);
  active.file.reset();
}

void tell_trouble(const nb::object& callback, const std::string& what) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* result = PyObject_CallOneArg(callback.ptr(), text(what).ptr());
  if (!result && pending_error_is_ordinary()) PyErr_WriteUnraisable(callback.ptr());
  discard_error();
  Py_XDECREF(result);
  PyErr_Restore(type, value, traceback);
}

void trace_start(const std::string& directory, const nb::dict& facts, nb::object on_trouble,
                 bool with_assembly) {
  trace_stop();
  TraceFile::Facts lines;
  for (auto [name, value] : facts)
    lines.emplace_back(nb::cast<std::string>(name), nb::cast<std::string>(value));
  ActiveTrace& active = active_trace();
  active.file = std::make_unique<TraceFile>(
      directory, std::move(lines), [on_trouble](const std::string& what) { tell_trouble(on_trouble, what); });
  active.token =
      compiler().trace.subscribe(TraceFile::events(with_assembly),
                                 [file = active.file.get()](const Event& event) { file->write(event); });
}

void mark(const nb::object& array, int dim, std::optional<int64_t> min, std::optional<int64_t> max) {
  value_or_raise(compiler().marks.mark_dynamic(array.ptr(), dim, min.value_or(2), max.value_or(INT64_MAX)));
}

void bind_events(nb::module_& module) {
  module.def("subscribe", &subscribe, nb::arg("events").none(), nb::arg("callback"));
  module.def("unsubscribe", [](int token) { compiler().trace.unsubscribe(token); });
  module.def("trace_start", &trace_start, nb::arg("directory"), nb::arg("facts"), nb::arg("on_trouble"),
             nb::arg("with_assembly") = false);
  module.def("trace_stop", &trace_stop);
  module.def("trace_path",
             [] { return text(active_trace().file ? active_trace().file->path() : std::string()); });
}

void bind_callables(nb::module_& module) {
  module.def("compile", &compile, nb::arg("fn"), nb::kw_only(), nb::arg("fullgraph") = false,
             nb::arg("dynamic") = nb::none(), nb::arg("backend") = "native",
             nb::arg("backend_callable") = nb::none(), nb::arg("numerics") = "exact",
             nb::arg("options") = nb::none());
  module.def(
      "is_compiled", [](nb::handle object) { return is_jit_callable(object.ptr()); }, nb::arg("obj").none());
  module.def("wrapped", [](nb::handle object) {
    if (!is_jit_callable(object.ptr()))
      throw nb::type_error("expected a function compiled by suture.compile");
    return nb::borrow<nb::object>(jit_callable_function(object.ptr()));
  });
  module.def("reset", [] { compiler().reset(); });
  module.def(
      "before_reset",
      [](nb::object hook) {
        compiler().hooks.before_reset = hook.is_none() ? PyRef() : PyRef::borrow(hook.ptr());
      },
      nb::arg("hook").none());
  module.def("mark_dynamic", &mark, nb::arg("array"), nb::arg("dim"), nb::arg("min") = nb::none(),
             nb::arg("max") = nb::none());
  module.def(
      "mark_static",
      [](nb::object array, int dim) { value_or_raise(compiler().marks.mark_static(array.ptr(), dim)); },
      nb::arg("array"), nb::arg("dim"));
  module.def("profile", [](bool enable) {
    static int profilers = 0;
    profilers = std::max(profilers + (enable ? 1 : -1), 0);
    compiler().profiling = profilers > 0;
  });
  module.def(
      "watch_calls",
      [](nb::object hook) {
        compiler().call_watch = hook.is_none() ? nullptr : make_call_watch(PyRef::borrow(hook.ptr()));
      },
      nb::arg("hook").none());
  module.def("register_exceptions", [](nb::object graph_break, nb::object internal_error) {
    compiler().hooks.graph_break_type = PyRef::borrow(graph_break.ptr());
    compiler().hooks.internal_error_type = PyRef::borrow(internal_error.ptr());
  });
  module.attr("kernel_lines_suffix") = kKernelLinesSuffix;
  module.attr("guard_sample_every") = CodeCache::kSampleEvery;
  module.def("settings", [](nb::handle object) {
    if (!is_jit_callable(object.ptr()))
      throw nb::type_error("expected a function compiled by suture.compile");
    auto record = compiler().record(cache_of(object.ptr()).frame_id());
    if (!record) throw nb::value_error("this callable has no record");
    const FrameOptions& options = record->options;
    nb::dict result;
    result["fullgraph"] = options.fullgraph;
    result["dynamic"] = options.dynamic == DynamicMode::kAutomatic
                            ? nb::none()
                            : nb::object(nb::bool_(options.dynamic == DynamicMode::kAlways));
    result["backend"] = text(options.backend);
    result["backend_callable"] = options.backend_callable
                                     ? nb::borrow<nb::object>(options.backend_callable.get())
                                     : nb::object(nb::none());
    result["numerics"] = text(options.numerics);
    nb::object changed = nb::none();
    if (!options.overrides.empty()) {
      nb::dict values;
      for (const auto& [name, value] : options.overrides) values[text(name)] = text(value);
      changed = values;
    }
    result["options"] = changed;
    return result;
  });
}

void bind_toolchain(nb::module_& module) {
  module.def("prelude", [] { return text(std::string(prelude_text())); });
  module.def("kernel_flags", [] { return text(kernel_flags()); });
  module.def(
      "record_graphs",
      [](nb::object recorder) {
        compiler().hooks.graph_recorder = recorder.is_none() ? PyRef() : PyRef::borrow(recorder.ptr());
      },
      nb::arg("recorder").none());
  module.def("watch_failures",
             [](nb::object hook) { compiler().hooks.graph_watch = PyRef::borrow(hook.ptr()); });
  module.def("plugin_path", &plugin_path);
  module.attr("internal_error_prefix") = text(std::string(Compiler::kInternalErrorPrefix));
  module.def("cache_directory", [] { return compiler().cache_directory(); });
  module.def("cache_verify", [] {
    nb::list faults;
    for (const auto& [file, fault] : KernelCache(compiler().cache_directory()).verify())
      faults.append(nb::make_tuple(text(file), text(fault)));
    return faults;
  });
}

// Types, interned names and NumPy's table are one per process.
void refuse_second_interpreter() {
  static PyInterpreterState* owner = nullptr;
  if (owner == nullptr) owner = PyInterpreterState_Get();
  if (owner == PyInterpreterState_Get()) return;
  throw std::runtime_error(
      "suture works in one interpreter of a process, and another one has loaded it; NumPy has the same "
      "limit. "
      "Use it in that interpreter (threads are fine), or in processes of their own (multiprocessing)");
}

int numpy_minor() {
  nb::object version = nb::module_::import_("numpy").attr("__version__");
  const std::string text = nb::cast<std::string>(version);
  if (std::atoi(text.c_str()) > 2) return INT_MAX;  // later than every 2.x
  return std::atoi(text.c_str() + text.find('.') + 1);
}

}  // namespace
}  // namespace suture

NB_MODULE(_core, module) {
  using namespace suture;
  refuse_second_interpreter();
  value_or_raise(import_numpy());
  value_or_raise(watch_for_interpreter_end());
  value_or_raise(register_jit_callable_type(module.ptr()));
  value_or_raise(register_compiled_graph_type(module.ptr()));
  compiler().hooks.make_graph_object = &make_graph_object;
  compiler().hooks.relied_on = &relied_on;
  compiler().hooks.make_interpreter = &make_interpreter;
  compiler().hooks.plugin_path = plugin_path();
  compiler().numpy_minor = numpy_minor();

  module.attr("version") = SUTURE_VERSION;
  module.attr("schema_version") = kEventSchemaVersion;
  module.def("supported_python", [] { return can_be_rewritten(running_python_version()); });
  module.def("supported_versions", [] { return rewritable_versions(); });
  bind_callables(module);
  bind_events(module);
  bind_status(module);
  bind_guards(module);
  bind_tables(module);
  bind_graph(module);
  bind_records(module);
  bind_toolchain(module);
}
