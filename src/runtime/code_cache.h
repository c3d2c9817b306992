// CodeCache: the entries of one JitCallable, and what happens at a call.
//
// How a call goes
//   guards of each entry, last hit first -> hit: run the entry
//                                        -> none: compile through the CompileFn that the driver installed
//   At every kSampleEvery-th hit of an entry its guards are timed once, by a walk of its own.
//   While a compile is running, and after a skip, a call that no entry accepts runs the function itself; those
//   of the first kind are counted and told of when the compile ends. A function whose __code__ was replaced starts anew.
// Invariants
//   - Entries are immutable, but for what they count, and stay alive while any call is running, also when reset() drops them
//     meanwhile.
//   - A compile belongs to a thread. A child made by fork has one of its parent's threads only: a compile of another one
//     will never end there, so it counts as not begun. (Locks below hold no such surprise: a compile keeps the interpreter lock
//     but for Python code that it calls, and holds none of its own there.)
//   - A Python exception leaves as it came; any other error of ours ends in a call of the function itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpython/jit_callable.h"
#include "guard/guard_costs.h"
#include "guard/guard_tree.h"
#include "guard/recipe.h"
#include "runtime/build_value.h"
#include "runtime/call_sample.h"
#include "runtime/call_watch.h"
#include "runtime/compiled_graph.h"

namespace suture {

int64_t live_cache_entries() noexcept;  // for leak tests

// A compiled variant of a frame.
struct CacheEntry {
  CacheEntry();
  ~CacheEntry();
  CacheEntry(const CacheEntry&) = delete;
  CacheEntry& operator=(const CacheEntry&) = delete;

  int number = 0;  // compile number within the frame
  GuardTree guards;
  // Either: run the graph and build `value` directly (no Python bytecode runs) ...
  PyRef compiled_graph;  // null when the frame has no graph
  std::vector<RecipeId> input_recipes;
  std::vector<Recipe> recipes;
  RecipeId value = -1;
  // ... or call the transformed function with the bound arguments and the entry values behind them.
  PyRef transformed;
  std::vector<Recipe> entry_values;  // kSource or kSymInt each
  // Not empty: `transformed` is the function itself, because these inputs gave nothing to compile.
  std::string eager_reason;
  int64_t hits = 0;
  GuardCosts guard_costs;
  // Told after the 2nd, 4th, 8th, ... sample of guard_costs, when the call is over. May be empty.
  std::function<void(const CacheEntry&)> on_guard_costs;
  ValuePlan value_plan;  // found when the entry is installed
};

// Calls that ran in the interpreter because the function was being compiled.
struct CallsDuringCompile {
  int64_t calls = 0;
  int64_t nested = 0;  // of them made by what the compile calls: a listener, a backend
};

struct FrameCounters {
  int64_t calls = 0, hits = 0, compiles = 0, recompiles = 0;
  int64_t during_compile = 0;  // see CallsDuringCompile
  // Inclusive time of calls, kept only while profiling is on (CodeCache::profile): calls that compiled
  // something, and others.
  double first_ms = 0, time_ms = 0;
  int64_t steady_calls = 0;  // calls that time_ms is the time of
};

class CodeCache;
struct CompileOutcome {
  std::unique_ptr<CacheEntry> entry;       // or:
  std::optional<std::string> skip_reason;  // run eagerly from now on
};
// Errors: kPython propagates the exception to the caller (GraphBreak under fullgraph, KeyboardInterrupt).
using CompileFn = std::function<Result<CompileOutcome>(CodeCache& cache, const FrameInput& input)>;

class CodeCache : public FrameState {
 public:
  static constexpr int64_t kSampleEvery = 1024;  // a power of two

  CodeCache(CompileFn compile, int frame_id);
  PyObject* on_call(PyView function, std::span<PyObject* const> bound) override;
  int traverse(visitproc visit, void* arg) override;
  void clear() override;

  const std::vector<std::unique_ptr<CacheEntry>>& entries() const { return entries_; }
  const FrameCounters& counters() const;
  int frame_id() const { return frame_id_; }
  void renumber(int frame_id) { frame_id_ = frame_id; }
  const std::optional<std::string>& skip_reason() const { return skip_reason_; }
  void reset();
  bool running() const { return running_ > 0; }  // a call is under way
  // `on` is owned by the caller and outlives every cache; while *on, on_call adds to counters().time_ms and
  // first_ms.
  void profile_when(const bool* on) { profiling = on; }
  // While profiling is on, *watch (null: nobody) sees calls that no other compiled function makes.
  void watch_calls_by(const std::shared_ptr<CallWatch>* watch) { watch_ = watch; }
  // While *on, every call runs in the interpreter; entries stay.
  void disable_when(const bool* on) { disabled_ = on; }
  // While profiling is on, a few calls after each compile are counted.
  void sample_calls_with(OnCallSample on_sample) { on_sample_ = std::move(on_sample); }
  // Told when a compile ends during which there were such calls.
  void tell_calls_during_compile(std::function<void(const CallsDuringCompile&)> tell) {
    tell_during_compile_ = std::move(tell);
  }
  // What the owner of the compile function holds, for the cycle collector.
  void traverse_also(std::function<int(visitproc, void*)> visit) { traverse_also_ = std::move(visit); }
  // Counts compiles of all caches that share it, so that a call knows whether anything was compiled during
  // it.
  void count_compiles_in(int64_t* compiles) { compiles_anywhere_ = compiles; }

 private:
  class Running;
  class Compiling;
  bool is_being_compiled();
  void count_steady(double ms, int64_t faults);
  PyObject* run_call(PyView function, std::span<PyObject* const> bound);
  PyObject* watched_call(std::shared_ptr<CallWatch> watch, PyView function, std::span<PyObject* const> bound);
  PyObject* dispatch(const FrameInput& input, Running& running);
  CacheEntry* find(const FrameInput& input, GuardScratch& scratch);
  PyObject* compile_and_run(const FrameInput& input, Running& running);
  PyObject* run_sampled(CacheEntry& entry, const FrameInput& input, Running& running);
  CacheEntry* install(std::unique_ptr<CacheEntry> entry);
  void skip(std::string reason);
  PyObject* run(CacheEntry& entry, const FrameInput& input, Running& running);
  PyObject* run_transformed(const CacheEntry& entry, PyView transformed, const FrameInput& input,
                            const GuardScratch& scratch);
  PyObject* run_graph(CacheEntry& entry, const FrameInput& input, GuardScratch& scratch);
  void drop_entries();
  void start_anew_after_new_code(PyView function);

  int64_t compiles_anywhere() const { return compiles_anywhere_ ? *compiles_anywhere_ : 0; }

  const std::shared_ptr<CallWatch>* watch_ = nullptr;
  int64_t* compiles_anywhere_ = nullptr;
  const bool* disabled_ = nullptr;
  CompileFn compile_;
  std::function<int(visitproc, void*)> traverse_also_;
  int frame_id_;
  std::vector<std::unique_ptr<CacheEntry>> entries_;  // in order of compilation
  std::vector<CacheEntry*> order_;                    // last hit first
  std::vector<std::unique_ptr<CacheEntry>> retired_;  // dropped while calls were running
  std::unique_ptr<GuardScratch> scratch_;             // null while a call uses it
  mutable FrameCounters counters_;
  CallSample sample_;
  OnCallSample on_sample_;
  std::optional<std::string> skip_reason_;
  PyRef code_;  // the code object that the entries were compiled from
  int running_ = 0;
  std::function<void(const CallsDuringCompile&)> tell_during_compile_;
  struct UnderWay {
    uint64_t thread = 0;
    int process = 0;
    CallsDuringCompile calls;
  };
  std::optional<UnderWay> compile_under_way_;
};

// Of a compiled function (is_jit_callable): every callable is made with a cache as its state.
inline CodeCache& cache_of(PyView callable) { return static_cast<CodeCache&>(*jit_callable_state(callable)); }

}  // namespace suture
