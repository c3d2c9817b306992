// Python's operators on values: dispatch by kind, array operands go to numpy_calls.
//
// How it works
//   1. An array operand (or a Python float computed in the graph): NumPy's rules, array_binary_op. Two Python
//      numbers keep Python's rules: only those operators are captured whose result NumPy's kernel and Python
//      agree on.
//   2. Symbolic ints: arithmetic on SymInt; comparisons ask the ShapeEnv, whose answer becomes a guard. What
//      SymInt cannot express, or what leaves int64, fixes the operands' values.
//   3. Constants: the real operation on the real objects, for types whose operators run no user code.
//   4. Containers: concatenation, repetition, comparison item by item.
#include <fmt/format.h>

#include <algorithm>

#include "capture/folding.h"
#include "capture/known_modules.h"
#include "capture/numpy_calls.h"
#include "capture/operations.h"
#include "cpython/discard_error.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"

namespace suture {
namespace {

using NumberFunction = PyObject* (*)(PyObject*, PyObject*);
// **, which takes a modulus besides.
PyObject* number_function(PyObject* (*power)(PyObject*, PyObject*, PyObject*), PyObject* a, PyObject* b) {
  return power(a, b, Py_None);
}
PyObject* number_function(NumberFunction function, PyObject* a, PyObject* b) { return function(a, b); }

PyRef python_binary_op(BinaryOperator op, PyView a, PyView b) {
  switch (op) {
#define SUTURE_BINARY_OPERATOR(id, symbol, op, name, method, reflected, in_place, call) \
  case BinaryOperator::id: return PyRef::steal(number_function(call, a, b));
#include "ops/operators.def"
  }
  return {};
}

PyRef python_unary_op(char symbol, PyView a) {
  switch (symbol) {
#define SUTURE_UNARY_OPERATOR(symbol, op, name, method, call) \
  case symbol: return PyRef::steal(call(a));
#include "ops/operators.def"
  }
  return {};
}

bool is_weak_array(CaptureState& state, const ValueRef& value) {
  auto* array = as_array(value);
  return array && is_weak(state.type_of(*array).value_class);
}

bool is_python_scalar_constant(const ValueRef& value) {
  auto* constant = as_constant(value);
  if (!constant) return false;
  PyView o = constant->object.get();
  return PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o);
}

Break scalar_math(CaptureState& state, const std::string& what) {
  return state.make_break(BreakReason::kPythonScalarMath, {what});
}

// Sizes beyond which an operation on constants is left to run time.
bool is_costly(BinaryOperator op, PyView a, PyView b) {
  if (op == BinaryOperator::kPower || op == BinaryOperator::kLeftShift) {
    if (!PyLong_Check(a) || !PyLong_Check(b)) return false;
    int overflow = 0;
    const long long exponent = PyLong_AsLongLongAndOverflow(b, &overflow);
    return overflow != 0 || exponent > 4096;
  }
  if (op == BinaryOperator::kMultiply &&
      (PyUnicode_Check(a) || PyUnicode_Check(b) || PyBytes_Check(a) || PyBytes_Check(b))) {
    PyView number = PyLong_Check(a) ? a : b;
    if (!PyLong_Check(number)) return false;
    int overflow = 0;
    return PyLong_AsLongLongAndOverflow(number, &overflow) > 65536 || overflow != 0;
  }
  return false;
}

Outcome constant_binary_op(CaptureState& state, BinaryOperator op, const ValueRef& lhs, const ValueRef& rhs) {
  PyView a = as_constant(lhs)->object.get(), b = as_constant(rhs)->object.get();
  if (is_costly(op, a, b)) return scalar_math(state, fmt::format("{} of large constants", info(op).symbol));
  SUTURE_CAPTURE(result, fold(state, [&] { return python_binary_op(op, a, b); }));
  return result ? state.literal(result) : array_binary_op(state, op, lhs, rhs);
}

// The same for values that are constants once their symbols are fixed.
Outcome constant_binary_op(CaptureState& state, BinaryOperator op, PyRef a, PyRef b) {
  return constant_binary_op(state, op, state.constant(std::move(a)), state.constant(std::move(b)));
}

// A question of CPython's C API (1, 0, or -1 with an exception) on constants.
template <std::invocable Question>
Captured<bool> ask_python(CaptureState& state, Question question) {
  SUTURE_CAPTURE(answer, fold(state, [&] {
                   const int known = question();
                   return known < 0 ? PyRef() : PyRef::borrow(known ? Py_True : Py_False);
                 }));
  if (!answer) return scalar_math(state, "A comparison of constants warns");
  return answer.get() == Py_True;
}

std::optional<SymInt> sym_binary_op(CaptureState& state, BinaryOperator op, const SymInt& a,
                                    const SymInt& b) {
  switch (op) {
    case BinaryOperator::kAdd: return a + b;
    case BinaryOperator::kSubtract: return a - b;
    case BinaryOperator::kMultiply: return a * b;
    case BinaryOperator::kFloorDivide:
    case BinaryOperator::kRemainder:
      if (state.graph.env.eq(b, 0)) return std::nullopt;
      return op == BinaryOperator::kFloorDivide ? floordiv(a, b) : mod(a, b);
    default: return std::nullopt;
  }
}

ValueRef graph_number(CaptureState& state, const ValueRef& value) {
  auto node = state.node_of(value);
  return std::holds_alternative<NodeId>(node) ? std::make_shared<ArrayValue>(std::get<NodeId>(node))
                                              : nullptr;
}

bool is_float_constant(const ValueRef& value) {
  auto* constant = as_constant(value);
  return constant && PyFloat_CheckExact(constant->object.get());
}

// Operators that a kernel computes on Python numbers as Python does.
bool is_compiled_on_numbers(BinaryOperator op) {
  switch (op) {
    case BinaryOperator::kAdd:
    case BinaryOperator::kSubtract:
    case BinaryOperator::kMultiply:
    case BinaryOperator::kTrueDivide:
    case BinaryOperator::kPower: return true;
    default: return false;
  }
}

// At least one operand is a SymInt, the other an int, a float or a SymInt.
Outcome symbolic_binary_op(CaptureState& state, BinaryOperator op, const ValueRef& lhs, const ValueRef& rhs) {
  const bool with_float = is_float_constant(lhs) || is_float_constant(rhs);
  const bool as_float = op == BinaryOperator::kTrueDivide || (with_float && is_compiled_on_numbers(op));
  if (as_float) {  // a Python float that depends on a size: computed in the graph
    ValueRef a = graph_number(state, lhs), b = graph_number(state, rhs);
    if (a && b) return array_binary_op(state, op, a, b);
  }
  auto a = state.as_int(lhs), b = state.as_int(rhs);
  if (a && b) {
    auto result = sym_binary_op(state, op, *a, *b);
    if (result && state.graph.env.fits(*result)) return state.python_int(*std::move(result));
  }
  PyRef x = state.force_constant(lhs), y = state.force_constant(rhs);
  if (x && y) return constant_binary_op(state, op, std::move(x), std::move(y));
  return state.unknown_break(x ? rhs : lhs);
}

// Two Python numbers of which at least one lives in the graph.
Outcome weak_binary_op(CaptureState& state, BinaryOperator op, const ValueRef& lhs, const ValueRef& rhs) {
  if (is_compiled_on_numbers(op)) return array_binary_op(state, op, lhs, rhs);
  return scalar_math(state,
                     fmt::format("`{}` on Python numbers that are known only at run time", info(op).symbol));
}

Outcome repeat(CaptureState& state, const SequenceValue& sequence, const ValueRef& count) {
  PyRef number = state.force_constant(count);
  if (!number || !PyLong_Check(number.get())) return state.unknown_break(count);
  int overflow = 0;
  const long long times = std::max(0LL, PyLong_AsLongLongAndOverflow(number.get(), &overflow));
  const auto items_each = static_cast<long long>(sequence.items.size());
  if (overflow != 0 || (items_each > 0 && times > kMostItems / items_each))
    return scalar_math(state, fmt::format("a sequence of more than {} items is built", kMostItems));
  std::vector<ValueRef> items;
  for (long long i = 0; i < times; ++i)
    items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  return std::make_shared<SequenceValue>(sequence.kind, std::move(items));
}

Outcome sequence_binary_op(CaptureState& state, WrittenOperator written, const ValueRef& lhs,
                           const ValueRef& rhs) {
  const auto [op, in_place] = written;
  if (in_place && as_list(lhs) && op == BinaryOperator::kAdd) {
    SUTURE_CAPTURE_VOID(list_extend(state, lhs, rhs));
    return lhs;
  }
  SUTURE_CAPTURE_VOID(state.materialize(lhs));
  SUTURE_CAPTURE_VOID(state.materialize(rhs));
  auto* a = as_tuple_or_list(lhs);
  auto* b = as_tuple_or_list(rhs);
  if (op == BinaryOperator::kAdd && a && b && a->kind == b->kind) {
    std::vector<ValueRef> items = a->items;
    items.insert(items.end(), b->items.begin(), b->items.end());
    return std::make_shared<SequenceValue>(a->kind, std::move(items));
  }
  if (op == BinaryOperator::kMultiply && (a || b) && !(in_place && as_list(lhs)))
    return repeat(state, a ? *a : *b, a ? rhs : lhs);
  if (op == BinaryOperator::kOr && !in_place && as_dict(lhs) && as_dict(rhs)) {
    auto merged = std::make_shared<DictValue>();
    merged->items = as_dict(lhs)->items;
    ValueRef out = merged;
    SUTURE_CAPTURE_VOID(dict_merge(state, out, rhs, false));
    return out;
  }
  PyRef x = state.python_constant(lhs), y = state.python_constant(rhs);
  if (!in_place && x && y) return constant_binary_op(state, op, std::move(x), std::move(y));
  return state.unknown_break(as_tuple_or_list(lhs) || as_dict(lhs) ? rhs : lhs);
}

bool is_container(const ValueRef& v) {
  return v->kind == ValueKind::kTuple || v->kind == ValueKind::kList || v->kind == ValueKind::kDict ||
         v->kind == ValueKind::kSet;
}

// --- user classes ------------------------------------------------------------------------------------------
// instance OP anything: the class's own method. Where the right side is an instance, too, its class may take
// precedence.
Outcome instance_binary_op(CaptureState& state, WrittenOperator written, const ValueRef& lhs,
                           const ValueRef& rhs) {
  if (!as_instance(lhs) || as_instance(rhs)) return state.unknown_break(as_instance(lhs) ? lhs : rhs);
  const BinaryOperatorInfo& binary = info(written.op);
  ValueRef method;
  if (written.in_place) {
    SUTURE_CAPTURE(writing, class_method(state, lhs, binary.in_place));
    method = writing;
  }
  if (!method) {
    SUTURE_CAPTURE(plain, class_method(state, lhs, binary.method));
    method = plain;
  }
  if (!method) return state.unknown_break(lhs);
  SUTURE_CAPTURE(result, call(state, method, {{rhs}, {}}));
  auto* constant = as_constant(result);
  if (constant && constant->object.get() == Py_NotImplemented) return state.unknown_break(lhs);
  return result;
}

}  // namespace

bool is_python_number(CaptureState& state, const ValueRef& value) {
  return is_weak_array(state, value) || as_sym_int(value) || is_python_scalar_constant(value);
}

Outcome binary_op(CaptureState& state, WrittenOperator written, const ValueRef& lhs, const ValueRef& rhs) {
  const auto [op, in_place] = written;
  if (as_instance(lhs) || as_instance(rhs)) return instance_binary_op(state, written, lhs, rhs);
  if (as_array(lhs) || as_array(rhs)) {
    if (is_python_number(state, lhs) && is_python_number(state, rhs))
      return weak_binary_op(state, op, lhs, rhs);
    if (as_list(lhs) && in_place) return state.unknown_break(lhs);
    SUTURE_CAPTURE_VOID(state.materialize(lhs));
    SUTURE_CAPTURE_VOID(state.materialize(rhs));
    const bool writes = in_place && as_array(lhs) && !state.type_of(*as_array(lhs)).scalar();
    return array_binary_op(state, {op, writes}, lhs, rhs);
  }
  if (is_container(lhs) || is_container(rhs)) return sequence_binary_op(state, written, lhs, rhs);
  if (as_sym_int(lhs) || as_sym_int(rhs)) return symbolic_binary_op(state, op, lhs, rhs);
  auto *a = as_constant(lhs), *b = as_constant(rhs);
  if (a && b && is_plain_immutable(a->object.get()) && is_plain_immutable(b->object.get()))
    return constant_binary_op(state, op, lhs, rhs);
  return state.unknown_break(a && is_plain_immutable(a->object.get()) ? rhs : lhs);
}

Outcome unary_op(CaptureState& state, char symbol, const ValueRef& operand) {
  const UnaryOperatorInfo& unary = *std::ranges::find(kUnaryOperators, symbol, &UnaryOperatorInfo::symbol);
  if (as_array(operand)) {
    if (is_weak_array(state, operand) && symbol == '~')
      return scalar_math(state, "`~` on a Python number known only at run time");
    return array_unary_op(state, unary, operand);
  }
  if (auto* sym = as_sym_int(operand)) {
    if (symbol == '+') return operand;
    return state.computed_int(symbol == '-' ? -sym->value : -sym->value - SymInt(1));
  }
  if (as_instance(operand)) {
    SUTURE_CAPTURE(method, class_method(state, operand, unary.method));
    return method ? call(state, method, {}) : Outcome(state.unknown_break(operand));
  }
  auto* constant = as_constant(operand);
  if (!constant || !is_plain_immutable(constant->object.get())) return state.unknown_break(operand);
  SUTURE_CAPTURE(result, fold(state, [&] { return python_unary_op(symbol, constant->object.get()); }));
  return result ? Outcome(state.constant(result)) : array_unary_op(state, unary, operand);
}

// --- comparison --------------------------------------------------------------------------------------------
namespace {

const ComparisonInfo& comparison_of(std::string_view symbol) {
  return *std::ranges::find(kComparisons, symbol, &ComparisonInfo::symbol);
}

bool compare_symbols(ShapeEnv& env, std::string_view op, const SymInt& a, const SymInt& b) {
  if (op == "==") return env.eq(a, b);
  if (op == "!=") return !env.eq(a, b);
  if (op == "<") return env.lt(a, b);
  if (op == "<=") return env.le(a, b);
  if (op == ">") return env.lt(b, a);
  return env.le(b, a);
}

// -1 or 1: the side of int64 on which an int constant lies that does not fit it; 0 for everything else.
int side_beyond_int64(const ValueRef& value) {
  auto* constant = as_constant(value);
  if (!constant || !PyLong_CheckExact(constant->object.get())) return 0;
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(constant->object.get(), &overflow);
  return overflow;
}

// Equality of two values inside containers, as == does (identity first).
Captured<bool> items_equal(CaptureState& state, const ValueRef& a, const ValueRef& b) {
  if (a == b) return true;
  SUTURE_CAPTURE(result, compare_op(state, "==", a, b));
  return truth(state, result);
}

Outcome compare_sequences(CaptureState& state, std::string_view op, const ValueRef& lhs,
                          const ValueRef& rhs) {
  SUTURE_CAPTURE_VOID(state.materialize(lhs));
  SUTURE_CAPTURE_VOID(state.materialize(rhs));
  const auto& a = as_tuple_or_list(lhs)->items;
  const auto& b = as_tuple_or_list(rhs)->items;
  if ((op == "==" || op == "!=") && a.size() != b.size()) return state.boolean(op == "!=");
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    SUTURE_CAPTURE(equal, items_equal(state, a[i], b[i]));
    if (equal) continue;
    if (op == "==" || op == "!=") return state.boolean(op == "!=");
    return compare_op(state, op, a[i], b[i]);
  }
  const auto x = static_cast<int64_t>(a.size()), y = static_cast<int64_t>(b.size());
  return state.boolean(compare_symbols(state.graph.env, op, x, y));
}

Outcome compare_constants(CaptureState& state, std::string_view op, const PyRef& a, const PyRef& b) {
  const ComparisonInfo& comparison = comparison_of(op);
  SUTURE_CAPTURE(result, fold(state, [&] {
                   return PyRef::steal(PyObject_RichCompare(a.get(), b.get(), comparison.number));
                 }));
  return result ? state.literal(result)
                : array_compare(state, comparison, state.constant(a), state.constant(b));
}

// Operands for which == falls back to identity: functions, classes, modules, None and the like.
bool compares_by_identity(const ValueRef& value) {
  if (as_function(value)) return true;
  auto* constant = as_constant(value);
  if (!constant) return false;
  PyView o = constant->object.get();
  return o == Py_None || PyModule_Check(o) || PyCFunction_Check(o) ||
         (PyType_Check(o) && Py_IS_TYPE(o, &PyType_Type)) || PyFunction_Check(o);
}

// dtype == what NumPy can make a dtype of: classes, strings, other dtypes.
bool is_dtype(const ValueRef& value) {
  auto* constant = as_constant(value);
  return constant && is_numpy_dtype(constant->object.get());
}

bool is_plain_constant(const ValueRef& value) {
  auto* constant = as_constant(value);
  return constant &&
         (is_plain_immutable(constant->object.get()) || PyAnySet_CheckExact(constant->object.get()));
}

}  // namespace

Outcome compare_op(CaptureState& state, std::string_view op, const ValueRef& lhs, const ValueRef& rhs) {
  if (as_array(lhs) || as_array(rhs)) {
    if (is_container(lhs) || is_container(rhs)) {
      SUTURE_CAPTURE_VOID(state.materialize(lhs));
      SUTURE_CAPTURE_VOID(state.materialize(rhs));
    }
    if (as_instance(lhs) || as_instance(rhs)) return state.unknown_break(as_instance(lhs) ? lhs : rhs);
    return array_compare(state, comparison_of(op), lhs, rhs);
  }
  const bool equality = op == "==" || op == "!=";
  if (as_tuple_or_list(lhs) && as_tuple_or_list(rhs)) {
    if (lhs->kind == rhs->kind) return compare_sequences(state, op, lhs, rhs);
    if (equality) return state.boolean(op == "!=");
  }
  if (as_sym_int(lhs) || as_sym_int(rhs)) {
    auto a = state.as_int(lhs), b = state.as_int(rhs);
    if (a && b) return state.boolean(compare_symbols(state.graph.env, op, *a, *b));
    // All values that a symbolic int can have lie on one side of such a constant.
    const int left = side_beyond_int64(lhs), right = side_beyond_int64(rhs);
    if (left != 0 || right != 0) return state.boolean(compare_symbols(state.graph.env, op, left, right));
    PyRef x = state.force_constant(lhs), y = state.force_constant(rhs);
    if (x && y && is_python_scalar_constant(as_sym_int(lhs) ? rhs : lhs))
      return compare_constants(state, op, x, y);
    if (equality && is_plain_constant(as_sym_int(lhs) ? rhs : lhs)) return state.boolean(op == "!=");
    return state.unknown_break(as_sym_int(lhs) ? rhs : lhs);
  }
  if (is_plain_constant(lhs) && is_plain_constant(rhs))
    return compare_constants(state, op, as_constant(lhs)->object, as_constant(rhs)->object);
  if (equality && (is_dtype(lhs) || is_dtype(rhs)) && as_constant(lhs) && as_constant(rhs))
    return compare_constants(state, op, as_constant(lhs)->object, as_constant(rhs)->object);
  if (equality && (compares_by_identity(lhs) || compares_by_identity(rhs)) && !as_instance(lhs) &&
      !as_instance(rhs) && !as_unknown(lhs) && !as_unknown(rhs)) {
    SUTURE_CAPTURE(same, is_same(state, lhs, rhs));
    return state.boolean(same == (op == "=="));
  }
  PyRef x = state.python_constant(lhs), y = state.python_constant(rhs);
  if (x && y && is_container(lhs) && is_container(rhs)) return compare_constants(state, op, x, y);
  return state.unknown_break(is_plain_constant(lhs) ? rhs : lhs);
}

Captured<bool> contains(CaptureState& state, const ValueRef& container, const ValueRef& item) {
  if (auto* sequence = as_tuple_or_list(container)) {
    SUTURE_CAPTURE_VOID(state.materialize(container));
    for (const ValueRef& candidate : sequence->items) {
      SUTURE_CAPTURE(equal, items_equal(state, candidate, item));
      if (equal) return true;
    }
    return false;
  }
  PyRef key = state.force_constant(item);
  if (!key) return state.unknown_break(item);
  if (auto* dict = as_dict(container)) {
    for (size_t i = 0; i < dict->items.size(); ++i) {
      PyView candidate = dict->items[i].first.get();
      SUTURE_CAPTURE(
          equal, ask_python(state, [&] { return PyObject_RichCompareBool(candidate, key.get(), Py_EQ); }));
      if (!equal) continue;
      SUTURE_CAPTURE_VOID(state.item(*dict, i));
      return true;
    }
    state.guard_keys(*dict);
    return false;
  }
  if (as_set(container)) {
    PyRef set = state.python_constant(container);
    if (!set) return state.unknown_break(container);
    return ask_python(state, [&] { return PySet_Contains(set.get(), key.get()); });
  }
  auto* constant = as_constant(container);
  if (!constant || !is_plain_constant(container)) return state.unknown_break(container);
  return ask_python(state, [&] { return PySequence_Contains(constant->object.get(), key.get()); });
}

namespace {

// Two existing objects: the answer holds for this call and is guarded.
std::optional<bool> is_same_object(CaptureState& state, const ValueRef& a, const ValueRef& b) {
  if (a->source == kNoSource || b->source == kNoSource) return std::nullopt;
  PyView x = fetch(state.guards.sources, a->source, state.input),
         y = fetch(state.guards.sources, b->source, state.input);
  if (!x || x != y) return std::nullopt;
  Guard g;
  g.kind = GuardKind::kSameObject;
  g.source = a->source;
  g.other = b->source;
  state.guard(std::move(g));
  return true;
}

}  // namespace

Captured<bool> is_same(CaptureState& state, const ValueRef& a, const ValueRef& b) {
  if (a == b) return true;
  auto *x = as_constant(a), *y = as_constant(b);
  if (x && y) return x->object.get() == y->object.get();
  if (a->kind != b->kind && !as_unknown(a) && !as_unknown(b)) return false;
  if (auto* f = as_function(a)) {
    auto* g = as_function(b);
    if (g && (!f->function || !g->function)) return false;
  }
  if (auto same = is_same_object(state, a, b)) return *same;
  PyView type_a = state.python_type(a), type_b = state.python_type(b);
  if (type_a && type_b && type_a != type_b) return false;
  if (a->source == kNoSource || b->source == kNoSource) {
    if (as_array(a) && as_array(b)) return false;  // a fresh result is no other object
    if (as_tuple_or_list(a) || as_dict(a)) return false;
    return state.unknown_break(a);
  }
  if (as_sym_int(a) || as_unknown(a) || as_unknown(b)) return state.unknown_break(a);
  Guard g;
  g.kind = GuardKind::kNotSameObject;
  g.source = a->source;
  g.other = b->source;
  state.guard(std::move(g));
  return false;
}

// --- truth -------------------------------------------------------------------------------------------------
namespace {

Captured<bool> array_truth(CaptureState& state, const ValueRef& value) {
  const TensorType& type = state.type_of(*as_array(value));
  for (const SymInt& size : type.shape) {
    if (size.constant() == 1) continue;
    return state.make_break(
        BreakReason::kWouldRaise,
        {fmt::format("The truth value of an array of shape {} is ambiguous or empty", type.str())});
  }
  return state.make_break(BreakReason::kDataDependentBranch, {"this condition"});
}

Captured<bool> instance_truth(CaptureState& state, const ValueRef& value) {
  SUTURE_CAPTURE(as_bool, class_method(state, value, "__bool__"));
  if (as_bool) {
    SUTURE_CAPTURE(result, call(state, as_bool, {}));
    return truth(state, result);
  }
  SUTURE_CAPTURE(as_length, class_method(state, value, "__len__"));
  if (!as_length) return true;
  SUTURE_CAPTURE(length, call(state, as_length, {}));
  return truth(state, length);
}

// A class is true unless its metaclass says otherwise.
Captured<bool> class_truth(CaptureState& state, const ValueRef& value, PyView cls) {
  PyView metaclass = reinterpret_cast<PyObject*>(Py_TYPE(cls));
  for (const char* name : {"__bool__", "__len__"}) {
    PyRef key = PyRef::steal(PyUnicode_InternFromString(name));
    if (lookup_in_classes(metaclass, key.get())) return state.unknown_break(value);
    if (!Py_IS_TYPE(cls, &PyType_Type)) state.guard_absent(state.object_source(metaclass), name);
  }
  return true;
}

}  // namespace

Captured<bool> truth(CaptureState& state, const ValueRef& value) {
  switch (value->kind) {
    case ValueKind::kArray: return array_truth(state, value);
    case ValueKind::kSymInt: return !state.graph.env.eq(as_sym_int(value)->value, 0);
    case ValueKind::kTuple:
    case ValueKind::kList:
    case ValueKind::kSet: return !static_cast<SequenceValue&>(*value).items.empty();
    case ValueKind::kDict: state.guard_keys(*as_dict(value)); return !as_dict(value)->items.empty();
    case ValueKind::kRange: {
      SUTURE_CAPTURE(length, length_of(state, value));
      return !state.graph.env.eq(length, 0);
    }
    case ValueKind::kFunction:
    case ValueKind::kBoundMethod:
    case ValueKind::kArrayMethod:
    case ValueKind::kBuiltinMethod:
    case ValueKind::kPartial:
    case ValueKind::kSlice: return true;
    case ValueKind::kInstance: return instance_truth(state, value);
    case ValueKind::kConstant: break;
    default: return state.unknown_break(value);
  }
  PyView o = as_constant(value)->object.get();
  if (PyType_Check(o)) return class_truth(state, value, o);
  if (PyModule_CheckExact(o) || PyCFunction_Check(o)) return true;
  if (!is_plain_immutable(o) && !PyAnySet_CheckExact(o) && !is_numpy_callable(o))
    return state.unknown_break(value);
  return ask_python(state, [&] { return PyObject_IsTrue(o); });
}

Outcome logical_not(CaptureState& state, const ValueRef& value) {
  if (as_array(value)) {
    auto known = truth(state, value);
    if (!is_value(known) && std::holds_alternative<Break>(known) &&
        std::get<Break>(known).reason == BreakReason::kDataDependentBranch)
      return state.make_break(BreakReason::kScalarConversion, {"`not` on " + state.describe(value)});
  }
  SUTURE_CAPTURE(result, truth(state, value));
  return state.boolean(!result);
}

}  // namespace suture
