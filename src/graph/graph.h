// Graph: a straight-line program over arrays. The captured graph (NumPy-level calls) and the lowered graph
// (Prims and Externs only, casts explicit) are the same type; `level` says which laws hold (graph/verify.h
// lists them).
//
// Overview
//   Nodes are in program order and refer to earlier nodes by id; ids are indices into `nodes`. Effects
//   (kStore) are nodes too: program order is the order of effects. A View node shares the storage of its
//   operand 0, so a store through any view is seen by every later read of the same storage; `storage_of`
//   follows views to their root.
// Invariants
//   - Pure data: no PyObject, no pointer into another graph. Copyable.
//   - Every node carries the user span it came from, and `target`, the callable as the user wrote it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/user_span.h"
#include "ops/dtype.h"
#include "ops/op_info.h"
#include "sym/sym_int.h"

namespace suture {

using NodeId = int;
constexpr NodeId kNoNode = -1;

// Shape in elements per axis; strides in ELEMENTS (not bytes) per axis, exactly as NumPy's array has them, also where
// they lead to no other element: along axes of extent 1 and in empty arrays. Rank 0 for scalars.
struct TensorType {
  DType dtype = DType::kFloat64;
  ValueClass value_class = ValueClass::kArray;
  std::vector<SymInt> shape;
  std::vector<SymInt> strides;
  bool writeable = true;
  bool scalar() const { return value_class != ValueClass::kArray; }
  int rank() const { return static_cast<int>(shape.size()); }
  std::string str() const;  // "f64[s0, 48]", "f64[]" (0-d array), "f64 scalar", "py_int"
  friend bool operator==(const TensorType&, const TensorType&) = default;
};
std::string short_name(DType dtype);  // "f64" "i8" "bool"

// Scalar constants. Python ints, floats and bools keep their class in TensorType::value_class.
using Scalar = std::variant<bool, int64_t, uint64_t, double>;

// One item of a basic index. Exactly as in x[...]: an int drops the axis, a slice keeps it, None inserts one.
struct IndexItem {
  enum class Kind : uint8_t { kInt, kSlice, kNewAxis } kind = Kind::kSlice;
  SymInt start = 0;   // kInt: the index, already normalised to >= 0.  kSlice: normalised first element
  SymInt step = 1;    // kSlice: never 0
  SymInt length = 0;  // kSlice: number of elements selected, already clamped
  friend bool operator==(const IndexItem&, const IndexItem&) = default;
};

enum class Order : uint8_t { kC, kF, kKeep, kAny };  // NumPy's order= letters C F K A

struct Attrs {
  std::vector<int> axes;  // normalised to [0, rank)
  bool all_axes = false;  // reduction or squeeze written with axis=None (the builder fills axes)
  bool keepdims = false;
  std::vector<SymInt> dims;      // target shape; one item may be -1 in kReshape (the builder resolves it)
  std::vector<IndexItem> index;  // kSlice; covers every axis of operand 0 (ellipsis expanded)
  // The user's dtype=. In a lowered graph a kSum or kProd keeps it exactly when the reduction itself converts
  // its operand (operand 0 is then the kCast): NumPy walks the cast's operand in its own layout and converts
  // through its buffer, so the order of the sum is that of the unconverted operand, cut into buffer-sized
  // chunks.
  std::optional<DType> dtype;
  std::optional<Scalar> scalar;  // kConstant
  SymInt sym = 0;                // kSymbolValue
  Order order = Order::kKeep;
  int decimals = 0;
  double ddof = 0;
  bool endpoint = true;
  bool has_min = true, has_max = true;  // kClip: operands are (x, min?, max?)
  bool ellipsis =
      false;  // kSlice: written with `...`, so that an index of integers only gives a 0-d array, not a scalar
  bool copies = false;  // kReshape: NumPy copies here, the result is fresh memory (the builder fills it)
  std::vector<SymInt>
      strides;  // kFull, kEmpty: layout in elements of the *_like functions (like_strides in graph_builder.h)
  // The class of a rank-0 result where the call decides it: np.float32(x) kNumpyScalar, float(x) kPyFloat,
  // np.array(x) kArray (kCast, kCopy). On other ops over Python numbers a weak class says "a Python builtin
  // such as abs", not a NumPy function.
  std::optional<ValueClass> value_class;
  // kStore: a NumPy scalar is assigned to a signed integer array, whose items are made of Python ints; kCast (lowered
  // graph): that conversion. NumPy raises OverflowError for a value that does not fit; all other casts wrap.
  bool checked = false;
  friend bool operator==(const Attrs&, const Attrs&) = default;
};

struct Node {
  NodeId id = kNoNode;
  OpId op = OpId::kConstant;
  std::vector<NodeId> operands;
  Attrs attrs;
  TensorType type;     // for kStore: type of operand 0
  std::string name;    // unique, a Python identifier: "x", "sin", "add_1"
  std::string target;  // "np.sin", "+", "ndarray.sum" - as the user wrote it; lowered nodes inherit it
  UserSpan where;
  friend bool operator==(const Node&, const Node&) = default;
};

struct Graph {
  enum class Level : uint8_t { kCaptured, kLowered } level = Level::kCaptured;
  std::string name;  // "graph_0"
  std::vector<Node> nodes;
  std::vector<NodeId> placeholders;  // in call order
  std::vector<NodeId> outputs;       // returned values; a placeholder or a view of one may be an output
  ShapeEnv env;

  const Node& node(NodeId id) const { return nodes[static_cast<size_t>(id)]; }
  Node& node(NodeId id) { return nodes[static_cast<size_t>(id)]; }
  // Root of the view chain: the node whose memory `id` reads. A scalar read from an array (x[i, j]) and a
  // reshape that copies are roots themselves. kStore belongs to the storage of operand 0.
  NodeId storage_of(NodeId id) const;
  bool mutates_inputs() const;  // some kStore writes into a placeholder's storage
  size_t op_count() const;      // nodes that are neither Input nor View bookkeeping: calls the user wrote
  friend bool operator==(const Graph&, const Graph&) = default;
};

// How the user wrote the call, from Node::target.
enum class Spelling : uint8_t {
  kOperator,  // "+" "<" "~" "@"
  kInPlace,   // "+="
  kMethod,    // "ndarray.sum"
  kFunction,  // everything else: "np.sin", "abs"
};
Spelling spelling_of(const Node& node);
// True when every operand is a Python number and the call is Python's own (operator or builtin):
// resolve_python_types holds. Otherwise NumPy's resolve_types does.
bool has_python_semantics(const Graph& graph, const Node& node);

// True when reshape of `type` to `dims` needs a copy (same answer as NumPy).
bool reshape_copies(const TensorType& type, const std::vector<SymInt>& dims, ShapeEnv& env);

}  // namespace suture
