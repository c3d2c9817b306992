// CaptureState: what handlers share while one frame is captured. Owned by trace_frame.
//
// Overview
//   Outcome / Captured<T> carry a value, or the reason why an instruction must be left to Python, or a
//   defect. Handlers chain them with SUTURE_CAPTURE. The state holds the graph under construction, the
//   guards, the registry of objects that existed before the frame (one Value per object and per source), and
//   what was written to them.
// Invariants
//   - Reading never runs user code: only exact builtin types, generic attribute lookup and NumPy's own
//     objects are touched.
//   - A fact is guarded in the moment it is relied on, parents before children, so guard order is fetch
//     order.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "capture/capture.h"
#include "capture/graph_break.h"
#include "capture/values/value.h"
#include "graph/graph_builder.h"

namespace suture {

// Result of a handler: a value, or the reason why this instruction must be left to Python. Python exceptions
// that are not the user's (KeyboardInterrupt, MemoryError) and defects travel as Error.
template <class T>
using Captured = std::variant<T, Break, Error>;
using Outcome = Captured<ValueRef>;
template <class T>
bool is_value(const Captured<T>& o) {
  return o.index() == 0;
}

// The two unhappy cases of a Captured, on their way out of any function that returns some Captured<T>.
struct Failed {
  std::variant<Break, Error> why;
  template <class T>
  operator std::variant<T, Break, Error>() && {  // NOLINT: implicit on purpose
    if (auto* b = std::get_if<Break>(&why)) return std::move(*b);
    return std::get<Error>(std::move(why));
  }
};
template <class T>
Failed failure_of(std::variant<T, Break, Error>&& captured) {
  if (auto* b = std::get_if<Break>(&captured)) return Failed{std::move(*b)};
  return Failed{std::get<Error>(std::move(captured))};
}

struct CallArguments {
  std::vector<ValueRef> positional;
  std::vector<std::pair<std::string, ValueRef>> keyword;
};

// A decoded code object with its constants.
struct DecodedCode {
  Function function;
  PyRef code;
  PyRef constants;
};

constexpr int64_t kMostItems = 4096;  // of one list or tuple built or read item by item during capture

// An activation of a Python function under capture, as errors and recursion checks see it.
struct ActiveCall {
  PyView code = nullptr;
  UserSpan call_site;  // in the caller
};

class CaptureState {
 public:
  CaptureState(const FrameInput& input, const CaptureOptions& options);

  Graph graph;
  GraphBuilder builder;
  GuardSet guards;
  const CaptureOptions& options;
  const FrameInput& input;

  void set_place(UserSpan where);  // blamed for nodes, guards and shape facts from now on
  const UserSpan& place() const { return place_; }
  // Per node so far.
  std::vector<CallSites> call_sites();
  Break make_break(BreakReason reason, std::vector<std::string> args) const;

  // Guards; equal ones are added once.
  void guard(Guard guard);
  void guard_type(SourceId source, PyView object);  // type(source) is type(object)
  void guard_identity(SourceId source, PyView object);
  void guard_tuple_operations(SourceId source);  // of a namedtuple class
  void guard_constant(SourceId source, PyView object);
  void guard_absent(SourceId owner,
                    const std::string& name);  // no attribute of a class, no key of a namespace
  SourceId source(SourceKind kind, SourceId parent, int index = -1, std::string name = {}, PyRef key = {});
  // source of parent[key] of a dict
  SourceId key_source(SourceId parent, PyView key);
  // source of an object that cannot become another one: whatever refers to it is guarded by identity
  SourceId object_source(PyView object);
  std::string source_text(SourceId id) const { return guards.sources.str(id); }

  // A value for an object reachable by `source`: arrays become placeholders, ints constants or symbols,
  // floats placeholders, tuples/lists/dicts containers of sourced values, functions FunctionValues, modules
  // and builtins constants.
  Outcome wrap(PyView object, SourceId source);
  ValueRef constant(PyRef object);        // a literal
  ValueRef literal(const PyRef& object);  // the same, but tuples, lists and dicts become container values
  ValueRef none();
  ValueRef boolean(bool value);
  ValueRef text(const std::string& value);
  // Constant or SymIntValue. The value fits int64 for a reason known beforehand: a size, an item of a range.
  ValueRef python_int(SymInt value, SourceId source = kNoSource);
  Break int_too_large() const;
  Outcome computed_int(SymInt value);  // the result of arithmetic: a break where it does not fit int64
  // The graph node of a number-like value (array, NumPy scalar, Python number, SymInt), or a break.
  std::variant<NodeId, Break> node_of(const ValueRef& value);

  // Item i of a container, read and guarded when it was not looked at before.
  Outcome item(SequenceValue& sequence, size_t i);
  Outcome item(DictValue& dict, size_t i);
  // Reads all lazy items, recursively.
  Captured<Unit> materialize(const ValueRef& value);
  Captured<Unit> materialize(const CallArguments& args);
  Outcome cell_value(CellValue& cell);                     // contents; SB306 when empty
  ValueRef cell_value_of(PyView cell, SourceId contents);  // the one CellValue of an existing cell
  void guard_keys(DictValue& dict);                        // order, presence and absence of keys become facts
  Outcome resolve_function(
      FunctionValue& function);  // reads code, closure and defaults of an existing function

  // The Python object for a constant or a tuple/list/dict/slice of constants; empty when some part is not
  // constant.
  PyRef python_constant(const ValueRef& value);
  // The same, but symbolic ints are fixed to their value in this call (guarded).
  PyRef force_constant(const ValueRef& value);
  // An exact int (or bool) as a size expression.
  std::optional<SymInt> as_int(const ValueRef& value) const;
  const TensorType& type_of(const ArrayValue& value) const { return graph.node(value.node).type; }
  // The Python type a value would have, or null when unknown (borrowed; kept alive by Python or the value).
  PyView python_type(const ValueRef& value);
  // How a message names a value: its source, its literal text, or its kind.
  std::string describe(const ValueRef& value) const;
  // "`float(total)`", "`divmod(a, ...)`": a call by the argument that matters.
  std::string describe_call(std::string_view function, const ValueRef& argument,
                            bool has_others = false) const;
  // The break for using a value of which nothing is known.
  Break unknown_break(const ValueRef& value) const;

  Captured<const DecodedCode*> decode(PyView code);

  // Inlined activations, outermost first; empty at top level.
  std::vector<ActiveCall> active;
  bool inlining() const { return !active.empty(); }
  bool is_protected = false;  // the running instruction, or a caller's, is inside a try or with
  bool has_protected_operations = false;

  // Side effects on what existed before the frame.
  std::vector<ValueRef> mutated;  // lists, dicts, cells, instances; in order of first write
  void mark_mutated(const ValueRef& value);
  std::vector<std::pair<std::string, ValueRef>> global_writes;  // into the frame's own globals, in order

  // Existing containers, instances and arrays that were looked at, in order.
  const std::vector<ValueRef>& known_values() const { return known_values_; }
  std::map<NodeId, SourceId> placeholder_sources;
  int64_t steps = 0;  // instructions interpreted, to bound the time of a capture

 private:
  bool wants_symbol(const std::string& key) const;
  SymInt size_of(SourceId source, int axis, int64_t value, const std::string& text);
  SymInt idle_stride(SourceId source, int axis, int64_t elements, const std::string& text);
  std::vector<SymInt> contiguous_layout(SourceId source, PyView array, const std::vector<SymInt>& shape);
  std::vector<SymInt> layout_of(SourceId source, PyView array, const std::vector<SymInt>& shape);
  Outcome wrap_new(PyView object, SourceId source);
  Outcome wrap_array(PyView array, SourceId source);
  Outcome wrap_int(PyView object, SourceId source);
  Outcome wrap_container(PyView object, SourceId source);
  Outcome wrap_callable(PyView object, SourceId source);
  Outcome wrap_method(PyView object, SourceId source);
  Outcome wrap_partial(PyView object, SourceId source);
  Outcome wrap_range(PyView object);
  ValueRef scalar_placeholder(PyView object, SourceId source, DType dtype, ValueClass value_class);
  ValueRef known(PyView object, SourceId source);
  std::string placeholder_name(SourceId source) const;
  SourceId stack_value_of(SourceId source) const;
  std::string describe_part(SourceId source, SourceId of) const;
  Captured<Unit> materialize(const ValueRef& value, std::set<const Value*>& done);
  ValueRef placeholder(SourceId source, TensorType type);

  // What makes a guard another one: kind, source, other, index, fact, number, object.
  using GuardKey = std::tuple<GuardKind, SourceId, SourceId, int, int, int64_t, PyObject*>;
  std::set<GuardKey> guarded_;
  UserSpan place_;
  CallSites sites_;  // of the nodes made since the last set_place
  std::vector<CallSites> sites_of_node_;
  std::map<SourceId, ValueRef> by_source_;
  std::unordered_map<PyObject*, ValueRef> by_object_;
  std::vector<ValueRef> known_values_;
  std::unordered_map<PyObject*, std::unique_ptr<DecodedCode>> decoded_;
};

}  // namespace suture

// Declares `name` from a Captured expression, or returns its Break or Error from the enclosing function.
#define SUTURE_CAPTURE(name, ...)                                               \
  auto SUTURE_CONCAT(captured_, __LINE__) = (__VA_ARGS__);                      \
  if (SUTURE_CONCAT(captured_, __LINE__).index() != 0)                          \
    return ::suture::failure_of(std::move(SUTURE_CONCAT(captured_, __LINE__))); \
  [[maybe_unused]] auto name = std::get<0>(std::move(SUTURE_CONCAT(captured_, __LINE__)))
// The same when only success matters.
#define SUTURE_CAPTURE_VOID(...)                                                   \
  do {                                                                             \
    auto captured_ = (__VA_ARGS__);                                                \
    if (captured_.index() != 0) return ::suture::failure_of(std::move(captured_)); \
  } while (0)
