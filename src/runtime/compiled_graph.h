// CompiledGraph: a graph ready to run: launch plan plus kernels, or a callable from another backend.
//
// Overview
//   run() takes the placeholder objects (arrays, NumPy scalars, Python numbers), binds symbols, allocates
//   outputs, launches, and returns one object per graph output. As a Python object it has vectorcall and
//   returns a tuple.
// Invariants
//   - Floating-point status flags are cleared before and tested after; any condition that NumPy's error state
//     does not ignore, and any kernel status bit, makes the work run again under NumPy, whose results,
//     warnings and exceptions are the user's: either the graph alone (replay), or the whole frame
//     (RunAgain). Graphs that write into inputs start over from saved copies of what they overwrote.
//   - The GIL is held throughout in this version.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "cpython/py_ref.h"
#include "plan/launch_plan.h"
#include "toolchain/toolchain.h"

namespace suture {

// What runs under NumPy when the graph met a condition that NumPy would report: the graph alone, or its whole frame.
enum class RunAgain : uint8_t { kGraph, kFrame };

struct NativeGraph {
  LaunchPlan plan;
  std::shared_ptr<KernelLibrary> library;
  PyRef replay;  // Python callable: the captured graph under NumPy
  int symbol_count = 0;
  struct InputBinding {  // symbol <- input
    SymbolId symbol;
    int input;
    int axis;     // -1: the Python int itself
    bool stride;  // in elements
  };
  std::vector<InputBinding> bindings;
  bool mutates_inputs = false;
  // kFrame: the graph is the first thing its frame does, and the frame has handlers or effects that a replay cannot
  // honour: instead of a replay the call fails with needs_frame_rerun(), and the code cache runs the function.
  RunAgain again = RunAgain::kGraph;
  std::function<void(uint32_t kernel_status, int fp_flags)> on_replay;  // emits the event
};

// Sees one run of a graph, for the debug dump and for measured hints. Called with no Python exception set; must leave none
// behind.
class RunRecorder {
 public:
  virtual ~RunRecorder() = default;
  virtual void before(std::span<PyObject* const> inputs) = 0;
  virtual void step_begins(size_t) {}  // of the launch plan; once more after the last, with their number
  virtual void numpy_step(size_t step, PyView result) = 0;  // of the launch plan
  virtual void after(std::span<PyObject* const> outputs) = 0;
  virtual void failed() = 0;  // instead of `after`: the run raised
};

// Is told of runs before they begin and when they have ended. Called with no Python exception set before, and with whatever the
// run left after; runs no Python code.
class RunWatch {
 public:
  struct Session {
    uint64_t serial = 0, place = 0;  // serial 0: this run is not wanted
    explicit operator bool() const { return serial != 0; }
  };
  virtual ~RunWatch() = default;
  virtual bool every_run() const = 0;  // false: only runs whose sizes are not those of the run before
  virtual Session begins(std::span<PyObject* const> inputs) = 0;
  virtual void ended(Session session) = 0;
};

Status register_compiled_graph_type(PyView module);
// Errors: kInternal when the plan and the library do not fit together.
Result<PyRef> make_compiled_graph(NativeGraph native, std::string name);
// Foreign backends: callable(*inputs) -> tuple. Empty with an exception set when there is no memory.
// kFrame: an exception of the callable ends in needs_frame_rerun(), it is NumPy's turn to raise; kGraph: it is the user's.
// outputs: how many it must return.
PyRef make_compiled_graph(PyRef callable, std::string name, size_t outputs,
                          RunAgain again = RunAgain::kGraph);
// True when the pending exception only says that Python must run the frame; it is cleared then.
bool needs_frame_rerun() noexcept;
// New references into `outputs` (sized to the output count). False with an exception set on failure.
bool run_compiled_graph(PyView compiled_graph, std::span<PyObject* const> inputs,
                        std::span<PyObject*> outputs);
// The same for a foreign callable: the tuple of its outputs, or empty with an exception set.
PyRef run_foreign_graph(PyView compiled_graph, std::span<PyObject* const> inputs);
// The next run is recorded, and no further one.
void record_next_run(PyView compiled_graph, std::unique_ptr<RunRecorder> recorder);
// All runs from now on.
void watch_runs(PyView compiled_graph, std::unique_ptr<RunWatch> watch);
const KernelLibrary* kernel_library(
    PyView compiled_graph) noexcept;  // null: a foreign callable, or no kernels
int compiled_graph_output_count(
    PyView compiled_graph) noexcept;      // -1: a foreign callable, known after its call
int64_t live_compiled_graphs() noexcept;  // for leak tests

}  // namespace suture
