// Arguments of NumPy calls under capture: binding to parameter names, and reading the usual ones (axis,
// dtype, shape, out).
//
// Every reader answers with a value NumPy would have used, or with a Break: a reader never guesses. What
// NumPy would reject is a Break as well, so that NumPy raises its own exception at the user's line.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/capture_state.h"

namespace suture::numpy {

// One call of a NumPy function, method or operator.
struct Call {
  CaptureState& state;
  std::string spelled;         // "np.sum", "ndarray.sum", "+": Node::target and messages
  OpId op = OpId::kConstant;   // from numpy_names.def
  PyView callable = nullptr;   // null for methods and operators
  std::string_view name = {};  // NumPy's own name of the function or method: "sum"

  Break not_compiled(std::string why) const;  // SB202
  Break would_raise(std::string why) const;   // SB306
  Break bad_index(std::string why) const;     // SB305
  Break bad_write(std::string why) const;     // SB307
  ShapeEnv& env() const { return state.graph.env; }
  const TensorType& type(NodeId id) const { return state.graph.node(id).type; }
  Failed failed(const Error& error) const;  // builder's refusal becomes a Break

  Captured<NodeId> node(OpId op, std::vector<NodeId> operands, Attrs attrs = {}) const;
  Outcome value(OpId op, std::vector<NodeId> operands, Attrs attrs = {}) const;
  Captured<NodeId> operand(const ValueRef& value) const;  // any number: array, scalar, Python number, symbol
  Captured<NodeId> array_operand(const ValueRef& value) const;  // array or NumPy scalar, nothing weak
};
ValueRef array_value(NodeId node);

// Parameters are written as in Python: "a,axis,dtype,out,*,where" (after the star: keywords only).
class Arguments {
 public:
  static Captured<Arguments> bind(const Call& call, std::string_view parameters, const CallArguments& args);

  // Null when not given, None or np._NoValue.
  ValueRef get(std::string_view name) const;
  bool given(std::string_view name) const;  // passed explicitly, even as None

  // Each of these must be absent or have a value that changes nothing (see kHarmless in array_arguments.cpp).
  Captured<Unit> require_default(const Call& call, std::initializer_list<std::string_view> names) const;
  Captured<bool> flag(const Call& call, std::string_view name, bool fallback) const;
  Captured<int64_t> integer(const Call& call, std::string_view name, int64_t fallback) const;
  Captured<std::optional<DType>> dtype(const Call& call, std::string_view name = "dtype") const;
  Captured<Order> order(const Call& call, Order fallback) const;

 private:
  std::map<std::string, ValueRef, std::less<>> values_;
};

// An exact integer: Python int, symbol or NumPy integer constant. Bools are not integers here.
std::optional<SymInt> integer_of(const CaptureState& state, const ValueRef& value);
// The items of a tuple or list value, or of a constant tuple; empty optional for anything else.
std::optional<std::vector<ValueRef>> items_of(CaptureState& state, const ValueRef& value);
// An int or a sequence of ints.
Captured<std::vector<SymInt>> sizes_of(const Call& call, const ValueRef& value, const std::string& what);
// The same for axes: constants, normalised to [0, rank), without duplicates, in the order written.
Captured<std::vector<int>> axes_of(const Call& call, const ValueRef& value, int rank);
// "True", "None", "C", "-1": text of a plain constant; empty for anything else.
std::string constant_text(const ValueRef& value);
bool is_none(const ValueRef& value);

// A break where `target` is read-only, and a guard that it stays writeable where it is not.
Captured<Unit> require_writeable(const Call& call, NodeId target);
// Writing `value` into the memory of `target` (an array or a view). kSameKind is the rule of in-place
// operators and out=, kUnsafe that of assignment, which is always spelled "=".
enum class StoreCasting : uint8_t { kSameKind, kUnsafe };
Captured<Unit> store(const Call& call, NodeId target, NodeId value, StoreCasting casting);

// The result of calling `callable` on constants, when it neither raises nor warns.
PyRef call_on_constants(CaptureState& state, PyView callable, const CallArguments& args);

}  // namespace suture::numpy
