// Launcher: runs a launch plan for one call.
//
// How a call goes
//   bind symbols -> sizes (kept while the symbols keep their values) -> unpack inputs -> allocate outputs ->
//   save inputs that will be overwritten -> clear floating-point flags -> steps -> flags and status bits ->
//   hand out outputs, or replay.
// Invariants
//   - Anything unforeseen (an int that does not fit, a NumPy result of another layout than planned) ends in a
//     replay, never in a wrong result. Overwritten inputs have their old contents back when the replay
//     starts.
//   - Re-entrant: a call made while another one of the same graph is running (a finaliser may do that) uses a
//     frame of its own.
//   - Arena and frame are reused by the next call; arenas above Arena::kKeptBytes are given back.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "cpython/py_ref.h"
#include "runtime/compiled_graph.h"
#include "runtime/launch_layout.h"
#include "runtime/numpy_step.h"

namespace suture {

class Launcher {
 public:
  static Result<std::unique_ptr<Launcher>> build(NativeGraph native);
  ~Launcher();
  enum class Ending { kDone, kRaised, kRerunFrame };
  // New references into `outputs`; or kRaised, with an exception set; or kRerunFrame, with every input as it was.
  Ending run(std::span<PyObject* const> inputs, std::span<PyObject*> outputs);
  size_t output_count() const { return native_.plan.outputs.size(); }
  size_t input_count() const {
    return input_count_;
  }  // inputs that must be given; more may follow, they only bind symbols
  int traverse(visitproc visit, void* arg) const;
  void clear() { native_.replay = {}; }
  const KernelLibrary* library() const { return native_.library.get(); }
  void watch_runs(std::unique_ptr<RunWatch> watch) { watch_ = std::move(watch); }
  void record_steps(RunRecorder* recorder) { recorder_ = recorder; }  // null: no longer

 private:
  struct Step {
    suture_kernel_fn kernel = nullptr;  // null: numpy
    NumpyStep numpy;
  };
  struct Frame;
  enum class Outcome { kDone, kReplay, kError };

  explicit Launcher(NativeGraph native);
  Status resolve_steps();
  Status sort_buffers();
  Ending run_in(Frame& frame, std::span<PyObject* const> inputs, std::span<PyObject*> outputs);
  Outcome launch(Frame& frame, std::span<PyObject* const> inputs);
  bool bind_symbols(Frame& frame, std::span<PyObject* const> inputs) const;
  bool update_layout(Frame& frame, std::span<PyObject* const> inputs) const;
  bool load_inputs(Frame& frame, std::span<PyObject* const> inputs) const;
  Outcome allocate(Frame& frame) const;
  void place_views(Frame& frame) const;
  Outcome run_steps(Frame& frame, std::span<PyObject* const> inputs);
  Outcome run_numpy(Frame& frame, std::span<PyObject* const> inputs, size_t step);
  bool accept_result(Frame& frame, int buffer, PyRef result) const;
  PyRef object_of(Frame& frame, std::span<PyObject* const> inputs, int buffer) const;
  bool collect(Frame& frame, std::span<PyObject* const> inputs, std::span<PyObject*> outputs) const;
  bool replay(std::span<PyObject* const> inputs, std::span<PyObject*> outputs) const;
  bool must_replay(Frame& frame) const;

  NativeGraph native_;
  std::vector<Step> steps_;
  std::vector<int> saved_inputs_;  // placeholders that are overwritten, when they are saved
  // Buffers by what a call does with them; views after their bases. Arrays that NumPy calls make are in none.
  std::vector<int> inputs_, temporaries_, arrays_, scalars_, views_;
  size_t input_count_ = 0;
  bool static_ = false;
  RunRecorder* recorder_ = nullptr;
  std::unique_ptr<RunWatch> watch_;
  std::unique_ptr<Frame> frame_;  // null while in use
};

}  // namespace suture
