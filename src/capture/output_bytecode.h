// Output bytecode: the transformed code of a frame that breaks, keeps a loop in Python, or has side effects.
//
//   def __transformed_code_<entry>_for_f(x, n):
//       graph_out = __compiled_fn_1(x)
//       <side effects>
//       <stack and live locals restored>
//       if graph_out[0]: return __resume_at_88_2(n, y)
//       return __resume_at_98_3(n, y)
//
// Callables are constants of the new code object, so the user's globals stay untouched.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/capture.h"

namespace suture {

// Made by the driver: wraps a new function object into a callable that is itself compiled when reached.
using MakeCallable = std::function<Result<PyRef>(PyRef function, const std::string& kind)>;  // kind: "resume" | "iteration"

struct OutputCode {
  PyRef function;                     // same signature as the original
  std::vector<std::string> resume_names;
  std::string listing_before, listing_after;
};
// `compiled_graph` may be null when the graph is empty. It is called with the input recipes' values and returns a tuple of
// the graph outputs.
Result<OutputCode> emit_output_bytecode(const Capture& capture, PyView original_function, PyView compiled_graph,
                                        int entry, const MakeCallable& make_callable);

}  // namespace suture
