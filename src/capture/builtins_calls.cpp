// Builtin functions and classes called with values that are not all constants; functools and operator.
//
// One row per callable: its name, how many arguments the handler takes, whether it takes keywords. A handler
// that cannot do the call returns a null value: call_on_constants or the unknown-call break is next.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "capture/known_modules.h"
#include "capture/numpy_calls.h"
#include "capture/operations.h"
#include "cpython/discard_error.h"
#include "cpython/objects.h"
#include "ops/operators.h"

namespace suture {
namespace {

using Items = std::vector<ValueRef>;
using Of = IteratorValue::Of;

const ValueRef* keyword(const CallArguments& args, std::string_view name) {
  for (const auto& [key, value] : args.keyword)
    if (key == name) return &value;
  return nullptr;
}

std::string constant_text(CaptureState& state, const ValueRef& value) {
  PyRef object = state.python_constant(value);
  return object ? exact_text(object.get()).value_or("") : "";
}

Outcome absolute(CaptureState& state, const CallArguments& args) {
  const ValueRef& value = args.positional[0];
  if (as_array(value) && is_python_number(state, value)) return python_absolute(state, value);
  if (as_array(value)) return call_numpy(state, numpy_object("absolute"), args, "abs");
  if (auto* sym = as_sym_int(value)) {
    return state.graph.env.lt(sym->value, 0) ? state.computed_int(-sym->value) : Outcome(value);
  }
  if (as_instance(value)) {
    SUTURE_CAPTURE(method, class_method(state, value, "__abs__"));
    if (method) return call(state, method, {});
  }
  return ValueRef();
}

// --- questions about values --------------------------------------------------------------------------------
Outcome len_call(CaptureState& state, const CallArguments& args) {
  SUTURE_CAPTURE(length, length_of(state, args.positional[0]));
  return state.python_int(length);
}

Outcome callable_call(CaptureState& state, const CallArguments& args) {
  switch (args.positional[0]->kind) {
    case ValueKind::kFunction:
    case ValueKind::kBoundMethod:
    case ValueKind::kArrayMethod:
    case ValueKind::kBuiltinMethod:
    case ValueKind::kPartial: return state.boolean(true);
    case ValueKind::kUnknown:
    case ValueKind::kInstance: return state.unknown_break(args.positional[0]);
    case ValueKind::kConstant:
      return state.boolean(PyCallable_Check(as_constant(args.positional[0])->object.get()) == 1);
    default: return state.boolean(false);
  }
}

Outcome getattr_call(CaptureState& state, const CallArguments& args) {
  const std::string name = constant_text(state, args.positional[1]);
  if (name.empty()) return state.unknown_break(args.positional[1]);
  auto found = get_attribute(state, args.positional[0], name);
  auto* reason = std::get_if<Break>(&found);
  if (args.positional.size() == 2 || !reason || reason->reason != BreakReason::kWouldRaise) return found;
  return state.make_break(BreakReason::kUnsupportedAttribute, {"`" + name + "` with a default"});
}

Outcome setattr_call(CaptureState& state, const CallArguments& args) {
  const std::string name = constant_text(state, args.positional[1]);
  if (name.empty()) return state.unknown_break(args.positional[1]);
  SUTURE_CAPTURE_VOID(set_attribute(state, args.positional[0], name, args.positional[2]));
  return state.none();
}

// --- iterables ---------------------------------------------------------------------------------------------
Outcome range_call(CaptureState& state, const CallArguments& args) {
  std::vector<SymInt> parts;
  for (const ValueRef& value : args.positional) {
    auto part = state.as_int(value);
    if (!part) {
      if (as_array(value))
        return state.make_break(BreakReason::kScalarConversion,
                                {state.describe(value) + " as a bound of range"});
      return ValueRef();
    }
    parts.push_back(*part);
  }
  const SymInt step = parts.size() == 3 ? parts[2] : SymInt(1);
  if (state.graph.env.eq(step, 0))
    return state.make_break(BreakReason::kWouldRaise, {"range() arg 3 must not be zero"});
  const bool only_stop = parts.size() == 1;
  return std::make_shared<RangeValue>(only_stop ? SymInt(0) : parts[0], only_stop ? parts[0] : parts[1],
                                      step);
}

Captured<Items> iterators_of(CaptureState& state, Items::const_iterator begin, Items::const_iterator end) {
  Items out;
  for (auto value = begin; value != end; ++value) {
    SUTURE_CAPTURE(iterator, make_iterator(state, *value));
    if (static_cast<IteratorValue&>(*iterator).of == Of::kOpaque) return state.unknown_break(*value);
    out.push_back(std::move(iterator));
  }
  return out;
}

std::shared_ptr<IteratorValue> iterator_of(Of of, Items children, ValueRef subject = nullptr) {
  auto iterator = std::make_shared<IteratorValue>();
  iterator->of = of;
  iterator->children = std::move(children);
  iterator->subject = std::move(subject);
  return iterator;
}

// strict=True is the plain zip when all lengths are known and equal; otherwise Python raises at the right
// moment.
bool known_equal_lengths(const CallArguments& args) {
  std::optional<size_t> length;
  for (const ValueRef& value : args.positional) {
    const SequenceValue* items = as_tuple_or_list(value);
    if (!items || (length && *length != items->items.size())) return false;
    length = items->items.size();
  }
  return true;
}

Outcome zip_call(CaptureState& state, const CallArguments& args) {
  if (!args.keyword.empty()) {
    const ValueRef* strict = args.keyword.size() == 1 ? keyword(args, "strict") : nullptr;
    const PyRef known = strict ? state.python_constant(*strict) : PyRef();
    if (!known || (known.get() != Py_False && !(known.get() == Py_True && known_equal_lengths(args))))
      return ValueRef();
  }
  SUTURE_CAPTURE(children, iterators_of(state, args.positional.begin(), args.positional.end()));
  return ValueRef(iterator_of(Of::kZip, std::move(children)));
}

Outcome map_call(CaptureState& state, const CallArguments& args) {
  SUTURE_CAPTURE(children, iterators_of(state, args.positional.begin() + 1, args.positional.end()));
  return ValueRef(iterator_of(Of::kMap, std::move(children), args.positional[0]));
}

Outcome filter_call(CaptureState& state, const CallArguments& args) {
  SUTURE_CAPTURE(children, iterators_of(state, args.positional.begin() + 1, args.positional.end()));
  return ValueRef(iterator_of(Of::kFilter, std::move(children), args.positional[0]));
}

Outcome enumerate_call(CaptureState& state, const CallArguments& args) {
  const ValueRef* start = args.positional.size() > 1 ? &args.positional[1] : keyword(args, "start");
  if (args.keyword.size() > (start && args.positional.size() == 1 ? 1u : 0u)) return ValueRef();
  SUTURE_CAPTURE(children, iterators_of(state, args.positional.begin(), args.positional.begin() + 1));
  auto iterator = iterator_of(Of::kEnumerate, std::move(children));
  if (start) {
    auto first = state.as_int(*start);
    if (!first) return state.unknown_break(*start);
    iterator->counter = *first;
  }
  return ValueRef(iterator);
}

Outcome reversed_call(CaptureState& state, const CallArguments& args) {
  return make_reversed(state, args.positional[0]);
}

Outcome iter_call(CaptureState& state, const CallArguments& args) {
  SUTURE_CAPTURE(iterators, iterators_of(state, args.positional.begin(), args.positional.end()));
  return iterators[0];
}

Outcome next_call(CaptureState& state, const CallArguments& args) {
  if (args.positional[0]->kind != ValueKind::kIterator) return state.unknown_break(args.positional[0]);
  SUTURE_CAPTURE(item, next_item(state, static_cast<IteratorValue&>(*args.positional[0])));
  if (item) return item;
  if (args.positional.size() > 1) return args.positional[1];
  return state.make_break(BreakReason::kWouldRaise, {"StopIteration"});
}

Outcome sequence_call(CaptureState& state, const CallArguments& args, ValueKind kind) {
  Items items;
  if (!args.positional.empty()) {
    if (args.positional[0]->kind == kind && kind == ValueKind::kTuple && !as_tuple(args.positional[0])->type)
      return args.positional[0];
    SUTURE_CAPTURE(all, all_items(state, args.positional[0]));
    items = std::move(all);
  }
  return std::make_shared<SequenceValue>(kind, std::move(items));
}
Outcome tuple_call(CaptureState& state, const CallArguments& args) {
  return sequence_call(state, args, ValueKind::kTuple);
}
Outcome list_call(CaptureState& state, const CallArguments& args) {
  return sequence_call(state, args, ValueKind::kList);
}

Outcome set_call(CaptureState& state, const CallArguments& args) {
  ValueRef set = std::make_shared<SequenceValue>(ValueKind::kSet, Items());
  if (args.positional.empty()) return set;
  SUTURE_CAPTURE(items, all_items(state, args.positional[0]));
  for (const ValueRef& item : items)
    SUTURE_CAPTURE_VOID(call_builtin_method(state, set, "add", {{item}, {}}));
  return set;
}

Outcome dict_call(CaptureState& state, const CallArguments& args) {
  ValueRef dict = std::make_shared<DictValue>();
  if (!args.positional.empty()) {
    if (as_dict(args.positional[0])) {
      SUTURE_CAPTURE_VOID(dict_merge(state, dict, args.positional[0], false));
    } else {
      SUTURE_CAPTURE(pairs, all_items(state, args.positional[0]));
      for (const ValueRef& pair : pairs) {
        SUTURE_CAPTURE(parts, all_items(state, pair));
        if (parts.size() != 2)
          return state.make_break(BreakReason::kWouldRaise, {"dict() from items that are no pairs"});
        SUTURE_CAPTURE_VOID(set_item(state, dict, parts[0], parts[1]));
      }
    }
  }
  for (const auto& [name, value] : args.keyword)
    SUTURE_CAPTURE_VOID(set_item(state, dict, state.text(name), value));
  return dict;
}

Outcome sorted_call(CaptureState& state, const CallArguments& args) {
  if (!args.keyword.empty() && !(args.keyword.size() == 1 && args.keyword[0].first == "reverse"))
    return ValueRef();
  SUTURE_CAPTURE(items, all_items(state, args.positional[0]));
  CallArguments constants = args;
  constants.positional[0] = std::make_shared<SequenceValue>(ValueKind::kList, std::move(items));
  return call_on_constants(state, module_object("builtins", "sorted"), constants);
}

// --- reductions over Python iterables ----------------------------------------------------------------------
Outcome sum_call(CaptureState& state, const CallArguments& args) {
  const ValueRef* start = args.positional.size() > 1 ? &args.positional[1] : keyword(args, "start");
  SUTURE_CAPTURE(value, make_iterator(state, args.positional[0]));
  auto& iterator = static_cast<IteratorValue&>(*value);
  if (auto left = items_left(state, iterator); left && *left > state.options.limits.max_unroll)
    return state.make_break(BreakReason::kLoopTooLong,
                            {std::to_string(*left), std::to_string(state.options.limits.max_unroll)});
  ValueRef total = start ? *start : state.python_int(0);
  while (true) {
    SUTURE_CAPTURE(item, next_item(state, iterator));
    if (!item) return total;
    SUTURE_CAPTURE(sum, binary_op(state, BinaryOperator::kAdd, total, item));
    total = std::move(sum);
  }
}

Outcome any_or_all(CaptureState& state, const CallArguments& args, bool stops_at) {
  SUTURE_CAPTURE(value, make_iterator(state, args.positional[0]));
  auto& iterator = static_cast<IteratorValue&>(*value);
  while (true) {
    SUTURE_CAPTURE(item, next_item(state, iterator));
    if (!item) return state.boolean(!stops_at);
    SUTURE_CAPTURE(answer, truth(state, item));
    if (answer == stops_at) return state.boolean(stops_at);
  }
}
Outcome any_call(CaptureState& state, const CallArguments& args) { return any_or_all(state, args, true); }
Outcome all_call(CaptureState& state, const CallArguments& args) { return any_or_all(state, args, false); }

Outcome extreme(CaptureState& state, const CallArguments& args, const char* better) {
  Items items = args.positional;
  const ValueRef* key = keyword(args, "key");
  if (args.keyword.size() > (key ? 1u : 0u)) return ValueRef();
  if (items.size() == 1) {
    SUTURE_CAPTURE(all, all_items(state, items[0]));
    items = std::move(all);
  }
  if (items.empty())
    return state.make_break(BreakReason::kWouldRaise, {"min() or max() of an empty iterable"});
  ValueRef best, best_key;
  for (const ValueRef& item : items) {
    ValueRef rank = item;
    if (key) {
      SUTURE_CAPTURE(computed, call(state, *key, {{item}, {}}));
      rank = computed;
    }
    bool take = !best;
    if (best) {
      SUTURE_CAPTURE(compared, compare_op(state, better, rank, best_key));
      SUTURE_CAPTURE(answer, truth(state, compared));
      take = answer;
    }
    if (!take) continue;
    best = item;
    best_key = rank;
  }
  return best;
}

// A size against a size: an expression when the answer is not known.
Outcome extreme_of_sizes(CaptureState& state, const CallArguments& args, bool smallest) {
  if (args.positional.size() != 2 || !args.keyword.empty()) return ValueRef();
  auto a = state.as_int(args.positional[0]), b = state.as_int(args.positional[1]);
  if (!a || !b || (a->is_constant() && b->is_constant())) return ValueRef();
  if (auto known = state.graph.env.proves(Relation::kLe, *a, *b))
    return args.positional[*known == smallest ? 0 : 1];
  return state.computed_int(smallest ? sym_min(*a, *b) : sym_max(*a, *b));
}

Outcome min_call(CaptureState& state, const CallArguments& args) {
  SUTURE_CAPTURE(size, extreme_of_sizes(state, args, true));
  return size ? Outcome(size) : extreme(state, args, "<");
}
Outcome max_call(CaptureState& state, const CallArguments& args) {
  SUTURE_CAPTURE(size, extreme_of_sizes(state, args, false));
  return size ? Outcome(size) : extreme(state, args, ">");
}

// --- conversions -------------------------------------------------------------------------------------------
Outcome convert(CaptureState& state, const CallArguments& args, const char* name, ValueClass same) {
  if (args.positional.empty()) return ValueRef();
  const ValueRef& value = args.positional[0];
  auto* array = as_array(value);
  if (!array) return ValueRef();
  if (state.type_of(*array).value_class == same) return value;
  return state.make_break(BreakReason::kScalarConversion, {state.describe_call(name, value)});
}
Outcome float_call(CaptureState& state, const CallArguments& args) {
  // A size as a float stays symbolic: 1.0 * n is exact where float(n) is.
  if (args.positional.size() == 1 && as_sym_int(args.positional[0]))
    return binary_op(state, BinaryOperator::kMultiply, args.positional[0],
                     state.constant(PyRef::steal(PyFloat_FromDouble(1.0))));
  return convert(state, args, "float", ValueClass::kPyFloat);
}
Outcome int_call(CaptureState& state, const CallArguments& args) {
  if (args.positional.size() == 1 && as_sym_int(args.positional[0])) return args.positional[0];
  return convert(state, args, "int", ValueClass::kPyInt);
}
Outcome bool_call(CaptureState& state, const CallArguments& args) {
  if (args.positional.empty()) return ValueRef();
  if (as_array(args.positional[0])) return convert(state, args, "bool", ValueClass::kPyBool);
  SUTURE_CAPTURE(answer, truth(state, args.positional[0]));
  return state.boolean(answer);
}

Outcome to_text(CaptureState& state, const CallArguments& args) {
  for (const ValueRef& value : args.positional)
    if (as_array(value))
      return state.make_break(BreakReason::kScalarConversion, {"Text of " + state.describe(value)});
  return ValueRef();
}

Outcome print_call(CaptureState& state, const CallArguments&) {
  return state.make_break(BreakReason::kPrint, {"`print`"});
}

Outcome slice_call(CaptureState& state, const CallArguments& args) {
  const Items& p = args.positional;
  if (p.size() == 1) return std::make_shared<SliceValue>(state.none(), p[0], state.none());
  return std::make_shared<SliceValue>(p[0], p[1], p.size() > 2 ? p[2] : state.none());
}

Outcome super_call(CaptureState& state, const CallArguments& args) {
  PyRef type = state.python_constant(args.positional[0]);
  const bool known = type && PyType_Check(type.get()) && as_instance(args.positional[1]);
  if (!known) return ValueRef();
  return std::make_shared<SuperValue>(type, args.positional[1]);
}

// --- functools, operator -----------------------------------------------------------------------------------
Outcome reduce_call(CaptureState& state, const CallArguments& args) {
  SUTURE_CAPTURE(items, all_items(state, args.positional[1]));
  if (args.positional.size() > 2) items.insert(items.begin(), args.positional[2]);
  if (items.empty())
    return state.make_break(BreakReason::kWouldRaise, {"reduce() of empty iterable with no initial value"});
  ValueRef result = items[0];
  for (size_t i = 1; i < items.size(); ++i) {
    SUTURE_CAPTURE(next, call(state, args.positional[0], {{result, items[i]}, {}}));
    result = std::move(next);
  }
  return result;
}

Outcome partial_call(CaptureState&, const CallArguments& args) {
  auto partial = std::make_shared<PartialValue>();
  partial->function = args.positional[0];
  partial->positional.assign(args.positional.begin() + 1, args.positional.end());
  partial->keyword = args.keyword;
  return ValueRef(std::move(partial));
}

// "iadd" is "add" in place, "iand" is "and_".
std::optional<WrittenOperator> written_operator(std::string_view name) {
  for (const BinaryOperatorInfo& row : kBinaryOperators) {
    if (name == row.name) return WrittenOperator(row.id);
    const std::string_view stem = row.name.substr(0, row.name.find('_'));
    if (name.starts_with('i') && name.substr(1) == stem) return WrittenOperator(row.id, true);
  }
  return std::nullopt;
}

Captured<ValueRef> operator_of_two(CaptureState& state, std::string_view name, const ValueRef& a,
                                   const ValueRef& b) {
  if (const auto op = written_operator(name)) return binary_op(state, *op, a, b);
  for (const ComparisonInfo& row : kComparisons)
    if (row.name == name) return compare_op(state, row.symbol, a, b);
  if (name == "getitem") return get_item(state, a, b);
  if (name == "contains") {
    SUTURE_CAPTURE(found, contains(state, a, b));
    return state.boolean(found);
  }
  if (name == "is_" || name == "is_not") {
    SUTURE_CAPTURE(same, is_same(state, a, b));
    return state.boolean(same == (name == "is_"));
  }
  return ValueRef();
}

Outcome operator_call(CaptureState& state, std::string_view name, const CallArguments& args) {
  const Items& p = args.positional;
  if (!args.keyword.empty()) return ValueRef();
  if (p.size() == 2) return operator_of_two(state, name, p[0], p[1]);
  if (p.size() != 1) return ValueRef();
  if (name == "inv") name = "invert";
  for (const UnaryOperatorInfo& row : kUnaryOperators)
    if (row.name == name) return unary_op(state, row.symbol, p[0]);
  if (name == "abs") return absolute(state, args);
  if (name == "not_") return logical_not(state, p[0]);
  if (name == "truth") {
    SUTURE_CAPTURE(answer, truth(state, p[0]));
    return state.boolean(answer);
  }
  return ValueRef();
}

// --- the table ---------------------------------------------------------------------------------------------
struct Row {
  std::string_view name;
  size_t least, most;
  bool keywords;
  Outcome (*handler)(CaptureState&, const CallArguments&);
};
constexpr size_t kMany = SIZE_MAX;
constexpr Row kBuiltins[] = {
    {"abs", 1, 1, false, absolute},
    {"isinstance", 2, 2, false, isinstance_call},
    {"issubclass", 2, 2, false, issubclass_call},
    {"type", 1, 1, false, type_call},
    {"len", 1, 1, false, len_call},
    {"callable", 1, 1, false, callable_call},
    {"getattr", 2, 3, false, getattr_call},
    {"setattr", 3, 3, false, setattr_call},
    {"range", 1, 3, false, range_call},
    {"zip", 0, kMany, true, zip_call},
    {"map", 2, kMany, false, map_call},
    {"filter", 2, 2, false, filter_call},
    {"enumerate", 1, 2, true, enumerate_call},
    {"reversed", 1, 1, false, reversed_call},
    {"iter", 1, 1, false, iter_call},
    {"next", 1, 2, false, next_call},
    {"tuple", 0, 1, false, tuple_call},
    {"list", 0, 1, false, list_call},
    {"set", 0, 1, false, set_call},
    {"dict", 0, 1, true, dict_call},
    {"sorted", 1, 1, true, sorted_call},
    {"sum", 1, 2, true, sum_call},
    {"any", 1, 1, false, any_call},
    {"all", 1, 1, false, all_call},
    {"min", 1, kMany, true, min_call},
    {"max", 1, kMany, true, max_call},
    {"float", 0, 1, false, float_call},
    {"int", 0, 2, true, int_call},
    {"bool", 0, 1, false, bool_call},
    {"str", 1, 1, false, to_text},
    {"repr", 1, 1, false, to_text},
    {"print", 0, kMany, true, print_call},
    {"slice", 1, 3, false, slice_call},
    {"super", 2, 2, false, super_call},
};
constexpr Row kFunctools[] = {
    {"reduce", 2, 3, false, reduce_call},
    {"partial", 1, kMany, true, partial_call},
};

std::string utf8(PyView text) { return exact_text(text).value_or(""); }

// Module and name of a builtin function or class, or empty.
std::pair<std::string, std::string> identity_of(PyView callable) {
  if (PyCFunction_Check(callable)) {
    auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
    std::string module = utf8(function->m_module);
    return {module == "_functools" ? "functools" : module, function->m_ml->ml_name};
  }
  if (!PyType_Check(callable)) return {};
  if (callable == module_object("functools", "partial")) return {"functools", "partial"};
  auto* type = reinterpret_cast<PyTypeObject*>(callable);
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) return {};
  return {"builtins", type->tp_name};
}

}  // namespace

Outcome call_builtin(CaptureState& state, PyView callable, const CallArguments& args) {
  const auto [module, name] = identity_of(callable);
  if (module == "_operator") return operator_call(state, name, args);
  if (module == "math") return math_call(state, name, args);
  const std::span<const Row> rows = module == "builtins"    ? std::span<const Row>(kBuiltins)
                                    : module == "functools" ? std::span<const Row>(kFunctools)
                                                            : std::span<const Row>();
  const auto row = std::ranges::find(rows, name, &Row::name);
  const size_t count = args.positional.size();
  const bool known = row != rows.end() && count >= row->least && count <= row->most &&
                     (row->keywords || args.keyword.empty());
  return known ? row->handler(state, args) : Outcome(ValueRef());
}

Outcome format_value(CaptureState& state, const ValueRef& value, int conversion, const ValueRef& spec) {
  if (as_array(value))
    return state.make_break(BreakReason::kScalarConversion, {"Text of " + state.describe(value)});
  PyRef object = state.force_constant(value);
  PyRef format = spec ? state.python_constant(spec) : PyRef::steal(PyUnicode_FromString(""));
  if (!object || !format) return state.unknown_break(value);
  static constexpr std::array<PyObject* (*)(PyObject*), 4> kConversions = {nullptr, PyObject_Str,
                                                                           PyObject_Repr, PyObject_ASCII};
  if (conversion != 0) object = PyRef::steal(kConversions[static_cast<size_t>(conversion)](object.get()));
  PyRef text = object ? PyRef::steal(PyObject_Format(object.get(), format.get())) : PyRef();
  if (text) return state.constant(text);
  const std::string what = pending_exception_text();
  discard_error();
  return state.make_break(BreakReason::kWouldRaise, {what});
}

}  // namespace suture
