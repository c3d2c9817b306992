// CaptureState: what handlers share while one frame is captured. Owned by the symbolic interpreter.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "capture/capture.h"
#include "capture/graph_break.h"
#include "capture/values/value.h"
#include "graph/graph_builder.h"

namespace suture {

// Result of a handler: a value, or the reason why this instruction must be left to Python. Python exceptions that are not
// the user's (KeyboardInterrupt, MemoryError) and defects travel as Error.
using Outcome = std::variant<ValueRef, Break, Error>;
inline bool is_value(const Outcome& o) { return o.index() == 0; }

struct CallArguments {
  std::vector<ValueRef> positional;
  std::vector<std::pair<std::string, ValueRef>> keyword;
};

class CaptureState {
 public:
  CaptureState(const FrameInput& input, const CaptureOptions& options);

  Graph graph;
  GraphBuilder builder;
  GuardSet guards;
  const CaptureOptions& options;
  const FrameInput& input;

  void set_place(UserSpan where);        // blamed for nodes, guards and shape facts from now on
  const UserSpan& place() const { return place_; }
  Break make_break(BreakReason reason, std::vector<std::string> args) const;

  // Guards; equal ones are added once.
  void guard(Guard guard);
  void guard_type(SourceId source, PyView object);
  void guard_identity(SourceId source, PyView object);
  void guard_constant(SourceId source, PyView object);

  // A value for an object reachable by `source`: arrays become placeholders, ints constants or symbols, floats
  // placeholders, tuples/lists/dicts containers of sourced values, functions FunctionValues, modules and builtins constants.
  Outcome wrap(PyView object, SourceId source);
  ValueRef constant(PyRef object);       // a literal
  ValueRef python_int(SymInt value);     // constant or SymIntValue
  // The graph node of a number-like value (array, NumPy scalar, Python number, SymInt), or a break.
  std::variant<NodeId, Break> node_of(const ValueRef& value);

 private:
  UserSpan place_;
};

}  // namespace suture
