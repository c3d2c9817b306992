// Capture: what the symbolic interpreter learned about one frame.
//
// Overview
//   trace_frame runs the bytecode of a frame over symbolic values. The result says: which graph to run, which
//   guards make it valid, which objects to rebuild afterwards (recipes), which side effects to replay, and
//   how the frame ends: it returns, or it breaks before an instruction that Python must run.
// How restarts work
//   Capture is a function of (code, argument snapshot, plan). When it meets something unsupported in a place
//   where it cannot simply stop, it returns an amended plan and the driver calls it again; half-done state
//   never leaks.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "bytecode/instruction.h"
#include "capture/graph_break.h"
#include "cpython/py_ref.h"
#include "graph/graph.h"
#include "guard/guard.h"
#include "guard/guard_tree.h"
#include "guard/recipe.h"

namespace suture {

struct SideEffect {
  enum class Kind : uint8_t {
    kStoreGlobal,  // name, value
    kStoreAttr,    // target, name, value
    kStoreCell,    // target (a cell source), value
    kListAssign,   // target[:] = value (a list recipe)
    kDictDelete,   // del target[key]
    kDictStore,    // target[key] = value
  } kind = Kind::kStoreAttr;
  RecipeId target = -1, key = -1, value = -1;
  std::string name;
};

// How the frame ends.
struct FrameEnd {
  enum class Kind : uint8_t {
    kReturn,  // value
    kBreak,   // Python runs instruction `at` (a call, a jump, ...), then resume functions go on
    kLoop,    // the loop with header `at` runs in Python, its body through an iteration function
    kSkip,    // nothing to gain: run the whole frame in the interpreter
  } kind = Kind::kReturn;
  RecipeId value = -1;
  int at = -1;                     // instruction index
  std::vector<RecipeId> stack;     // bottom to top, before instruction `at`
  std::map<int, RecipeId> locals;  // live and kept locals: localsplus index -> recipe
  std::set<int> kept;              // those that nothing reads: the user's variable keeps an object alive
  std::optional<Break> reason;     // kBreak, kLoop, kSkip
};

// Where the functions that were inlined around a node are called, outermost first; null at top level.
using CallSites = std::shared_ptr<const std::vector<UserSpan>>;

struct Capture {
  Function function;
  Graph graph;                        // level kCaptured; empty() when no node but inputs exists
  std::vector<CallSites> call_sites;  // per node of the graph
  std::vector<RecipeId>
      input_recipes;  // per placeholder: always Kind::kSource (or kSymInt for symbolic ints used as values)
  GuardSet guards;
  std::vector<Recipe> recipes;
  std::vector<SideEffect> side_effects;
  // When NumPy would warn or raise in the graph, Python has to run the whole frame: handlers, side effects or
  // functions of other files must see it happen where it happens.
  bool needs_rerun = false;
  bool owns_arguments = false;  // from the options
  FrameEnd end;
  int attempts = 1;
};

// Decisions made before capture starts: from the user's options, and from earlier attempts.
struct CapturePlan {
  std::set<int> break_at;        // top-level instruction indices at which to break
  std::map<int, Break> reasons;  // why, per index
  std::set<int> keep_loop;       // loop headers that stay in Python
};

// Which sizes, strides and ints are symbols. Keys are source texts: "x.shape[0]", "n".
enum class DynamicMode : uint8_t { kAutomatic, kAlways, kNever };
struct DynamicPlan {
  DynamicMode mode = DynamicMode::kAutomatic;
  std::map<std::string, std::string> symbolic;  // source -> why ("changed from 32 to 48", "marked")
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;  // from mark_dynamic
  std::set<std::string> fixed;                                // mark_static
};

struct CaptureLimits {
  int max_unroll = 64;   // iterations of one loop
  int max_nodes = 2000;  // graph size
  int max_inline_depth = 16;
  int max_attempts = 64;
};

struct CaptureObserver;
struct CaptureOptions {
  DynamicPlan dynamic;
  CaptureLimits limits;
  CaptureObserver* observer = nullptr;  // null: nobody watches
  bool owns_arguments = false;          // a resume function: no caller keeps its arguments alive
};

// Runs capture with restarts. Never fails for user reasons: those end in FrameEnd::kBreak or kSkip.
// Errors: kPython for KeyboardInterrupt and MemoryError, kInternal for our own defects.
Result<Capture> trace_frame(const FrameInput& input, const CaptureOptions& options);

}  // namespace suture
