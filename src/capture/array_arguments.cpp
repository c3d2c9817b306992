// Arguments of NumPy calls: see array_arguments.h.
#include "capture/array_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "capture/folding.h"
#include "capture/known_modules.h"
#include "cpython/discard_error.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "ops/promotion.h"

namespace suture::numpy {

// --- the call ----------------------------------------------------------------------------------------------
Break Call::not_compiled(std::string why) const {
  return state.make_break(BreakReason::kUnsupportedNumpy, {"`" + spelled + "`", std::move(why)});
}
Break Call::would_raise(std::string why) const {
  return state.make_break(BreakReason::kWouldRaise, {fmt::format("`{}`: {}", spelled, why)});
}
Break Call::bad_index(std::string why) const {
  return state.make_break(BreakReason::kUnsupportedIndex, {std::move(why)});
}
Break Call::bad_write(std::string why) const {
  return state.make_break(BreakReason::kUnsupportedMutation, {std::move(why)});
}

// Refusals by the builder say "not compiled" for what Suture cannot do; everything else is what NumPy itself
// would refuse.
Failed Call::failed(const Error& error) const {
  if (error.kind != ErrorKind::kUnsupported) return Failed{error};
  const bool limit = error.message.find("not compiled") != std::string::npos;
  return Failed{limit ? not_compiled(error.message) : would_raise(error.message)};
}

Captured<NodeId> Call::node(OpId op, std::vector<NodeId> operands, Attrs attrs) const {
  auto added = state.builder.add(op, std::move(operands), std::move(attrs), spelled);
  if (!added.ok()) return failed(added.error());
  return *added;
}

Outcome Call::value(OpId op, std::vector<NodeId> operands, Attrs attrs) const {
  SUTURE_CAPTURE(id, node(op, std::move(operands), std::move(attrs)));
  return array_value(id);
}

Captured<NodeId> Call::operand(const ValueRef& value) const {
  auto node = state.node_of(value);
  if (auto* broken = std::get_if<Break>(&node)) return std::move(*broken);
  return std::get<NodeId>(node);
}

Captured<NodeId> Call::array_operand(const ValueRef& value) const {
  if (!as_array(value)) {
    if (auto* constant = as_constant(value); !constant || !numpy_scalar_dtype(constant->object.get())) {
      return not_compiled(fmt::format("its argument {} is not an array", state.describe(value)));
    }
  }
  SUTURE_CAPTURE(id, operand(value));
  if (is_weak(type(id).value_class)) return not_compiled("its argument is a Python number, not an array");
  return id;
}

ValueRef array_value(NodeId node) { return std::make_shared<ArrayValue>(node); }

// --- constants ---------------------------------------------------------------------------------------------
bool is_none(const ValueRef& value) {
  auto* constant = as_constant(value);
  return constant && constant->object.get() == Py_None;
}

std::string constant_text(const ValueRef& value) {
  auto* constant = as_constant(value);
  if (!constant) return {};
  PyView object = constant->object.get();
  if (PyUnicode_CheckExact(object)) return exact_text(object).value_or("");
  const bool plain = object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object);
  return plain ? short_repr(object) : "";
}

std::optional<SymInt> integer_of(const CaptureState& state, const ValueRef& value) {
  auto* constant = as_constant(value);
  if (!constant) return state.as_int(value);
  PyView object = constant->object.get();
  if (PyBool_Check(object)) return std::nullopt;
  const auto dtype = numpy_scalar_dtype(object);
  if (!dtype) return state.as_int(value);
  if (!is_integer(*dtype)) return std::nullopt;
  PyRef index = PyRef::steal(PyNumber_Index(object));
  int overflow = 1;
  const long long number = index ? PyLong_AsLongLongAndOverflow(index.get(), &overflow) : 0;
  discard_error();
  return overflow == 0 ? std::optional<SymInt>(SymInt(number)) : std::nullopt;
}

std::optional<std::vector<ValueRef>> items_of(CaptureState& state, const ValueRef& value) {
  ValueRef sequence = value;
  if (auto* constant = as_constant(value); constant && PyTuple_CheckExact(constant->object.get())) {
    sequence = state.literal(constant->object);
  }
  auto* items = as_tuple_or_list(sequence);
  if (!items) return std::nullopt;
  return items->items;
}

// --- binding -----------------------------------------------------------------------------------------------
namespace {

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const size_t comma = list.find(',');
    names.emplace_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
  }
  return names;
}

struct Harmless {
  std::string_view parameter, text;
};
// Values that leave the result as it is for the arrays that capture handles.
constexpr std::array kHarmless = {
    Harmless{"where", "True"},    Harmless{"casting", "same_kind"},
    Harmless{"order", "K"},       Harmless{"order", "A"},
    Harmless{"subok", "True"},    Harmless{"subok", "False"},
    Harmless{"device", "cpu"},    Harmless{"axis", "0"},
    Harmless{"retstep", "False"}, Harmless{"ndmin", "0"},
};

bool is_harmless(std::string_view parameter, const ValueRef& value) {
  const std::string text = constant_text(value);
  return std::any_of(kHarmless.begin(), kHarmless.end(),
                     [&](const Harmless& h) { return h.parameter == parameter && h.text == text; });
}

}  // namespace

Captured<Arguments> Arguments::bind(const Call& call, std::string_view parameters,
                                    const CallArguments& args) {
  const std::vector<std::string> names = split(parameters);
  const auto star = std::find(names.begin(), names.end(), "*");
  const auto positional = static_cast<size_t>(star - names.begin());
  if (args.positional.size() > positional) return call.would_raise("too many arguments");
  Arguments bound;
  for (size_t i = 0; i < args.positional.size(); ++i) bound.values_[names[i]] = args.positional[i];
  for (const auto& [name, value] : args.keyword) {
    if (name == "*" || std::find(names.begin(), names.end(), name) == names.end()) {
      return call.not_compiled(fmt::format("its argument `{}` is not handled", name));
    }
    if (!bound.values_.emplace(name, value).second)
      return call.would_raise(fmt::format("`{}` is given twice", name));
  }
  return bound;
}

bool Arguments::given(std::string_view name) const { return values_.find(name) != values_.end(); }

ValueRef Arguments::get(std::string_view name) const {
  auto found = values_.find(name);
  if (found == values_.end() || is_none(found->second)) return nullptr;
  if (auto* constant = as_constant(found->second);
      constant && constant->object.get() == numpy_object("_NoValue"))
    return nullptr;
  return found->second;
}

Captured<Unit> Arguments::require_default(const Call& call,
                                          std::initializer_list<std::string_view> names) const {
  for (std::string_view name : names) {
    const ValueRef value = get(name);
    if (value && !is_harmless(name, value)) {
      return call.not_compiled(fmt::format("its argument `{}` is not handled with this value", name));
    }
  }
  return Unit{};
}

Captured<bool> Arguments::flag(const Call& call, std::string_view name, bool fallback) const {
  const ValueRef value = get(name);
  if (!value) return fallback;
  const std::string text = constant_text(value);
  if (text == "True" || text == "1") return true;
  if (text == "False" || text == "0") return false;
  return call.not_compiled(fmt::format("its argument `{}` is not a constant bool", name));
}

Captured<int64_t> Arguments::integer(const Call& call, std::string_view name, int64_t fallback) const {
  const ValueRef value = get(name);
  if (!value) return fallback;
  const auto number = integer_of(call.state, value);
  if (!number) return call.not_compiled(fmt::format("its argument `{}` is not an int", name));
  return call.env().specialize(*number);
}

Captured<std::optional<DType>> Arguments::dtype(const Call& call, std::string_view name) const {
  const ValueRef value = get(name);
  if (!value) return std::optional<DType>();
  auto* constant = as_constant(value);
  if (!constant) return call.not_compiled("its dtype is not a constant");
  const auto dtype = dtype_from_object(constant->object.get());
  if (!dtype) {
    return call.state.make_break(BreakReason::kUnsupportedDtype,
                                 {"`" + call.spelled + "`", "dtype " + short_repr(constant->object.get()) +
                                                                " runs in the interpreter"});
  }
  return dtype;
}

Captured<Order> Arguments::order(const Call& call, Order fallback) const {
  const ValueRef value = get("order");
  if (!value) return fallback;
  const std::string text = constant_text(value);
  if (text == "C") return Order::kC;
  if (text == "F") return Order::kF;
  if (text == "K") return Order::kKeep;
  if (text == "A") return Order::kAny;
  return call.would_raise("order must be one of 'C', 'F', 'A' or 'K'");
}

// --- sizes and axes ----------------------------------------------------------------------------------------
Captured<std::vector<SymInt>> sizes_of(const Call& call, const ValueRef& value, const std::string& what) {
  if (auto single = integer_of(call.state, value)) return std::vector<SymInt>{*single};
  const auto items = items_of(call.state, value);
  if (!items)
    return call.not_compiled(
        fmt::format("{} {} is not made of ints known here", what, call.state.describe(value)));
  std::vector<SymInt> sizes;
  for (const ValueRef& item : *items) {
    const auto size = integer_of(call.state, item);
    if (!size)
      return call.not_compiled(
          fmt::format("{} holds {}, which is not an int", what, call.state.describe(item)));
    sizes.push_back(*size);
  }
  return sizes;
}

Captured<std::vector<int>> axes_of(const Call& call, const ValueRef& value, int rank) {
  SUTURE_CAPTURE(written, sizes_of(call, value, "the axis"));
  std::vector<int> axes;
  for (const SymInt& axis : written) {
    const int64_t number = call.env().specialize(axis);
    if (number < -rank || number >= rank)
      return call.would_raise(fmt::format("axis {} is out of bounds", number));
    const int normalised = static_cast<int>(number < 0 ? number + rank : number);
    if (std::find(axes.begin(), axes.end(), normalised) != axes.end())
      return call.would_raise("an axis is repeated");
    axes.push_back(normalised);
  }
  return axes;
}

// --- writes ------------------------------------------------------------------------------------------------
namespace {

// The source object whose memory is written must stay writeable.
void guard_writeable(const Call& call, NodeId target) {
  const NodeId root = call.state.graph.storage_of(target);
  for (const ValueRef& known : call.state.known_values()) {
    auto* array = as_array(known);
    if (!array || array->node != root || known->source == kNoSource) continue;
    Guard guard;
    guard.kind = GuardKind::kWriteable;
    guard.source = known->source;
    guard.number = 1;
    call.state.guard(std::move(guard));
  }
}

// int(number), as Python converts a float that is assigned to an integer array; other values as they are.
Captured<NodeId> assigned_number(const Call& call, DType target, NodeId value) {
  const Node& node = call.state.graph.node(value);
  if (node.op != OpId::kConstant || node.type.value_class != ValueClass::kPyFloat || !is_integer(target))
    return value;
  const double number = std::get<double>(*node.attrs.scalar);
  if (!(number > -9.2e18 && number < 9.2e18))
    return call.would_raise("the number does not fit the integer array");
  return call.state.builder.constant(static_cast<int64_t>(number), ValueClass::kPyInt, DType::kInt64);
}

// NumPy makes the items of signed integer arrays from int(value), which may not fit; to unsigned integers it converts
// without a word.
bool assigned_as_python_int(const TensorType& into, const TensorType& from) {
  return is_signed(into.dtype) && from.value_class == ValueClass::kNumpyScalar &&
         !can_cast_safely(from.dtype, into.dtype);
}

}  // namespace

Captured<Unit> require_writeable(const Call& call, NodeId target) {
  if (!call.type(target).writeable) return call.would_raise("the array is read-only");
  guard_writeable(call, target);
  return Unit{};
}

Captured<Unit> store(const Call& call, NodeId target, NodeId value, StoreCasting casting) {
  const TensorType into = call.type(target);
  const TensorType from = call.type(value);
  if (into.value_class != ValueClass::kArray)
    return call.bad_write("The target of the write is not an array.");
  SUTURE_CAPTURE_VOID(require_writeable(call, target));
  if (casting == StoreCasting::kUnsafe) {
    SUTURE_CAPTURE(number, assigned_number(call, into.dtype, value));
    value = number;
  } else {
    if (!can_cast_same_kind(from.dtype, into.dtype)) {
      return call.would_raise(fmt::format("{} cannot be cast to {} by the rule same_kind",
                                          info(from.dtype).numpy_name, info(into.dtype).numpy_name));
    }
    if (from.rank() > into.rank()) return call.would_raise("the output has fewer axes than the result");
  }
  // NumPy lets an assigned value have more axes than the target when the leading ones have extent 1.
  if (const int extra = call.type(value).rank() - into.rank(); extra > 0) {
    Attrs leading;
    for (int axis = 0; axis < extra; ++axis) leading.axes.push_back(axis);
    SUTURE_CAPTURE(trailing, call.node(OpId::kSqueeze, {value}, std::move(leading)));
    value = trailing;
  }
  Attrs attrs;
  attrs.checked = casting == StoreCasting::kUnsafe && assigned_as_python_int(into, call.type(value));
  SUTURE_CAPTURE_VOID(call.node(OpId::kStore, {target, value}, std::move(attrs)));
  return Unit{};
}

// --- calls at capture time ---------------------------------------------------------------------------------

PyRef call_on_constants(CaptureState& state, PyView callable, const CallArguments& args) {
  PyRef positional = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (size_t i = 0; i < args.positional.size(); ++i) {
    PyRef object = state.python_constant(args.positional[i]);
    if (!object) return {};
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(i), object.release());
  }
  PyRef keyword = PyRef::steal(PyDict_New());
  for (const auto& [name, value] : args.keyword) {
    PyRef object = state.python_constant(value);
    if (!object || PyDict_SetItemString(keyword.get(), name.c_str(), object.get()) < 0) return {};
  }
  auto result =
      fold(state, [&] { return PyRef::steal(PyObject_Call(callable, positional.get(), keyword.get())); });
  return is_value(result) ? std::get<PyRef>(result) : PyRef();
}

}  // namespace suture::numpy
