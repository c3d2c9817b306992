// Compiler: one per process module. Owns options, trace, toolchain and the records of all frames; makes
// JitCallables.
//
// Life cycle
//   suture.compile(f)   -> compile(): a JitCallable whose CodeCache calls back into compile_frame on a miss
//   first real compile  -> toolchain() loads the kernel compiler
//   suture.reset()      -> every live cache drops its entries, and its callable is a new frame from then on: the
//   records of the old frame are gone, but compile ids never come again, so that whoever kept its events can tell
//   them from later ones
// Invariants
//   - No Python object is kept alive by the Compiler except the exception type and the hooks of the bindings;
//   records are
//     owned by the callables.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/ring_file.h"
#include "cpython/py_ref.h"
#include "driver/compile_context.h"
#include "driver/frame_record.h"
#include "driver/marks.h"
#include "driver/options.h"
#include "graph/graph.h"
#include "runtime/code_cache.h"
#include "toolchain/toolchain.h"
#include "trace/event.h"
#include "trace/frame_kind.h"

namespace suture {

// What only the bindings can make.
struct BindingHooks {
  PyRef graph_break_type;     // suture.GraphBreak
  PyRef internal_error_type;  // raised in strict mode
  using InputBindings = std::vector<NativeGraph::InputBinding>;
  std::function<Result<PyRef>(const Graph&, PyRef forward, InputBindings)>
      make_graph_object;  // suture.Graph for backends, with the callable that its forward() gives
  // What compile_graph, called with such an object, relied on about sizes; null: it was not called.
  std::function<const ShapeEnv*(PyView graph_object)> relied_on;
  std::function<Result<PyRef>(const Graph& lowered, InputBindings)>
      make_interpreter;  // backend lowered_eager
  PyRef graph_watch;     // of the minifier, see failed_compile.cpp; empty: failures leave no file
  PyRef graph_recorder;  // of the debug dump, see record_run.cpp; empty: runs are not recorded
  PyRef before_reset;    // called with each callable whose records are about to go; empty: nobody keeps them
  std::string plugin_path;  // libsuture_toolchain.so beside the module
};

class Compiler {
 public:
  Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  // A JitCallable around `function`. kUnsupported when it is not a Python function.
  Result<PyRef> compile(PyView function, FrameOptions options);
  // The same for a function that belongs to `parent` (resume functions, iteration functions).
  Result<PyRef> compile_child(PyView function, FrameKind kind, FrameRecord& parent);

  // The wrapper of a function that frames of `frame`'s family call; one per function object.
  Result<PyRef> compile_callee(PyView function, FrameRecord& frame);

  Result<Toolchain*> toolchain();  // made at the first call
  int64_t compiler_runs() const;   // of the C++ compiler, all in all
  std::string profile_directory() const;
  std::string cache_directory() const;  // resolved; "" when off
  std::shared_ptr<FrameRecord> record(int frame_id) const;
  int new_frame_id() { return next_frame_++; }  // of a compile that no frame asked for
  // Events of a callable and of everything it made, in order of time.
  std::vector<Event> family_events(int frame_id) const;
  // A compiled callable and the live ones that it made, in the order of their frames.
  std::vector<PyRef> family_callables(PyView callable) const;
  // Those that the program made, in the order of their frames.
  std::vector<PyRef> program_callables() const;
  // Emits what `make` makes when a listener wants one of `kinds`, and remembers how to make it for family_events: nobody
  // pays for texts that nobody reads. `make` owns what it needs.
  void report_unwritten(const CompileId& id, std::initializer_list<EventId> kinds, MakeEvents make);
  // The ring file of this process (write_ahead.h), made at the first call; null when the cache is off. Stays.
  RingFile* records();
  void reset();
  void reset(PyView callable);
  // Writes what is known about an internal error into the cache directory; path, or "" when the cache is off or cannot
  // be used. Stays until `suture cache clear`.
  static constexpr std::string_view kInternalErrorPrefix = "internal_error_";
  std::string save_failure(const CompileId& id, const Error& error) const;

  // Changes a process option; what depends on it follows.
  Status set_option(const std::string& name, std::string value);

  Options options;
  Trace trace;
  Marks marks;
  BindingHooks hooks;
  int numpy_minor = 3;
  bool profiling = false;  // caches add up call times and sample calls, graphs are measured (perf_hints.h)
  // A measured run is under way in this thread: its replays are nobody's news.
  inline static thread_local bool measuring = false;
  bool disabled = false;                  // option `disable`: every call runs in the interpreter
  std::shared_ptr<CallWatch> call_watch;  // null: nobody watches

 private:
  std::vector<PyRef> callables_where(const std::function<bool(int frame)>& wanted) const;
  Result<PyRef> make_callable(PyView function, std::shared_ptr<FrameRecord> record);
  void remember(const Event& event);
  void announce_reset(PyView callable);
  void forget(CodeCache& cache);
  void report_sample(const FrameRecord& frame, const CallSample& sample);
  void report_calls_during_compile(const FrameRecord& frame, const CallsDuringCompile& calls);

  int next_frame_ = 0;
  int64_t compiles_ = 0;  // of all caches
  std::map<int, std::weak_ptr<FrameRecord>> records_;
  std::vector<PyRef> live_callables_;  // weak references
  std::unique_ptr<Toolchain> toolchain_;
  std::vector<std::unique_ptr<Toolchain>> retired_toolchains_;  // their kernels may still be in use
};

}  // namespace suture
