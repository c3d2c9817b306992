// The hook is Python because it writes arrays and source text:
//   hook(facts, graph, inputs | None, backend callable | None, subject) -> an object or None
// `facts` is JSON: {"what", "case": case_facts, "level"}; by `what` the subject and the result are
//   failed   the exception or None, with "step" and "message" in the facts    the exception to raise
//   before   None                                                            ignored
//   runs     the compiled graph                                              a callable in its place
// What fails in the hook is reported as unraisable; the frame then goes on with what it had.
#include "driver/failed_compile.h"

#include <optional>

#include "base/json_writer.h"
#include "cpython/discard_error.h"
#include "cpython/objects.h"
#include "driver/backend.h"
#include "driver/compiler.h"
#include "driver/hooks.h"

namespace suture {
namespace {

PyRef string_object(const std::string& text) {
  return PyRef::steal(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

// The pending exception, normalised and with its traceback; nothing is pending afterwards.
PyRef take_exception() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value && traceback) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return PyRef::steal(value);
}

void raise_object(PyView exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception);
}

// Whether failures of this frame's backend are to leave a file.
bool is_watched(const CompileContext& ctx) {
  const ReproAfter after = repro_after(ctx.options);
  return after == ReproAfter::kCapture || (after == ReproAfter::kLowering && !ctx.frame.backend_callable);
}

bool is_failure(const Error& error, const CompileContext& ctx) {
  if (!is_watched(ctx)) return false;
  if (error.kind == ErrorKind::kInternal) return true;
  return error.kind == ErrorKind::kPython && error.step == "backend" && pending_error_is_ordinary() &&
         !PyErr_ExceptionMatches(PyExc_MemoryError);
}

std::string facts_of(const char* what, const CompileContext& ctx, const Capture& capture,
                     const Error* error = nullptr) {
  JsonWriter json;
  json.begin_object()
      .field("what", what)
      .key("case")
      .raw(case_facts(ctx, capture.graph, capture.function.code));
  json.field("level", ctx.options.number("repro_level"));
  if (error) json.field("step", error->step).field("message", error->message);
  return json.end_object().text();
}

// What the hook returns; empty when there is none or it failed.
PyRef call_hook(const std::string& facts, const Capture& capture, const FrameInput& input, Compiler& compiler,
                const CompileContext& ctx, PyView subject) {
  const PyRef hook = compiler.hooks.graph_watch;
  if (!hook) return {};
  auto call = backend_arguments(capture, input, compiler);
  if (!call.ok()) {
    discard_error();
    return {};
  }
  const PyRef text = string_object(facts);
  PyView callable = ctx.frame.backend_callable ? ctx.frame.backend_callable.get() : Py_None;
  PyRef result = text ? PyRef::steal(PyObject_CallFunctionObjArgs(hook.get(), text.get(), call->graph.get(),
                                                                  call->inputs.get(), callable,
                                                                  subject ? subject : Py_None, nullptr))
                      : PyRef();
  drop_hook_failure(hook.get());
  return result;
}

}  // namespace

ReproAfter repro_after(const Options& options) {
  const std::string& after = options.text("repro_after");
  if (after == "capture" || after == "dynamo") return ReproAfter::kCapture;
  return after.empty() ? ReproAfter::kNothing : ReproAfter::kLowering;
}

std::string case_facts(const CompileContext& ctx, const Graph& graph, const CodeView& code) {
  JsonWriter json;
  json.begin_object().field("graph", graph.name).field("function", code.qualname);
  json.field("file", code.filename).field("line", code.first_line).field("compile_id", ctx.id.str());
  json.field("backend", ctx.frame.backend)
      .field("numerics", ctx.frame.numerics)
      .key("options")
      .begin_object();
  for (const OptionInfo& option : all_options()) {
    const std::string& value = ctx.options.text(option.name);
    if (option.scope != "output" && value != option.default_text) json.field(option.name, value);
  }
  return json.end_object().end_object().text();
}

Error leave_repro(Error error, const Capture& capture, const FrameInput& input, Compiler& compiler,
                  const CompileContext& ctx) {
  if (!is_failure(error, ctx)) return error;
  const PyRef cause = error.kind == ErrorKind::kPython ? take_exception() : PyRef();
  const std::string facts = facts_of("failed", ctx, capture, &error);
  const PyRef raised = call_hook(facts, capture, input, compiler, ctx, cause.get());
  if (raised && PyExceptionInstance_Check(raised.get())) {
    raise_object(raised.get());
    return Error::python("repro");
  }
  if (cause) raise_object(cause.get());
  return error;
}

void leave_repro_before(const Capture& capture, const FrameInput& input, Compiler& compiler,
                        const CompileContext& ctx) {
  if (!is_watched(ctx) || ctx.options.number("repro_level") != 3) return;
  call_hook(facts_of("before", ctx, capture), capture, input, compiler, ctx, nullptr);
}

Result<PyRef> with_checked_runs(PyRef compiled, const Capture& capture, const FrameInput& input,
                                Compiler& compiler, const CompileContext& ctx) {
  // Kernels raise nothing of their own; their results are checked at level 4.
  const bool raises = ctx.frame.backend_callable || ctx.options.number("repro_level") == 4;
  if (!is_watched(ctx) || !raises) return compiled;
  PyRef callable = call_hook(facts_of("runs", ctx, capture), capture, input, compiler, ctx, compiled.get());
  if (!callable || !PyCallable_Check(callable.get())) return compiled;
  PyRef watched = make_compiled_graph(std::move(callable), capture.graph.name, capture.graph.outputs.size());
  if (!watched) return Error::python("backend");
  return watched;
}

}  // namespace suture
