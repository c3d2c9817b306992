// Output bytecode: the transformed code of a frame that breaks, keeps a loop in Python, or has side effects.
//
//   def __transformed_code_<entry>_for_f(x, n):
//       graph_out_0, y = __compiled_fn_1(x)
//       <side effects>
//       <stack and live locals restored>
//       if graph_out_0: return __resume_at_88_2(n, y)
//       return __resume_at_98_3(n, y)
//
//   These two calls are made by whoever called the transformed function (cpython/tail_call.h).
//
// Parameters
//   The transformed function takes the BOUND arguments of the original, in localsplus order, all
//   positionally: keyword-only parameters, the *args tuple and the **kwargs dict are ordinary parameters of
//   it. (For plain signatures that is the original's signature.) Behind them come the entry values: what the frame
//   reads from globals, cells, attributes and items, and ints computed from sizes, as they were when the guards
//   were evaluated. So a call works with one state of the world, whatever handlers and threads do meanwhile.
// Where callables live
//   The compiled graph, resume functions and other objects are extra FREE VARIABLES, not constants: constants
//   of a code object are invisible to the cycle collector, closure cells are not. The user's globals stay
//   untouched.
// Names
//   Code objects have the name of the user's function, which frames and tracebacks show; the function objects
//   have ours. __resume_at_<offset>_<n> and __iteration_at_<offset>_<n> depend on the place only, not on the entry: the
//   same place makes an equal code object again, so a driver can recognise it and keep the callable it
//   already has.
// Cell variables
//   FrameEnd::locals of a cell variable holds either the recipe of its contents, or a kCell recipe. A kCell
//   recipe that is also used elsewhere (a rebuilt function that shares the cell) is passed as the cell
//   itself, and the resume function then has no MAKE_CELL for it (bytecode/continuation.h,
//   holds_cell_at_entry).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/capture.h"
#include "trace/frame_kind.h"

namespace suture {

// Made by the driver: wraps a new function object into a callable that is itself compiled when reached.
using MakeCallable = std::function<Result<PyRef>(PyRef function, FrameKind kind)>;  // kResume or kIteration

struct OutputCode {
  PyRef function;  // takes the bound arguments and the entry values positionally, see above
  std::vector<Recipe>
      entry_values;  // kSource or kSymInt each; borrowed objects will do, the function keeps them
  std::vector<std::string> resume_names;
  std::string listing_before, listing_after;
  size_t instruction_count = 0;  // of the function
};
// `compiled_graph` may be null when the graph is empty. It is called with the input recipes' values and
// returns a tuple of the graph outputs. Error kUnsupported when the frame cannot be continued in other
// functions (then it must run eagerly as a whole): generators, code that looks at its own frame, places
// inside exception handlers.
Result<OutputCode> emit_output_bytecode(const Capture& capture, PyView original_function,
                                        PyView compiled_graph, int entry, const MakeCallable& make_callable);

}  // namespace suture
