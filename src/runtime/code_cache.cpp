// See code_cache.h.
#include "runtime/code_cache.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>

#include "cpython/call_binding.h"
#include "cpython/hidden_frames.h"
#include "cpython/objects.h"
#include "cpython/tail_call.h"
#include "cpython/untraced.h"
#include "runtime/stepping.h"

namespace suture {

namespace {

int64_t live_entries = 0;

// Objects of one call. Small calls need no allocation.
class Slots {
 public:
  explicit Slots(size_t count) : count_(count) {
    if (count > kInline) heap_.resize(count);
    slots_ = count > kInline ? heap_.data() : inline_;
    std::fill_n(slots_, count, nullptr);
  }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  std::span<PyObject*> span() { return {slots_, count_}; }

 private:
  static constexpr size_t kInline = 12;
  PyObject* inline_[kInline];
  std::vector<PyObject*> heap_;
  PyObject** slots_;
  size_t count_;
};

// Those that are set are owned.
class ObjectSlots : public Slots {
 public:
  using Slots::Slots;
  ~ObjectSlots() {
    for (PyObject* object : span()) let_go(object);
  }
};

bool fits(const CacheEntry& entry) {
  for (RecipeId id : entry.input_recipes) {
    if (id < 0 || static_cast<size_t>(id) >= entry.recipes.size()) return false;
    const Recipe::Kind kind = entry.recipes[static_cast<size_t>(id)].kind;
    if (kind != Recipe::Kind::kSource && kind != Recipe::Kind::kSymInt && kind != Recipe::Kind::kConstant)
      return false;
  }
  const int outputs = entry.compiled_graph ? compiled_graph_output_count(entry.compiled_graph.get()) : 0;
  for (const Recipe& recipe : entry.recipes)
    if (recipe.kind == Recipe::Kind::kGraphOutput && outputs >= 0 && recipe.index >= outputs) return false;
  return ValuePlan::unsupported(entry.recipes, entry.value).empty();
}

// What the frame finds at its entry: new reference, or empty when its source is gone.
PyRef input_object(const CacheEntry& entry, const Recipe& recipe, const FrameInput& input,
                   const GuardScratch& scratch) {
  if (recipe.kind == Recipe::Kind::kConstant) return recipe.object;
  if (recipe.kind == Recipe::Kind::kSymInt) return symbolic_int(recipe.sym, scratch.symbols);
  const Source& source = entry.guards.set().sources[recipe.source];
  const bool argument = source.kind == SourceKind::kLocal;
  return PyRef::borrow(argument ? fetch_step(source, nullptr, input)
                                : fetch(entry.guards.set().sources, recipe.source, input));
}

PyObject* run_eagerly(const FrameInput& input) { return call_with_bound(input.function, input.arguments); }

int traverse_entry(const CacheEntry& entry, visitproc visit, void* arg) {
  Py_VISIT(entry.compiled_graph.get());
  Py_VISIT(entry.transformed.get());
  for (const Recipe& recipe : entry.recipes) Py_VISIT(recipe.object.get());
  return entry.guards.traverse(visit, arg);
}

}  // namespace

CacheEntry::CacheEntry() { ++live_entries; }
CacheEntry::~CacheEntry() { --live_entries; }
int64_t live_cache_entries() noexcept { return live_entries; }

// One call: its scratch, its share in keeping entries alive, and its time.
class CodeCache::Running {
 public:
  explicit Running(CodeCache& cache) : cache_(cache), scratch(std::move(cache.scratch_)) {
    if (!scratch) scratch = std::make_unique<GuardScratch>();
    ++cache_.running_;
    if (cache_.profiling && *cache_.profiling) {
      compiles_before_ = cache_.compiles_anywhere();
      faults_before_ = cache_.sample_.is_open() ? minor_faults_of_thread() : 0;
      begin_ = Clock::now();
    }
  }
  ~Running() {
    stop_if_interpreter_is_gone();
    if (begin_ != Clock::time_point{}) {
      const std::chrono::duration<double, std::milli> spent = Clock::now() - begin_;
      const bool steady = !compiled && cache_.compiles_anywhere() == compiles_before_;
      (steady ? cache_.counters_.time_ms : cache_.counters_.first_ms) += spent.count();
      cache_.counters_.steady_calls += steady;
      if (steady && cache_.sample_.is_open())
        cache_.count_steady(spent.count(), minor_faults_of_thread() - faults_before_);
      if (!steady) cache_.sample_ = {};
    }
    cache_.scratch_ = std::move(scratch);
    // Freed entries may run code that comes back here: the list is emptied first.
    if (--cache_.running_ == 0 && !cache_.retired_.empty()) auto freed = std::exchange(cache_.retired_, {});
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  CodeCache& cache_;
  Clock::time_point begin_{};
  int64_t compiles_before_ = 0, faults_before_ = 0;

 public:
  std::unique_ptr<GuardScratch> scratch;
  bool compiled = false;
  bool is_tail_call = false;
};

int64_t minor_faults_of_thread() noexcept {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_minflt : 0;
}

// The first calls after a compile fill the memory that later ones use again.
void CodeCache::count_steady(double ms, int64_t faults) {
  if (++sample_.seen <= CallSample::kWarmup) return;
  sample_.ms += ms;
  sample_.minor_faults += faults;
  if (sample_.is_open() || !on_sample_) return;
  try {
    on_sample_(sample_);
  } catch (const std::exception&) {  // out of memory: a hint less. This runs in a destructor.
  }
}

CodeCache::CodeCache(CompileFn compile, int frame_id) : compile_(std::move(compile)), frame_id_(frame_id) {}

const FrameCounters& CodeCache::counters() const {
  counters_.calls = calls;
  return counters_;
}

PyObject* CodeCache::on_call(PyView function, std::span<PyObject* const> bound) {
  if (function_code(function) != code_.get()) start_anew_after_new_code(function);
  if (profiling && *profiling && watch_ && *watch_) return watched_call(*watch_, function, bound);
  return run_call(function, bound);
}

PyObject* CodeCache::run_call(PyView function, std::span<PyObject* const> bound) {
  Running running(*this);
  running.is_tail_call = starts_as_tail_call(function);
  return dispatch({function, bound}, running);
}

PyObject* CodeCache::watched_call(std::shared_ptr<CallWatch> watch, PyView function,
                                  std::span<PyObject* const> bound) {
  static thread_local bool inside = false;
  if (inside) return run_call(function, bound);
  PyRef session = watch->begin(function, bound);
  inside = true;
  PyObject* result = run_call(function, bound);
  inside = false;
  if (!session) return result;
  // The user's exception comes out unchanged, whatever the watch does.
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  watch->end(session.get(), result, type);
  PyErr_Restore(type, value, traceback);
  return result;
}

PyObject* CodeCache::dispatch(const FrameInput& input, Running& running) {
  if (disabled_ && *disabled_) return run_eagerly(input);
  if (CacheEntry* entry = find(input, *running.scratch)) {
    ++counters_.hits;
    if (++entry->hits % kSampleEvery == 0) return run_sampled(*entry, input, running);
    return run(*entry, input, running);
  }
  if (skip_reason_ || is_being_compiled()) return run_eagerly(input);
  return compile_and_run(input, running);
}

CacheEntry* CodeCache::find(const FrameInput& input, GuardScratch& scratch) {
  for (size_t i = 0; i < order_.size(); ++i) {
    CacheEntry* entry = order_[i];
    if (const int guard = entry->guards.refusing(input, scratch); guard >= 0) {
      ++entry->guard_costs.failures[static_cast<size_t>(guard)];
      continue;
    }
    if (i > 0)
      std::rotate(order_.begin(), order_.begin() + static_cast<long>(i),
                  order_.begin() + static_cast<long>(i) + 1);
    return entry;
  }
  return nullptr;
}

// Listeners are told after the call: they run code of the user's, and the guards spoke about this moment.
PyObject* CodeCache::run_sampled(CacheEntry& entry, const FrameInput& input, Running& running) {
  std::vector<double> sample;
  if (entry.guards.measure(input, *running.scratch, sample)) entry.guard_costs.add_sample(sample);
  PyObject* result = run(entry, input, running);
  if (!entry.on_guard_costs || !std::has_single_bit(static_cast<uint64_t>(entry.guard_costs.samples)))
    return result;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  entry.on_guard_costs(entry);
  PyErr_Restore(type, value, traceback);
  return result;
}

namespace {

// A number that no other thread of this process had, nor one of its parent: pthread_self is given out again.
uint64_t thread_serial() {
  static uint64_t last = 0;  // under the interpreter lock
  static thread_local const uint64_t serial = ++last;
  return serial;
}

}  // namespace

class CodeCache::Compiling {
 public:
  explicit Compiling(CodeCache& cache) : cache_(cache) {
    cache_.compile_under_way_ = {thread_serial(), getpid(), {}};
  }
  ~Compiling() {
    stop_if_interpreter_is_gone();
    auto& under_way = cache_.compile_under_way_;
    if (!under_way || under_way->thread != thread_serial()) return;  // another one's, in a child
    const CallsDuringCompile calls = under_way->calls;
    under_way.reset();
    if (calls.calls == 0 || !cache_.tell_during_compile_) return;
    try {
      cache_.tell_during_compile_(calls);
    } catch (const std::exception&) {  // out of memory: a record less
    }
  }
  Compiling(const Compiling&) = delete;
  Compiling& operator=(const Compiling&) = delete;

 private:
  CodeCache& cache_;
};

// For a call that no entry accepts; counts it.
bool CodeCache::is_being_compiled() {
  if (!compile_under_way_) return false;
  const bool nested = compile_under_way_->thread == thread_serial();
  if (!nested && compile_under_way_->process != getpid()) {
    compile_under_way_.reset();
    return false;
  }
  ++compile_under_way_->calls.calls;
  compile_under_way_->calls.nested += nested;
  ++counters_.during_compile;
  return true;
}

PyObject* CodeCache::compile_and_run(const FrameInput& input, Running& running) {
  running.compiled = true;
  if (compiles_anywhere_) ++*compiles_anywhere_;
  const PyRef code = code_;
  Result<CompileOutcome> outcome = [&] {
    const Compiling compiling(*this);
    std::optional<Untraced> untraced;
    if (is_stepping()) untraced.emplace();
    return compile_(*this, input);
  }();
  if (!outcome.ok()) {
    if (outcome.error().kind == ErrorKind::kPython && PyErr_Occurred()) return nullptr;
    skip(outcome.error().message);
    return run_eagerly(input);
  }
  // Python code that ran meanwhile may have replaced the function's code.
  if (code.get() != code_.get()) return run_eagerly(input);
  if (outcome->skip_reason) skip(*std::move(outcome->skip_reason));
  CacheEntry* entry = outcome->entry ? install(std::move(outcome->entry)) : nullptr;
  // An entry that does not accept its own call (an argument changed while it was compiled) is left for later
  // calls.
  if (entry == nullptr || !entry->guards.matches(input, *running.scratch)) return run_eagerly(input);
  ++entry->hits;
  return run(*entry, input, running);
}

CacheEntry* CodeCache::install(std::unique_ptr<CacheEntry> entry) {
  if (!entry->transformed && entry->eager_reason.empty()) {
    if (!fits(*entry)) {
      skip("the compiled frame's value cannot be built");
      return nullptr;
    }
    entry->value_plan = ValuePlan::of(entry->recipes, entry->value, entry->guards.set().sources);
  }
  if (entry->eager_reason.empty()) {
    ++counters_.compiles;
    if (!entries_.empty()) ++counters_.recompiles;
  }
  entry->guard_costs.failures.resize(entry->guards.set().guards.size());
  entries_.push_back(std::move(entry));
  order_.insert(order_.begin(), entries_.back().get());
  return entries_.back().get();
}

// The entries that exist go on serving the calls they accept.
void CodeCache::skip(std::string reason) {
  skip_reason_ = std::move(reason);
  bypass = entries_.empty();
}

PyObject* CodeCache::run(CacheEntry& entry, const FrameInput& input, Running& running) {
  if (!entry.eager_reason.empty()) return run_eagerly(input);
  PyView transformed = entry.transformed.get();
  PyRef stepped;
  if (is_stepping()) [[unlikely]] {
    const std::string id = std::to_string(frame_id_) + "/" + std::to_string(entry.number);
    stepped = stepping_function(input.function, id.c_str(), transformed);
    if (stepped && transformed == nullptr) return call_with_bound(stepped.get(), input.arguments);
    if (stepped) transformed = stepped.get();
  }
  if (!transformed) return run_graph(entry, input, *running.scratch);
  PyObject* result = run_transformed(entry, transformed, input, *running.scratch);
  if (result != nullptr) return running.is_tail_call ? result : finish_tail_call(result);
  if (needs_frame_rerun()) return run_eagerly(input);
  drop_hidden_frame();
  return nullptr;
}

// The entry values are fetched where no other code has run since the guards were evaluated. The frame takes
// references of its own before it runs anything; ours are gone by then, so that it can let go of the objects.
PyObject* CodeCache::run_transformed(const CacheEntry& entry, PyView transformed, const FrameInput& input,
                                     const GuardScratch& scratch) {
  if (entry.entry_values.empty()) return call_with_bound(transformed, input.arguments);
  Slots arguments(input.arguments.size() + entry.entry_values.size());
  std::vector<PyRef> ints;  // plain numbers: that they live on can be seen by nobody
  auto next = std::ranges::copy(input.arguments, arguments.span().begin()).out;
  for (const Recipe& recipe : entry.entry_values) {
    if (recipe.kind == Recipe::Kind::kSource) {
      *next = fetch(entry.guards.set().sources, recipe.source, input);
    } else {
      ints.push_back(symbolic_int(recipe.sym, scratch.symbols));
      *next = ints.back().get();
    }
    if (*next++ == nullptr) return PyErr_Occurred() ? nullptr : run_eagerly(input);
  }
  return PyObject_Vectorcall(transformed, arguments.span().data(), arguments.span().size(), nullptr);
}

PyObject* CodeCache::run_graph(CacheEntry& entry, const FrameInput& input, GuardScratch& scratch) {
  // Everything that comes from outside is fetched before the graph runs: the guards spoke about this moment.
  ObjectSlots inputs(entry.input_recipes.size());
  for (size_t i = 0; i < entry.input_recipes.size(); ++i) {
    PyRef object =
        input_object(entry, entry.recipes[static_cast<size_t>(entry.input_recipes[i])], input, scratch);
    if (!object) return PyErr_Occurred() ? nullptr : run_eagerly(input);
    inputs.span()[i] = object.release();
  }
  const ValuePlan& plan = entry.value_plan;
  std::vector<PyRef> owned;
  std::vector<PyObject*> built(plan.needs_slots ? entry.recipes.size() : 0);
  for (RecipeId id : plan.sources) {
    owned.push_back(PyRef::borrow(
        fetch(entry.guards.set().sources, entry.recipes[static_cast<size_t>(id)].source, input)));
    if (!owned.back()) return run_eagerly(input);
    built[static_cast<size_t>(id)] = owned.back().get();
  }
  const int count = entry.compiled_graph ? compiled_graph_output_count(entry.compiled_graph.get()) : 0;
  ObjectSlots outputs(static_cast<size_t>(std::max(count, 0)));
  std::span<PyObject* const> results = outputs.span();
  PyRef foreign;
  if (count < 0) {
    foreign = run_foreign_graph(entry.compiled_graph.get(), inputs.span());
    if (!foreign) return needs_frame_rerun() ? run_eagerly(input) : nullptr;
    results = {reinterpret_cast<PyTupleObject*>(foreign.get())->ob_item,
               static_cast<size_t>(PyTuple_GET_SIZE(foreign.get()))};
  } else if (entry.compiled_graph &&
             !run_compiled_graph(entry.compiled_graph.get(), inputs.span(), outputs.span())) {
    return needs_frame_rerun() ? run_eagerly(input) : nullptr;
  }
  const BuildContext context{entry.recipes, entry.guards.set().sources, input, scratch.symbols, results,
                             built};
  return build_value(context, entry.value, owned).release();
}

void CodeCache::drop_entries() {
  order_.clear();
  auto dropped = std::exchange(entries_, {});
  if (running_ > 0) std::ranges::move(dropped, std::back_inserter(retired_));
}

void CodeCache::start_anew_after_new_code(PyView function) {
  if (code_) reset();
  code_ = PyRef::borrow(function_code(function));
}

void CodeCache::reset() {
  skip_reason_.reset();
  bypass = false;
  counters_ = {};
  calls = 0;
  drop_entries();
}

int CodeCache::traverse(visitproc visit, void* arg) {
  Py_VISIT(code_.get());
  for (const auto* list : {&entries_, &retired_})
    for (const auto& entry : *list)
      if (int stop = traverse_entry(*entry, visit, arg)) return stop;
  return traverse_also_ ? traverse_also_(visit, arg) : 0;
}

void CodeCache::clear() {
  code_ = {};
  drop_entries();
}

}  // namespace suture
