#include "driver/compiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/hash.h"
#include "capture/source_version.h"
#include "cpython/code_object.h"
#include "cpython/jit_callable.h"
#include "cpython/objects.h"
#include "driver/compile_frame.h"
#include "driver/hooks.h"
#include "driver/perf_hints.h"
#include "toolchain/kernel_cache.h"

namespace suture {
namespace {

// What explain and suture.dump need of every compile, beside what is reported unwritten; the bulky per-pass events are left
// to listeners who asked for them.
constexpr EventId kRecorded[] = {
    EventId::kFrameStart,   EventId::kGraphCaptured,  EventId::kGraphBreak,         EventId::kFrameSkipped,
    EventId::kGuardsBuilt,  EventId::kRecompile,      EventId::kRecompileLimit,     EventId::kDynamic,
    EventId::kKernelSource, EventId::kKernelCompiled, EventId::kFrameDone,          EventId::kInternalError,
    EventId::kReplay,       EventId::kOutputBytecode, EventId::kCallsDuringCompile, EventId::kFaultInjected};

uint64_t recorded_mask() {
  uint64_t mask = 0;
  for (EventId id : kRecorded) mask |= event_bit(id);
  return mask;
}

// Replays come once per call. They are counted in the first of their kind, so that they do not take the room of
// what compiles have to say.
bool counted_in_another(std::vector<Event>& events, const Event& event) {
  if (event.id != EventId::kReplay) return false;
  const auto same = [&](const Event& known, std::string_view field) {
    return *known.find(field) == *event.find(field);
  };
  for (Event& known : events) {
    if (known.id != EventId::kReplay || !same(known, "graph") || !same(known, "conditions")) continue;
    for (auto& [field, value] : known.fields)
      if (field == "count") ++std::get<int64_t>(value);
    return true;
  }
  return false;
}

void collect(const FrameRecord& record, std::vector<Event>& out) {
  out.insert(out.end(), record.events.begin(), record.events.end());
  for (const UnwrittenEvents& unwritten : record.unwritten)
    for (Event& event : unwritten.make()) {
      event.time = unwritten.time;
      out.push_back(std::move(event));
    }
  for (const auto& child : record.children) collect(*child, out);
}

}  // namespace

Status Compiler::set_option(const std::string& name, std::string value) {
  SUTURE_TRY_VOID(options.set(name, std::move(value)));
  disabled = options.flag("disable");
  if (name == "toolchain" || name == "compiler" || name == "cache_dir" || name == "perf" ||
      name == "perf_dir")
    if (toolchain_) retired_toolchains_.push_back(std::move(toolchain_));
  return ok_status();
}

Compiler::Compiler() {
  disabled = options.flag("disable");
  trace.subscribe(recorded_mask(), [this](const Event& event) { remember(event); });
}

void Compiler::remember(const Event& event) {
  auto owner = record(event.compile.frame);
  if (owner && !counted_in_another(owner->events, event) &&
      owner->events.size() < FrameRecord::kMaxRecordedEvents)
    owner->events.push_back(event);
}

void Compiler::report_unwritten(const CompileId& id, std::initializer_list<EventId> kinds, MakeEvents make) {
  if (std::ranges::any_of(kinds, [&](EventId kind) { return trace.wants(kind); }))
    for (Event& event : make()) trace.emit(std::move(event));
  auto owner = record(id.frame);
  if (owner && owner->unwritten.size() < FrameRecord::kMaxRecordedEvents)
    owner->unwritten.push_back({seconds_since_epoch(), std::move(make)});
}

std::shared_ptr<FrameRecord> Compiler::record(int frame_id) const {
  auto found = records_.find(frame_id);
  return found == records_.end() ? nullptr : found->second.lock();
}

std::vector<Event> Compiler::family_events(int frame_id) const {
  std::vector<Event> events;
  if (auto root = record(frame_id)) collect(*root, events);
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time < b.time; });
  return events;
}

namespace {

void collect_frames(const FrameRecord& record, std::vector<int>& out) {
  out.push_back(record.id);
  for (const auto& child : record.children) collect_frames(*child, out);
}

}  // namespace

std::vector<PyRef> Compiler::family_callables(PyView callable) const {
  std::vector<int> frames;
  if (auto root = record(cache_of(callable).frame_id())) collect_frames(*root, frames);
  return callables_where([&](int frame) { return std::ranges::find(frames, frame) != frames.end(); });
}

std::vector<PyRef> Compiler::program_callables() const {
  return callables_where([this](int frame) {
    const auto known = record(frame);
    return known && known->kind == FrameKind::kFunction;
  });
}

std::vector<PyRef> Compiler::callables_where(const std::function<bool(int frame)>& wanted) const {
  std::vector<PyRef> found;
  for (const PyRef& weak : live_callables_)
    if (PyView live = weak_target(weak.get()); live && wanted(cache_of(live).frame_id()))
      found.push_back(PyRef::borrow(live));
  std::ranges::sort(found, {}, [](const PyRef& live) { return cache_of(live.get()).frame_id(); });
  return found;
}

Result<PyRef> Compiler::compile(PyView function, FrameOptions frame_options) {
  if (!is_python_function(function))
    return Error::unsupported("compile", fmt::format("{} is not a Python function", type_name(function)));
  auto frame = std::make_shared<FrameRecord>();
  frame->options = std::move(frame_options);
  frame->dynamic.mode = frame->options.dynamic;
  return make_callable(function, std::move(frame));
}

namespace {

bool same_cells(PyView a, PyView b) {
  if (a == b) return true;
  if (!a || !b || PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i)
    if (PyTuple_GET_ITEM(a, i) != PyTuple_GET_ITEM(b, i)) return false;
  return true;
}

// The callable that another entry of the frame made from the same code and cells, if it is still alive.
Result<PyRef> known_continuation(FrameRecord& parent, PyView function) {
  PyView code = function_code(function);
  std::erase_if(parent.continuations, [](const auto& c) { return weak_target(c.callable.get()) == nullptr; });
  for (const auto& continuation : parent.continuations) {
    const int equal = PyObject_RichCompareBool(continuation.code.get(), code, Py_EQ);
    if (equal < 0) return Error::python("compile");
    PyView callable = weak_target(continuation.callable.get());
    const bool named_alike = function_name(jit_callable_function(callable)) == function_name(function);
    if (equal && named_alike &&
        same_cells(function_closure(jit_callable_function(callable)), function_closure(function)))
      return PyRef::borrow(callable);
  }
  return PyRef();
}

// A backend is a function, and its globals may hold what it was made for. The record of a child belongs to the child's
// callable, and to its parent once that is gone.
int traverse_record(const FrameRecord& frame, visitproc visit, void* arg) {
  Py_VISIT(frame.options.backend_callable.get());
  for (const auto& child : frame.children) {
    if (child->cache != nullptr) continue;
    if (int stop = traverse_record(*child, visit, arg)) return stop;
  }
  return 0;
}

}  // namespace

Result<PyRef> Compiler::compile_child(PyView function, FrameKind kind, FrameRecord& parent) {
  if (kind != FrameKind::kCallee) {  // two functions with one code may have other defaults
    SUTURE_TRY(known, known_continuation(parent, function));
    if (known) return known;
  }
  auto frame = std::make_shared<FrameRecord>();
  frame->kind = kind;
  frame->options = parent.options;
  frame->dynamic.mode = parent.options.dynamic;
  frame->user_line = parent.user_line;
  frame->root = parent.root.expired() ? parent.weak_from_this() : parent.root;
  parent.children.push_back(frame);
  SUTURE_TRY(callable, make_callable(function, std::move(frame)));
  PyRef weak = PyRef::steal(PyWeakref_NewRef(callable.get(), nullptr));
  if (!weak) return Error::python("compile");
  parent.continuations.push_back({PyRef::borrow(function_code(function)), std::move(weak)});
  return callable;
}

Result<PyRef> Compiler::compile_callee(PyView function, FrameRecord& frame) {
  auto root = frame.root.lock();
  FrameRecord& family = root ? *root : frame;
  for (const PyRef& weak : live_callables_) {
    PyView callable = weak_target(weak.get());
    if (callable == nullptr || jit_callable_function(callable) != function) continue;
    const int id = cache_of(callable).frame_id();
    const bool related =
        id == family.id || std::ranges::any_of(family.children, [&](const auto& c) { return c->id == id; });
    if (related) return PyRef::borrow(callable);
  }
  return compile_child(function, FrameKind::kCallee, family);
}

Result<PyRef> Compiler::make_callable(PyView function, std::shared_ptr<FrameRecord> frame) {
  frame->id = next_frame_++;
  if (auto code = code_view(function_code(function)); code.ok()) {
    frame->function = function_qualname(function);
    frame->file = code->filename;
    frame->line = code->first_line;
    const bool whole = frame->kind == FrameKind::kFunction || frame->kind == FrameKind::kCallee;
    if (whole) frame->user_line = frame->line;
    if (whole) note_source(function_code(function), code->filename, code->qualname);
  }
  std::erase_if(records_, [](const auto& entry) { return entry.second.expired(); });
  records_[frame->id] = frame;
  // A record may outlive its callable (parents keep the records of their children): it then has no cache.
  std::shared_ptr<void> unlink(frame.get(), [frame](void*) { frame->cache = nullptr; });
  CompileFn compile_fn = [this, frame, unlink](CodeCache& cache, const FrameInput& input) {
    return compile_frame(cache, input, *frame, *this);
  };
  auto cache = std::make_unique<CodeCache>(std::move(compile_fn), frame->id);
  cache->hides_caller = frame->kind == FrameKind::kIteration;
  cache->profile_when(&profiling);
  cache->sample_calls_with(
      [this, record = frame.get()](const CallSample& sample) { report_sample(*record, sample); });
  cache->tell_calls_during_compile([this, record = frame.get()](const CallsDuringCompile& calls) {
    report_calls_during_compile(*record, calls);
  });
  cache->watch_calls_by(&call_watch);
  cache->disable_when(&disabled);
  cache->count_compiles_in(&compiles_);
  cache->traverse_also(
      [record = frame.get()](visitproc visit, void* arg) { return traverse_record(*record, visit, arg); });
  frame->cache = cache.get();
  PyRef callable = make_jit_callable(function, std::move(cache));
  if (!callable) return Error::python("compile");
  if (PyRef weak = PyRef::steal(PyWeakref_NewRef(callable.get(), nullptr))) {
    std::erase_if(live_callables_, [](const PyRef& ref) { return weak_target(ref.get()) == nullptr; });
    live_callables_.push_back(std::move(weak));
  } else {
    return Error::python("compile");
  }
  return callable;
}

void Compiler::report_sample(const FrameRecord& frame, const CallSample& sample) {
  const CompileId id{frame.id, std::max(frame.compiles - 1, 0), 0};
  if (auto hint = page_fault_hint(frame, sample))
    report_unwritten(id, {EventId::kPerfHint},
                     [event = perf_hint_event(id, *hint)] { return std::vector<Event>{event}; });
}

void Compiler::report_calls_during_compile(const FrameRecord& frame, const CallsDuringCompile& calls) {
  if (!trace.wants(EventId::kCallsDuringCompile)) return;
  const std::string by_thread = "another thread was compiling the function",
                    by_compile =
                        "the function was called by what its own compile calls (a listener or a backend)";
  const std::string reason = calls.nested == 0             ? by_thread
                             : calls.nested == calls.calls ? by_compile
                                                           : by_thread + "; or " + by_compile;
  trace.emit(Event(EventId::kCallsDuringCompile, {frame.id, std::max(frame.compiles - 1, 0), 0})
                 .set("function", frame.function)
                 .set("file", frame.file)
                 .set("line", int64_t{frame.line})
                 .set("calls", calls.calls)
                 .set("nested", calls.nested)
                 .set("reason", reason));
}

void Compiler::announce_reset(PyView callable) {
  if (!hooks.before_reset) return;
  const PyRef hook = hooks.before_reset;  // it may take itself away
  PyRef done = PyRef::steal(PyObject_CallFunctionObjArgs(hook.get(), callable, nullptr));
  drop_hook_failure(hook.get());
}

// The callable goes on as a frame that nothing is known about.
void Compiler::forget(CodeCache& cache) {
  auto frame = record(cache.frame_id());
  cache.reset();
  if (!frame) return;
  records_.erase(frame->id);
  frame->id = next_frame_++;
  cache.renumber(frame->id);
  records_[frame->id] = frame;
  frame->dynamic = {};
  frame->dynamic.mode = frame->options.dynamic;
  frame->compiles = 0;
  frame->events.clear();
  frame->unwritten.clear();
  // Calls that are under way still enter their continuations.
  const bool running = cache.running();
  std::erase_if(frame->children, [&](const auto& child) { return !running || child->cache == nullptr; });
  frame->continuations.clear();
}

void Compiler::reset(PyView callable) {
  announce_reset(callable);
  forget(cache_of(callable));
}

void Compiler::reset() {
  const std::vector<PyRef> weak_references = live_callables_;  // both loops may edit the list
  const auto each_live = [&](auto visit) {
    for (const PyRef& weak : weak_references)
      if (PyRef callable = PyRef::borrow(weak_target(weak.get()))) visit(callable.get());
  };
  // All of them first: forgetting a callable frees those it made, whose counters belong to its status.
  each_live([&](PyView callable) { announce_reset(callable); });
  each_live([&](PyView callable) { forget(cache_of(callable)); });
}

// perf looks into ~/.debug by itself.
std::string Compiler::profile_directory() const {
  if (std::string directory = options.text("perf_dir"); !directory.empty()) return directory;
  const char* home = std::getenv("HOME");
  return std::string(home && *home ? home : ".") + "/.debug/jit";
}

std::string Compiler::cache_directory() const {
  std::string directory = options.text("cache_dir");
  if (directory == "off") return "";
  if (!directory.empty()) return directory;
  auto found = user_cache_directory();
  return found.ok() ? *found : "";
}

std::string Compiler::save_failure(const CompileId& id, const Error& error) const {
  KernelCache cache(cache_directory());
  if (!cache.enabled()) return "";
  std::string text = fmt::format("step: {}\nmessage: {}\n", error.step, error.message);
  for (const Event& event : family_events(id.frame)) text += to_json_line(event) + "\n";
  // One file per defect, however many processes meet it.
  return cache.write_source(
      fmt::format("{}{:016x}.txt", kInternalErrorPrefix, hash_bytes(error.step + ": " + error.message)),
      text);
}

Result<Toolchain*> Compiler::toolchain() {
  if (!toolchain_) {
    toolchain_ = make_toolchain({.kind = options.text("toolchain"),
                                 .cache_dir = cache_directory(),
                                 .plugin_path = hooks.plugin_path,
                                 .compiler = options.text("compiler"),
                                 .profile = options.text("perf"),
                                 .profile_dir = profile_directory()});
    if (!toolchain_) return Error::unsupported("toolchain", "no C++ compiler was found");
  }
  return toolchain_.get();
}

int64_t Compiler::compiler_runs() const {
  int64_t runs = toolchain_ ? toolchain_->compiler_runs() : 0;
  for (const auto& retired : retired_toolchains_) runs += retired->compiler_runs();
  return runs;
}

}  // namespace suture
