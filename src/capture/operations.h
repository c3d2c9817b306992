// Operations: what Python's operators, attribute access, subscripts, iteration and calls do to values.
//
// Every function either does exactly what Python would do to the objects the values stand for, or returns the
// Break that leaves the instruction to Python. Nothing here knows bytecode; handlers_*.cpp map opcodes to
// these.
#pragma once

#include <string>

#include "capture/capture_state.h"
#include "ops/operators.h"

namespace suture {

// --- operators (python_operators.cpp) ---
Outcome binary_op(CaptureState& state, WrittenOperator op, const ValueRef& lhs, const ValueRef& rhs);
Outcome unary_op(CaptureState& state, char symbol, const ValueRef& operand);  // '-' '+' '~'
Outcome compare_op(CaptureState& state, std::string_view symbol, const ValueRef& lhs, const ValueRef& rhs);
Captured<bool> contains(CaptureState& state, const ValueRef& container, const ValueRef& item);
Captured<bool> is_same(CaptureState& state, const ValueRef& a, const ValueRef& b);
// Truth value; SB101 when it depends on array values.
Captured<bool> truth(CaptureState& state, const ValueRef& value);
Outcome logical_not(CaptureState& state, const ValueRef& value);
// Both values are Python numbers (no NumPy class): graph floats, symbols or constants.
bool is_python_number(CaptureState& state, const ValueRef& value);

// --- attributes (attributes.cpp) ---
Outcome get_attribute(CaptureState& state, const ValueRef& object, const std::string& name);
Captured<Unit> set_attribute(CaptureState& state, const ValueRef& object, const std::string& name,
                             const ValueRef& value);
// The method `name` of an instance's class, bound to it, or null when the class has none (special methods).
Outcome class_method(CaptureState& state, const ValueRef& object, const std::string& name);

// --- containers (containers.cpp, container_methods.cpp) ---
Outcome get_item(CaptureState& state, const ValueRef& container, const ValueRef& index);
Captured<Unit> set_item(CaptureState& state, const ValueRef& container, const ValueRef& index,
                        const ValueRef& value);
Captured<Unit> delete_item(CaptureState& state, const ValueRef& container, const ValueRef& index);
Captured<SymInt> length_of(CaptureState& state, const ValueRef& value);
Captured<Unit> dict_store(CaptureState& state, DictValue& dict, PyView key, const ValueRef& value);
void dict_erase(DictValue& dict, size_t at);
Captured<Unit> dict_merge(CaptureState& state, const ValueRef& into, const ValueRef& other,
                          bool refuse_duplicates);
Captured<Unit> list_extend(CaptureState& state, const ValueRef& list, const ValueRef& iterable);
bool has_builtin_method(const ValueRef& self, const std::string& name);
Outcome call_builtin_method(CaptureState& state, const ValueRef& self, const std::string& name,
                            const CallArguments& args);
// Before the first write to an existing container: what it holds is read, and the write remembered. A break for a list
// that is too long to be read item by item.
Captured<Unit> touch(CaptureState& state, const ValueRef& container);

// --- iteration (iteration.cpp) ---
Outcome make_iterator(CaptureState& state, const ValueRef& iterable);
Outcome make_reversed(CaptureState& state, const ValueRef& iterable);  // null value: left to Python
Outcome next_item(CaptureState& state, IteratorValue& iterator);       // null value: exhausted
Captured<std::vector<ValueRef>> all_items(CaptureState& state, const ValueRef& iterable);
// How many items are left, when that is known without pulling them.
std::optional<int64_t> items_left(CaptureState& state, const IteratorValue& iterator);

// --- calls (calls.cpp, inline_call.cpp, builtins_calls.cpp) ---
Outcome call(CaptureState& state, const ValueRef& callable, const CallArguments& args);
Outcome inline_call(CaptureState& state, FunctionValue& function, const CallArguments& args);
// Builtin functions and classes, functools, operator, math: null value when `callable` is not known here.
Outcome call_builtin(CaptureState& state, PyView callable, const CallArguments& args);
Outcome math_call(CaptureState& state, std::string_view name, const CallArguments& args);  // math_calls.cpp
Outcome isinstance_call(CaptureState& state, const CallArguments& args);  // these three: class_calls.cpp
Outcome issubclass_call(CaptureState& state, const CallArguments& args);
Outcome type_call(CaptureState& state, const CallArguments& args);
Outcome call_on_constants(CaptureState& state, PyView callable, const CallArguments& args);
Outcome format_value(CaptureState& state, const ValueRef& value, int conversion, const ValueRef& spec);

}  // namespace suture
