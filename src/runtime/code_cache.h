// CodeCache: the entries of one JitCallable, and what happens at a call.
//
// on_call: evaluate each entry's guards, newest hit first; on a hit run the entry; otherwise compile through
// the CompileFn that the driver installed, unless the policy says skip. Entries are immutable; the list is
// replaced as a whole.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpython/jit_callable.h"
#include "guard/guard_tree.h"
#include "guard/recipe.h"
#include "runtime/compiled_graph.h"

namespace suture {

// A compiled variant of a frame.
struct CacheEntry {
  int number = 0;  // compile number within the frame
  GuardTree guards;
  // Either: run the graph and build `value` directly (no Python bytecode runs) ...
  PyRef compiled_graph;  // null when the frame has no graph
  std::vector<RecipeId> input_recipes;
  std::vector<Recipe> recipes;
  RecipeId value = -1;
  // ... or call the transformed function with the bound arguments.
  PyRef transformed;
  int64_t hits = 0;
};

struct FrameCounters {
  int64_t calls = 0, hits = 0, compiles = 0, recompiles = 0;
  // Inclusive time of calls, kept only while profiling is on (CodeCache::profile): calls that compiled
  // something, and others.
  double first_ms = 0, time_ms = 0;
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
  CodeCache(CompileFn compile, int frame_id, std::string kind);
  PyObject* on_call(PyView function, std::span<PyObject* const> bound) override;
  int traverse(visitproc visit, void* arg) override;
  void clear() override;

  const std::vector<std::unique_ptr<CacheEntry>>& entries() const { return entries_; }
  const FrameCounters& counters() const { return counters_; }
  int frame_id() const { return frame_id_; }
  const std::string& kind() const { return kind_; }
  const std::optional<std::string>& skip_reason() const { return skip_reason_; }
  void reset();
  // `on` is owned by the caller and outlives every cache; while *on, on_call adds to counters().time_ms and
  // first_ms.
  void profile_when(const bool* on) { profiling_ = on; }

 private:
  const bool* profiling_ = nullptr;
  CompileFn compile_;
  int frame_id_;
  std::string kind_;  // "function" | "resume" | "iteration" | "callee"
  std::vector<std::unique_ptr<CacheEntry>> entries_;
  FrameCounters counters_;
  std::optional<std::string> skip_reason_;
  bool compiling_ = false;
};

}  // namespace suture
