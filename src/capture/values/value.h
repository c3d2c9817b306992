// Value: what the symbolic interpreter knows about one Python object.
//
// Overview
//   A value is shared by reference (ValueRef): two names for one list are one ListValue, so identity and
//   mutation work as in Python. `source` is set when the object existed before the frame started; guards are
//   added lazily, when capture relies on a fact.
// Invariants
//   - Array values are graph nodes. NumPy scalars and symbolic Python floats/bools are graph nodes of another
//     ValueClass.
//   - A ConstantValue is an object that capture may use directly: its identity or value is guarded, or it is
//     a literal.
//   - Mutable containers with a source remember whether they were changed (`mutated`): the change is replayed
//     after the graph.
//   - Items of a container with a source may be null until someone looks at them (CaptureState::item,
//     ::materialize); what is handed to NumPy handlers is materialized.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpython/py_ref.h"
#include "graph/graph.h"
#include "guard/source.h"

namespace suture {

struct Value;
using ValueRef = std::shared_ptr<Value>;

enum class ValueKind : uint8_t {
  kArray,     // ArrayValue: ndarray, NumPy scalar, Python float/bool/int computed in the graph
  kSymInt,    // SymIntValue: Python int that is a symbol or an expression over symbols
  kConstant,  // ConstantValue: None, literals, strings, dtypes, modules, classes, builtins, NumPy callables,
              // ...
  kTuple,     // SequenceValue
  kList,      // SequenceValue
  kSet,       // SequenceValue; items are constants
  kDict,      // DictValue
  kDictView,  // DictViewValue: d.keys(), d.values(), d.items()
  kSlice,     // SliceValue
  kRange,     // RangeValue
  kIterator,  // IteratorValue
  kFunction,  // FunctionValue: Python function, existing or made here
  kBoundMethod,    // BoundMethodValue
  kArrayMethod,    // ArrayMethodValue: x.sum before it is called
  kBuiltinMethod,  // BuiltinMethodValue: items.append before it is called
  kPartial,        // PartialValue: functools.partial
  kContext,        // ContextValue: a context manager made here and not entered yet
  kSuper,          // SuperValue: super()
  kCell,           // CellValue
  kInstance,       // InstanceValue: user object read through its source
  kPending,        // PendingValue: an argument that was moved around but not looked at
  kNull,           // CPython's internal NULL on the stack
  kUnknown,        // UnknownValue: exists, nothing known; any use is a break
};

struct Value {
  ValueKind kind;
  SourceId source = kNoSource;
  explicit Value(ValueKind kind, SourceId source = kNoSource) : kind(kind), source(source) {}
  virtual ~Value() = default;
};

struct ArrayValue : Value {
  NodeId node;
  explicit ArrayValue(NodeId node, SourceId source = kNoSource)
      : Value(ValueKind::kArray, source), node(node) {}
};
struct SymIntValue : Value {
  SymInt value;
  explicit SymIntValue(SymInt value, SourceId source = kNoSource)
      : Value(ValueKind::kSymInt, source), value(std::move(value)) {}
};
struct ConstantValue : Value {
  PyRef object;
  explicit ConstantValue(PyRef object, SourceId source = kNoSource)
      : Value(ValueKind::kConstant, source), object(std::move(object)) {}
};
struct SequenceValue : Value {  // kTuple, kList, kSet
  std::vector<ValueRef> items;
  PyRef type;    // a namedtuple class, or empty
  PyRef object;  // the existing object that null items are read from
  bool mutated = false;
  SequenceValue(ValueKind kind, std::vector<ValueRef> items, SourceId source = kNoSource)
      : Value(kind, source), items(std::move(items)) {}
};
struct DictValue : Value {
  std::vector<std::pair<PyRef, ValueRef>> items;  // insertion order; keys are constants
  PyRef object;                                   // the existing dict that null items are read from
  bool keys_guarded = false;                      // kDictKeys was added: order and absence are facts
  bool mutated = false;
  int64_t changes = 0;         // how often a key came or went: iterators that started before are broken then
  std::vector<PyRef> stored;   // keys of `items` whose values were stored during capture
  std::vector<PyRef> removed;  // keys deleted during capture
  explicit DictValue(SourceId source = kNoSource) : Value(ValueKind::kDict, source) {}
};
struct SliceValue : Value {
  ValueRef start, stop, step;  // constants, SymInts or None
  SliceValue(ValueRef start, ValueRef stop, ValueRef step)
      : Value(ValueKind::kSlice), start(std::move(start)), stop(std::move(stop)), step(std::move(step)) {}
};
struct RangeValue : Value {
  SymInt start, stop, step;
  RangeValue(SymInt start, SymInt stop, SymInt step)
      : Value(ValueKind::kRange), start(std::move(start)), stop(std::move(stop)), step(std::move(step)) {}
};

// Looks into its dict when it is asked, as Python's views do.
enum class DictPart : uint8_t { kKeys, kValues, kItems };
struct DictViewValue : Value {
  ValueRef dict;
  DictPart part;
  DictViewValue(ValueRef dict, DictPart part)
      : Value(ValueKind::kDictView), dict(std::move(dict)), part(part) {}
};

struct Activation;  // symbolic_interpreter.h: an activation, here a suspended one

// An iterator pulls its items when asked, as Python's do, so that loops that change what they iterate see the
// change.
struct IteratorValue : Value {
  enum class Of : uint8_t {
    kItems,      // `remaining` from `next` on
    kList,       // subject[next], read live; with `reversed` from item `size` - 1 down
    kDict,       // `part` of subject, read live, as long as its keys are those of the start
    kSet,        // `remaining`, as long as subject has `size` items
    kRange,      // start + next * step of subject
    kZip,        // one item of each child
    kEnumerate,  // (counter + next, item of child 0)
    kMap,        // subject(items of the children)
    kFilter,     // items of child 0 for which subject (None: the item itself) is true
    kGenerator,  // frame
    kOpaque,     // iter(subject), length unknown: the loop stays in Python
  } of = Of::kItems;
  std::vector<ValueRef> remaining;
  size_t next = 0;
  ValueRef subject;
  std::vector<ValueRef> children;
  SymInt counter = 0;
  DictPart part = DictPart::kKeys;
  bool reversed = false;
  size_t size = 0;      // of subject when the iterator was made
  int64_t changes = 0;  // of subject, a dict, then
  std::shared_ptr<Activation> frame;
  ValueRef returned;  // by a generator that ended: what `yield from` gives
  bool exhausted = false;
  IteratorValue() : Value(ValueKind::kIterator) {}
};
struct FunctionValue : Value {
  PyRef function;                 // existing function object, or empty when made here
  PyRef code;                     // code object
  std::vector<ValueRef> closure;  // CellValues
  std::vector<ValueRef> defaults;
  std::vector<std::pair<std::string, ValueRef>> kwdefaults;
  PyRef globals;                        // dict of the function
  SourceId globals_source = kNoSource;  // of `globals`; kNoSource: those of the captured frame, or not known
  bool resolved = false;                // closure and defaults of an existing function were read
  bool has_annotations = false;         // made here with annotations, which are not kept: cannot be rebuilt
  explicit FunctionValue(SourceId source = kNoSource) : Value(ValueKind::kFunction, source) {}
};
struct BoundMethodValue : Value {
  ValueRef function, self;
  BoundMethodValue(ValueRef function, ValueRef self)
      : Value(ValueKind::kBoundMethod), function(std::move(function)), self(std::move(self)) {}
};
struct ArrayMethodValue : Value {
  ValueRef array;
  std::string name;
  ArrayMethodValue(ValueRef array, std::string name)
      : Value(ValueKind::kArrayMethod), array(std::move(array)), name(std::move(name)) {}
};
struct BuiltinMethodValue : Value {
  ValueRef self;
  std::string name;
  BuiltinMethodValue(ValueRef self, std::string name)
      : Value(ValueKind::kBuiltinMethod), self(std::move(self)), name(std::move(name)) {}
};
struct PartialValue : Value {
  ValueRef function;
  std::vector<ValueRef> positional;
  std::vector<std::pair<std::string, ValueRef>> keyword;
  explicit PartialValue(SourceId source = kNoSource) : Value(ValueKind::kPartial, source) {}
};
// The call that makes it, which does nothing but keep its arguments: np.errstate(all="ignore").
struct ContextValue : Value {
  PyRef type;
  std::vector<std::pair<std::string, ValueRef>> keyword;
  explicit ContextValue(PyRef type) : Value(ValueKind::kContext), type(std::move(type)) {}
};
struct SuperValue : Value {
  PyRef type;     // lookup starts behind this class
  ValueRef self;  // an InstanceValue
  SuperValue(PyRef type, ValueRef self)
      : Value(ValueKind::kSuper), type(std::move(type)), self(std::move(self)) {}
};
struct CellValue : Value {
  ValueRef contents;   // null when empty
  bool loaded = true;  // false: `contents` of an existing cell was not read yet
  bool mutated = false;
  PyRef cell;  // the existing cell
  explicit CellValue(ValueRef contents, SourceId source = kNoSource)
      : Value(ValueKind::kCell, source), contents(std::move(contents)) {}
};
struct InstanceValue : Value {
  PyRef object;
  std::vector<std::pair<std::string, ValueRef>> written;  // attributes stored during capture, in order
  explicit InstanceValue(PyRef object, SourceId source)
      : Value(ValueKind::kInstance, source), object(std::move(object)) {}
};
// Becomes what CaptureState::wrap makes of it when an instruction needs more than its existence; until then
// no guard exists.
struct PendingValue : Value {
  PyView object;
  PendingValue(PyView object, SourceId source) : Value(ValueKind::kPending, source), object(object) {}
};
struct UnknownValue : Value {
  PyRef object;  // may be empty
  explicit UnknownValue(PyRef object, SourceId source = kNoSource)
      : Value(ValueKind::kUnknown, source), object(std::move(object)) {}
};

template <class T>
T* value_cast(const ValueRef& value, ValueKind kind) {
  return value && value->kind == kind ? static_cast<T*>(value.get()) : nullptr;
}
inline ArrayValue* as_array(const ValueRef& v) { return value_cast<ArrayValue>(v, ValueKind::kArray); }
inline ConstantValue* as_constant(const ValueRef& v) {
  return value_cast<ConstantValue>(v, ValueKind::kConstant);
}
inline SymIntValue* as_sym_int(const ValueRef& v) { return value_cast<SymIntValue>(v, ValueKind::kSymInt); }
inline SequenceValue* as_tuple(const ValueRef& v) { return value_cast<SequenceValue>(v, ValueKind::kTuple); }
inline SequenceValue* as_list(const ValueRef& v) { return value_cast<SequenceValue>(v, ValueKind::kList); }
inline SequenceValue* as_set(const ValueRef& v) { return value_cast<SequenceValue>(v, ValueKind::kSet); }
inline SequenceValue* as_tuple_or_list(const ValueRef& v) { return as_tuple(v) ? as_tuple(v) : as_list(v); }
inline DictValue* as_dict(const ValueRef& v) { return value_cast<DictValue>(v, ValueKind::kDict); }
inline DictViewValue* as_dict_view(const ValueRef& v) {
  return value_cast<DictViewValue>(v, ValueKind::kDictView);
}
inline RangeValue* as_range(const ValueRef& v) { return value_cast<RangeValue>(v, ValueKind::kRange); }
inline FunctionValue* as_function(const ValueRef& v) {
  return value_cast<FunctionValue>(v, ValueKind::kFunction);
}
inline InstanceValue* as_instance(const ValueRef& v) {
  return value_cast<InstanceValue>(v, ValueKind::kInstance);
}
inline UnknownValue* as_unknown(const ValueRef& v) {
  return value_cast<UnknownValue>(v, ValueKind::kUnknown);
}
inline CellValue* as_cell(const ValueRef& v) { return value_cast<CellValue>(v, ValueKind::kCell); }

}  // namespace suture
