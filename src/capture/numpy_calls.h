// NumPy under capture: functions, methods, attributes, operators and indexing of arrays and NumPy scalars.
//
// Driven by numpy_names.def, which maps what users write (np.sin, np.greater, x.sum, x + y) to ops.def and an
// argument signature; the adapters here normalise arguments (axis, dtype, keepdims, out, ...) and call
// GraphBuilder::add. Anything not handled exactly returns a Break whose reason says what to do; NumPy then
// runs it in Python.
#pragma once

#include <string>

#include "capture/capture_state.h"
#include "ops/operators.h"

namespace suture {

// True for callables whose module is NumPy's (functions, ufuncs, scalar types such as np.float64, builtin
// methods).
bool is_numpy_callable(PyView object);
// np.f(*args): `callable` is the live object. `spelled` is how the user wrote it, for messages and
// Node::target.
Outcome call_numpy(CaptureState& state, PyView callable, const CallArguments& args,
                   const std::string& spelled);
// x.shape, x.T, x.dtype, x.ndim, x.size ...; a method name yields an ArrayMethodValue.
Outcome array_attribute(CaptureState& state, const ValueRef& array, const std::string& name);
Outcome call_array_method(CaptureState& state, const ValueRef& array, const std::string& name,
                          const CallArguments& args);

// Called when at least one operand is an ArrayValue, or a NumPy scalar. In-place forms on arrays write into the
// left operand's memory (kStore) and return the left value itself.
Outcome array_binary_op(CaptureState& state, WrittenOperator op, const ValueRef& lhs, const ValueRef& rhs);
Outcome array_unary_op(CaptureState& state, const UnaryOperatorInfo& op, const ValueRef& operand);
Outcome array_compare(CaptureState& state, const ComparisonInfo& op, const ValueRef& lhs,
                      const ValueRef& rhs);
// abs() of a Python number computed in the graph: a Python number again, which np.absolute would not give.
Outcome python_absolute(CaptureState& state, const ValueRef& operand);

Outcome array_subscript(CaptureState& state, const ValueRef& array, const ValueRef& index);
// array[index] = value. Value is None's ConstantValue on success.
Outcome array_store_subscript(CaptureState& state, const ValueRef& array, const ValueRef& index,
                              const ValueRef& value);
// Iterating an array yields views along axis 0; error SB104 when the length is not constant or the array is
// 0-d.
Outcome array_items(CaptureState& state, const ValueRef& array, std::vector<ValueRef>& items);

}  // namespace suture
