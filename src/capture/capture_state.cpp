// CaptureState: places, guards, constants and the reading of lazy containers. wrap.cpp turns existing objects
// into values.
#include "capture/capture_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "bytecode/continuation.h"
#include "capture/known_modules.h"
#include "cpython/code_object.h"
#include "cpython/discard_error.h"
#include "cpython/numpy_api.h"
#include "cpython/objects.h"

namespace suture {

CaptureState::CaptureState(const FrameInput& input, const CaptureOptions& options)
    : builder(graph), options(options), input(input) {}

std::vector<CallSites> CaptureState::call_sites() {
  sites_of_node_.resize(graph.nodes.size(), sites_);
  return sites_of_node_;
}

void CaptureState::set_place(UserSpan where) {
  sites_of_node_.resize(graph.nodes.size(), sites_);
  if (active.empty()) {
    sites_ = nullptr;
  } else if (!sites_ || sites_->size() != active.size() || sites_->back() != active.back().call_site) {
    std::vector<UserSpan> sites;
    for (const ActiveCall& call : active) sites.push_back(call.call_site);
    sites_ = std::make_shared<const std::vector<UserSpan>>(std::move(sites));
  }
  builder.set_place(where);
  graph.env.set_place(where);
  place_ = std::move(where);
}

Break CaptureState::make_break(BreakReason reason, std::vector<std::string> args) const {
  Break out;
  out.reason = reason;
  out.args = std::move(args);
  out.where = place_;
  for (const ActiveCall& call : active) out.stack.push_back(call.call_site);
  return out;
}

// --- guards ------------------------------------------------------------------------------------------------
void CaptureState::guard(Guard guard) {
  const GuardKey key{guard.kind, guard.source, guard.other,       guard.index,
                     guard.fact, guard.number, guard.object.get()};
  if (!guarded_.insert(key).second) return;
  guard.where = place_;
  guards.guards.push_back(std::move(guard));
}

void CaptureState::guard_type(SourceId source, PyView object) {
  Guard g;
  g.kind = GuardKind::kType;
  g.source = source;
  g.object = PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  guard(std::move(g));
}

void CaptureState::guard_identity(SourceId source, PyView object) {
  Guard g;
  g.kind = GuardKind::kIdentity;
  g.source = source;
  g.object = PyRef::borrow(object);
  guard(std::move(g));
}

void CaptureState::guard_constant(SourceId source, PyView object) {
  Guard g;
  g.kind = GuardKind::kConstant;
  g.source = source;
  g.object = PyRef::borrow(object);
  guard(std::move(g));
}

void CaptureState::guard_tuple_operations(SourceId source) {
  Guard g;
  g.kind = GuardKind::kTupleOperations;
  g.source = source;
  guard(std::move(g));
}

void CaptureState::guard_absent(SourceId owner, const std::string& name) {
  Guard g;
  g.kind = GuardKind::kAbsent;
  g.source = owner;
  g.object = PyRef::steal(PyUnicode_InternFromString(name.c_str()));
  guard(std::move(g));
}

SourceId CaptureState::source(SourceKind kind, SourceId parent, int index, std::string name, PyRef key) {
  Source s;
  s.kind = kind;
  s.parent = parent;
  s.index = index;
  s.name = std::move(name);
  s.key = std::move(key);
  return guards.sources.add(std::move(s));
}

SourceId CaptureState::key_source(SourceId parent, PyView key) {
  return source(SourceKind::kKey, parent, -1, {}, PyRef::borrow(key));
}

// --- constants ---------------------------------------------------------------------------------------------
ValueRef CaptureState::constant(PyRef object) { return std::make_shared<ConstantValue>(std::move(object)); }
ValueRef CaptureState::none() { return constant(PyRef::borrow(Py_None)); }
ValueRef CaptureState::boolean(bool value) { return constant(PyRef::borrow(value ? Py_True : Py_False)); }
ValueRef CaptureState::text(const std::string& value) {
  return constant(
      PyRef::steal(PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()))));
}

ValueRef CaptureState::literal(const PyRef& object) {
  PyView o = object.get();
  if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
    std::vector<ValueRef> items;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      items.push_back(literal(PyRef::borrow(PySequence_Fast_GET_ITEM(o, i))));
    return std::make_shared<SequenceValue>(PyTuple_CheckExact(o) ? ValueKind::kTuple : ValueKind::kList,
                                           std::move(items));
  }
  if (PySet_CheckExact(o)) {  // mutable: every evaluation makes a new one
    PyRef members = PyRef::steal(PySequence_List(o));
    std::vector<ValueRef> items = std::move(static_cast<SequenceValue&>(*literal(members)).items);
    return std::make_shared<SequenceValue>(ValueKind::kSet, std::move(items));
  }
  if (PyDict_CheckExact(o)) {
    auto dict = std::make_shared<DictValue>();
    PyObject *key = nullptr, *value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);)
      dict->items.emplace_back(PyRef::borrow(key), literal(PyRef::borrow(value)));
    return dict;
  }
  return constant(object);
}

ValueRef CaptureState::python_int(SymInt value, SourceId source) {
  if (auto number = value.constant()) return constant(PyRef::steal(PyLong_FromLongLong(*number)));
  return std::make_shared<SymIntValue>(std::move(value), source);
}

Outcome CaptureState::computed_int(SymInt value) {
  if (graph.env.fits(value)) return python_int(std::move(value));
  return int_too_large();
}

Break CaptureState::int_too_large() const {
  return make_break(BreakReason::kPythonScalarMath,
                    {"An int that leaves 64 bits or depends on too many others"});
}

std::optional<SymInt> CaptureState::as_int(const ValueRef& value) const {
  if (auto* sym = as_sym_int(value)) return sym->value;
  auto* constant = as_constant(value);
  if (!constant || !(PyLong_CheckExact(constant->object.get()) || PyBool_Check(constant->object.get())))
    return std::nullopt;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(constant->object.get(), &overflow);
  if (overflow != 0) return std::nullopt;
  return SymInt(number);
}

namespace {

// A value's Python object when every part is constant; `ints` decides about symbolic ints (null: refuse).
PyRef object_of(CaptureState& state, const ValueRef& value, bool specialize, int depth);

PyRef sequence_object(CaptureState& state, const SequenceValue& sequence, bool specialize, int depth) {
  if (sequence.type) return {};
  const auto size = static_cast<Py_ssize_t>(sequence.items.size());
  PyRef out = PyRef::steal(sequence.kind == ValueKind::kTuple ? PyTuple_New(size) : PyList_New(size));
  for (Py_ssize_t i = 0; i < size; ++i) {
    PyRef item = object_of(state, sequence.items[static_cast<size_t>(i)], specialize, depth + 1);
    if (!item) return {};
    if (sequence.kind == ValueKind::kTuple) {
      PyTuple_SET_ITEM(out.get(), i, item.release());
    } else {
      PyList_SET_ITEM(out.get(), i, item.release());
    }
  }
  return sequence.kind == ValueKind::kSet ? PyRef::steal(PySet_New(out.get())) : out;
}

PyRef dict_object(CaptureState& state, const DictValue& dict, bool specialize, int depth) {
  PyRef out = PyRef::steal(PyDict_New());
  for (const auto& [key, value] : dict.items) {
    PyRef item = object_of(state, value, specialize, depth + 1);
    if (!item || PyDict_SetItem(out.get(), key.get(), item.get()) < 0) {
      discard_error();
      return {};
    }
  }
  return out;
}

PyRef slice_object(CaptureState& state, const SliceValue& slice, bool specialize, int depth) {
  PyRef start = object_of(state, slice.start, specialize, depth + 1);
  PyRef stop = object_of(state, slice.stop, specialize, depth + 1);
  PyRef step = object_of(state, slice.step, specialize, depth + 1);
  if (!start || !stop || !step) return {};
  return PyRef::steal(PySlice_New(start.get(), stop.get(), step.get()));
}

PyRef object_of(CaptureState& state, const ValueRef& value, bool specialize, int depth) {
  if (!value || depth > 32) return {};
  switch (value->kind) {
    case ValueKind::kConstant: return as_constant(value)->object;
    case ValueKind::kSymInt:
      return specialize
                 ? PyRef::steal(PyLong_FromLongLong(state.graph.env.specialize(as_sym_int(value)->value)))
                 : PyRef();
    case ValueKind::kTuple:
    case ValueKind::kList:
    case ValueKind::kSet:
      return sequence_object(state, static_cast<SequenceValue&>(*value), specialize, depth);
    case ValueKind::kDict: return dict_object(state, *as_dict(value), specialize, depth);
    case ValueKind::kSlice: return slice_object(state, static_cast<SliceValue&>(*value), specialize, depth);
    default: return {};
  }
}

}  // namespace

PyRef CaptureState::python_constant(const ValueRef& value) {
  if (!is_value(materialize(value))) return {};
  return object_of(*this, value, false, 0);
}

PyRef CaptureState::force_constant(const ValueRef& value) {
  if (!is_value(materialize(value))) return {};
  if (!object_of(*this, value, false, 0) && value->kind != ValueKind::kSymInt &&
      value->kind != ValueKind::kTuple && value->kind != ValueKind::kList && value->kind != ValueKind::kSlice)
    return {};
  return object_of(*this, value, true, 0);
}

// --- graph values ------------------------------------------------------------------------------------------
namespace {

std::optional<std::pair<Scalar, std::pair<ValueClass, DType>>> scalar_of(PyView o) {
  using Typed = std::pair<Scalar, std::pair<ValueClass, DType>>;
  if (PyBool_Check(o)) return Typed{Scalar(o == Py_True), {ValueClass::kPyBool, DType::kBool}};
  if (PyFloat_CheckExact(o))
    return Typed{Scalar(PyFloat_AS_DOUBLE(o)), {ValueClass::kPyFloat, DType::kFloat64}};
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow != 0) return std::nullopt;
    return Typed{Scalar(static_cast<int64_t>(number)), {ValueClass::kPyInt, DType::kInt64}};
  }
  return std::nullopt;
}

template <class T>
Scalar widened(const void* bytes) {
  const T value = *static_cast<const T*>(bytes);
  if constexpr (std::is_floating_point_v<T>) return static_cast<double>(value);
  if constexpr (std::is_unsigned_v<T>) return static_cast<uint64_t>(value);
  return static_cast<int64_t>(value);
}

Scalar numpy_scalar_value(DType dtype, const void* bytes) {
  switch (dtype) {
    case DType::kBool: return *static_cast<const bool*>(bytes);
    case DType::kInt8: return widened<int8_t>(bytes);
    case DType::kUInt8: return widened<uint8_t>(bytes);
    case DType::kInt16: return widened<int16_t>(bytes);
    case DType::kUInt16: return widened<uint16_t>(bytes);
    case DType::kInt32: return widened<int32_t>(bytes);
    case DType::kUInt32: return widened<uint32_t>(bytes);
    case DType::kInt64: return widened<int64_t>(bytes);
    case DType::kUInt64: return widened<uint64_t>(bytes);
    case DType::kFloat32: return widened<float>(bytes);
    case DType::kFloat64: return widened<double>(bytes);
  }
  return int64_t{0};
}

}  // namespace

std::variant<NodeId, Break> CaptureState::node_of(const ValueRef& value) {
  if (auto* array = as_array(value)) return array->node;
  if (auto* sym = as_sym_int(value)) return builder.symbol_value(sym->value);
  if (auto* constant = as_constant(value)) {
    PyView o = constant->object.get();
    if (auto scalar = scalar_of(o))
      return builder.constant(scalar->first, scalar->second.first, scalar->second.second);
    if (auto dtype = numpy_scalar_dtype(o)) {
      alignas(8) unsigned char bytes[16] = {};
      if (read_numpy_scalar(o, *dtype, bytes))
        return builder.constant(numpy_scalar_value(*dtype, bytes), ValueClass::kNumpyScalar, *dtype);
    }
    if (PyLong_CheckExact(o))
      return make_break(BreakReason::kPythonScalarMath,
                        {fmt::format("The int {} does not fit 64 bits", short_repr(o, 30))});
  }
  return unknown_break(value);
}

// --- lazy containers ---------------------------------------------------------------------------------------
Outcome CaptureState::item(SequenceValue& sequence, size_t i) {
  if (!sequence.items[i]) {
    const SourceId from = source(SourceKind::kItem, sequence.source, static_cast<int>(i));
    SUTURE_CAPTURE(value,
                   wrap(PySequence_Fast_GET_ITEM(sequence.object.get(), static_cast<Py_ssize_t>(i)), from));
    sequence.items[i] = std::move(value);
  }
  return sequence.items[i];
}

Outcome CaptureState::item(DictValue& dict, size_t i) {
  auto& [key, value] = dict.items[i];
  if (!value) {
    PyView object = PyDict_GetItemWithError(dict.object.get(), key.get());
    if (!object) return Error::internal("capture", "a key of an existing dict vanished during capture");
    SUTURE_CAPTURE(wrapped, wrap(object, key_source(dict.source, key.get())));
    dict.items[i].second = std::move(wrapped);
  }
  return dict.items[i].second;
}

void CaptureState::guard_keys(DictValue& dict) {
  if (dict.keys_guarded || dict.source == kNoSource) return;
  dict.keys_guarded = true;
  Guard g;
  g.kind = GuardKind::kDictKeys;
  g.source = dict.source;
  PyRef keys = PyRef::steal(PyDict_Keys(dict.object.get()));
  g.object = PyRef::steal(PyList_AsTuple(keys.get()));
  guard(std::move(g));
}

// Each container once: parts may be shared, and a container may hold itself. What it holds may have a value of its
// own at each place, so their number is bounded, too.
Captured<Unit> CaptureState::materialize(const ValueRef& value, std::set<const Value*>& done) {
  constexpr size_t kMostContainers = 2000;
  const bool container = value && (value->kind == ValueKind::kTuple || value->kind == ValueKind::kList ||
                                   value->kind == ValueKind::kSet || value->kind == ValueKind::kDict);
  if (!container || !done.insert(value.get()).second) return Unit{};
  if (done.size() > kMostContainers)
    return make_break(BreakReason::kGraphTooLarge, {fmt::format("{} nested containers", kMostContainers)});
  if (value->kind == ValueKind::kTuple || value->kind == ValueKind::kList || value->kind == ValueKind::kSet) {
    auto& sequence = static_cast<SequenceValue&>(*value);
    const auto count = static_cast<int64_t>(sequence.items.size());
    const bool unread = std::ranges::find(sequence.items, nullptr) != sequence.items.end();
    if (unread && count > kMostItems)  // each item would become a guard
      return make_break(BreakReason::kGraphTooLarge,
                        {fmt::format("a {} of {} items", type_name(sequence.object.get()), count)});
    for (size_t i = 0; i < sequence.items.size(); ++i) {
      SUTURE_CAPTURE(child, item(sequence, i));
      SUTURE_CAPTURE_VOID(materialize(child, done));
    }
  } else if (auto* dict = as_dict(value)) {
    guard_keys(*dict);
    for (size_t i = 0; i < dict->items.size(); ++i) {
      SUTURE_CAPTURE(child, item(*dict, i));
      SUTURE_CAPTURE_VOID(materialize(child, done));
    }
  }
  return Unit{};
}

Captured<Unit> CaptureState::materialize(const ValueRef& value) {
  std::set<const Value*> done;
  return materialize(value, done);
}

Captured<Unit> CaptureState::materialize(const CallArguments& args) {
  std::set<const Value*> done;
  for (const ValueRef& value : args.positional) SUTURE_CAPTURE_VOID(materialize(value, done));
  for (const auto& [name, value] : args.keyword) SUTURE_CAPTURE_VOID(materialize(value, done));
  return Unit{};
}

Outcome CaptureState::cell_value(CellValue& cell) {
  if (!cell.loaded) {
    PyView contents = cell_contents(cell.cell.get());
    if (!contents) return make_break(BreakReason::kWouldRaise, {"A closure variable has no value yet"});
    SUTURE_CAPTURE(value, wrap(contents, cell.source));
    cell.contents = std::move(value);
    cell.loaded = true;
  }
  if (!cell.contents) return make_break(BreakReason::kWouldRaise, {"A closure variable has no value yet"});
  return cell.contents;
}

void CaptureState::mark_mutated(const ValueRef& value) {
  if (std::find(mutated.begin(), mutated.end(), value) == mutated.end()) mutated.push_back(value);
}

// --- questions ---------------------------------------------------------------------------------------------
namespace {

PyView as_object(PyTypeObject* type) { return reinterpret_cast<PyObject*>(type); }

PyView array_python_type(const TensorType& type) {
  switch (type.value_class) {
    case ValueClass::kArray: return numpy_object("ndarray");
    case ValueClass::kNumpyScalar:
      return numpy_object(type.dtype == DType::kBool ? "bool" : info(type.dtype).numpy_name);
    case ValueClass::kPyBool: return as_object(&PyBool_Type);
    case ValueClass::kPyInt: return as_object(&PyLong_Type);
    case ValueClass::kPyFloat: return as_object(&PyFloat_Type);
  }
  return nullptr;
}

PyView plain_python_type(const Value& value) {
  switch (value.kind) {
    case ValueKind::kSymInt: return as_object(&PyLong_Type);
    case ValueKind::kTuple: {
      const PyRef& type = static_cast<const SequenceValue&>(value).type;
      return type ? type.get() : as_object(&PyTuple_Type);
    }
    case ValueKind::kList: return as_object(&PyList_Type);
    case ValueKind::kSet: return as_object(&PySet_Type);
    case ValueKind::kDict: return as_object(&PyDict_Type);
    case ValueKind::kDictView:
      switch (static_cast<const DictViewValue&>(value).part) {
        case DictPart::kKeys: return as_object(&PyDictKeys_Type);
        case DictPart::kValues: return as_object(&PyDictValues_Type);
        case DictPart::kItems: return as_object(&PyDictItems_Type);
      }
      return nullptr;
    case ValueKind::kSlice: return as_object(&PySlice_Type);
    case ValueKind::kRange: return as_object(&PyRange_Type);
    case ValueKind::kFunction: return as_object(&PyFunction_Type);
    case ValueKind::kBoundMethod: return as_object(&PyMethod_Type);
    case ValueKind::kCell: return as_object(&PyCell_Type);
    default: return nullptr;
  }
}

}  // namespace

PyView CaptureState::python_type(const ValueRef& value) {
  if (auto* array = as_array(value)) return array_python_type(type_of(*array));
  PyView object = nullptr;
  if (auto* constant = as_constant(value)) object = constant->object.get();
  if (auto* instance = as_instance(value)) object = instance->object.get();
  if (auto* unknown = as_unknown(value)) {
    object = unknown->object.get();
    if (object && unknown->source != kNoSource) guard_type(unknown->source, object);
  }
  return object ? as_object(Py_TYPE(object)) : plain_python_type(*value);
}

// Stack values that a resume function was given: their parameters have names that the program knows nothing of.
SourceId CaptureState::stack_value_of(SourceId source) const {
  if (source == kNoSource) return kNoSource;
  while (guards.sources[source].parent != kNoSource) source = guards.sources[source].parent;
  const Source& root = guards.sources[source];
  const bool is_one = root.kind == SourceKind::kLocal && root.name.starts_with(kStackValueName) &&
                      function_name(input.function).starts_with(kResumeName);
  return is_one ? source : kNoSource;
}

// "`(...).shape`"
std::string CaptureState::describe_part(SourceId source, SourceId of) const {
  std::string text = source_text(source);
  const std::string& name = guards.sources[of].name;
  if (const size_t at = text.find(name); at != std::string::npos) text.replace(at, name.size(), "(...)");
  return "`" + text + "`";
}

std::string CaptureState::describe_call(std::string_view function, const ValueRef& argument,
                                        bool has_others) const {
  std::string text = describe(argument);
  std::erase(text, '`');
  return fmt::format("`{}({}{})`", function, text, has_others ? ", ..." : "");
}

std::string CaptureState::describe(const ValueRef& value) const {
  if (!value) return "an unbound variable";
  const SourceId stack_value = stack_value_of(value->source);
  if (stack_value != kNoSource && stack_value != value->source)
    return describe_part(value->source, stack_value);
  if (value->source != kNoSource && stack_value == kNoSource) return "`" + source_text(value->source) + "`";
  if (auto* constant = as_constant(value)) return "`" + short_repr(constant->object.get(), 60) + "`";
  if (auto* array = as_array(value))
    return stack_value == kNoSource ? "`" + graph.node(array->node).name + "`" : "an array";
  if (stack_value != kNoSource) {
    PyView object = input.arguments[static_cast<size_t>(guards.sources[stack_value].index)];
    return "an object of type `" + type_name(reinterpret_cast<PyObject*>(Py_TYPE(object))) + "`";
  }
  if (auto* function = as_function(value)) {
    return "`" + short_repr(function->function ? function->function.get() : function->code.get(), 60) + "`";
  }
  static constexpr const char* kNames[] = {"an array",
                                           "an int",
                                           "a constant",
                                           "a tuple",
                                           "a list",
                                           "a set",
                                           "a dict",
                                           "a view of a dict",
                                           "a slice",
                                           "a range",
                                           "an iterator",
                                           "a function",
                                           "a bound method",
                                           "an array method",
                                           "a method",
                                           "a partial",
                                           "a context manager",
                                           "super()",
                                           "a cell",
                                           "an instance",
                                           "an argument",
                                           "nothing",
                                           "a value"};
  return kNames[static_cast<size_t>(value->kind)];
}

Break CaptureState::unknown_break(const ValueRef& value) const {
  PyView object = nullptr;
  if (auto* unknown = as_unknown(value)) object = unknown->object.get();
  if (auto* instance = as_instance(value)) object = instance->object.get();
  if (auto* constant = as_constant(value)) object = constant->object.get();
  const std::string name = describe(value);
  if (object && is_any_ndarray(object)) {
    if (!is_exact_ndarray(object)) {
      return make_break(BreakReason::kArraySubclass, {name, type_name(as_object(Py_TYPE(object)))});
    }
    const ArrayFacts facts = array_facts(object);
    const std::string why =
        facts.dtype ? "the array is not aligned" : "dtype " + dtype_text(object) + " runs in the interpreter";
    return make_break(BreakReason::kUnsupportedDtype, {name, why});
  }
  std::string kind = object ? type_name(as_object(Py_TYPE(object))) : "";
  if (auto* array = as_array(value)) kind = type_name(array_python_type(type_of(*array)));
  if (kind.empty()) {
    PyView type = value ? plain_python_type(*value) : nullptr;
    kind = type ? type_name(type) : "iterator";
  }
  return make_break(BreakReason::kUnsupportedValue, {name, kind});
}

Captured<const DecodedCode*> CaptureState::decode(PyView code) {
  auto& slot = decoded_[code];
  if (!slot) {
    auto view = code_view(code);
    if (!view.ok()) return view.error();
    auto function = decode_function(*view);
    if (!function.ok()) return function.error();
    slot = std::make_unique<DecodedCode>();
    slot->function = std::move(*function);
    slot->code = PyRef::borrow(code);
    slot->constants = code_constants(code);
  }
  return static_cast<const DecodedCode*>(slot.get());
}

}  // namespace suture
