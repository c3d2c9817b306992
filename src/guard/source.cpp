// Sources: naming them, and fetching their values without running user code.
#include "guard/source.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "cpython/discard_error.h"
#include "cpython/ndarray.h"
#include "cpython/objects.h"
#include "guard/constants.h"
#include "guard/frame_input.h"

namespace suture {

namespace {

bool same_key(PyView a, PyView b) { return a == b || (a != nullptr && b != nullptr && same_constant(a, b)); }

bool same_source(const Source& a, const Source& b) {
  return a.kind == b.kind && a.parent == b.parent && a.index == b.index && a.name == b.name &&
         same_key(a.key.get(), b.key.get());
}

// Keys that same_key calls equal hash alike: they have one type, and these two hash by value, without user code.
uint64_t hash_of(const Source& source) {
  PyView key = source.key.get();
  const bool by_value = key && (PyUnicode_CheckExact(key) || PyLong_CheckExact(key));
  uint64_t hash = hash_bytes(source.name, static_cast<uint64_t>(source.kind));
  for (const int64_t part :
       {int64_t{source.parent}, int64_t{source.index}, by_value ? PyObject_Hash(key) : 0})
    hash = hash_combine(hash, static_cast<uint64_t>(part));
  return hash;
}

PyView tuple_item(PyView tuple, int index) noexcept {
  if (tuple == nullptr || !PyTuple_Check(tuple) || index < 0 || index >= PyTuple_GET_SIZE(tuple))
    return nullptr;
  return PyTuple_GET_ITEM(tuple, index);
}

PyView sequence_item(PyView sequence, int index) noexcept {
  if (!PyList_Check(sequence)) return tuple_item(sequence, index);
  return index >= 0 && index < PyList_GET_SIZE(sequence) ? PyList_GET_ITEM(sequence, index) : nullptr;
}

PyView dict_item(PyView dict, PyView key) noexcept {
  if (dict == nullptr || key == nullptr || !PyDict_Check(dict)) return nullptr;
  PyView value = PyDict_GetItemWithError(dict, key);
  if (value == nullptr) discard_error();
  return value;
}

PyView closure_item(PyView function, int index) noexcept {
  PyView cell = tuple_item(function_closure(function), index);
  return cell ? cell_contents(cell) : nullptr;
}

// The value is borrowed: its owner (instance, type, module) holds it, and nothing runs between here and its
// use.
PyView attribute(const Source& source, PyView parent) noexcept {
  if (PyModule_CheckExact(parent) && source.name.front() != '_')
    return dict_item(PyModule_GetDict(parent), source.name_object.get());
  const AttributeLookup found = lookup_attribute(parent, source.name_object.get());
  // The same function means something else where it is bound in another way.
  return static_cast<int>(binding_of(found.where)) == source.index ? found.value.get() : nullptr;
}

// A module is what `import` calls it; NumPy goes by the name everybody gives it.
std::string object_name(PyView object) {
  PyView name =
      PyModule_CheckExact(object) ? PyDict_GetItemString(PyModule_GetDict(object), "__name__") : nullptr;
  const char* text = name && PyUnicode_CheckExact(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!text) return discard_error(), short_repr(object);
  const std::string_view module = text;
  const bool in_numpy = module == "numpy" || module.starts_with("numpy.");
  return in_numpy ? "np" + std::string(module.substr(5)) : std::string(module);
}

PyView function_part(const Source& source, PyView function) noexcept {
  if (!is_python_function(function)) return nullptr;
  switch (source.kind) {
    case SourceKind::kGlobalsOf: return function_globals(function);
    case SourceKind::kClosureOf: return closure_item(function, source.index);
    case SourceKind::kDefaultOf: {
      PyView defaults = PyFunction_GET_DEFAULTS(function);
      return defaults ? tuple_item(defaults, static_cast<int>(PyTuple_GET_SIZE(defaults)) + source.index)
                      : nullptr;
    }
    case SourceKind::kKwDefaultOf:
      return dict_item(PyFunction_GET_KW_DEFAULTS(function), source.name_object.get());
    case SourceKind::kCodeOf: return function_code(function);
    default: return nullptr;
  }
}

PyView derived(const Source& source, PyView parent) noexcept {
  switch (source.kind) {
    case SourceKind::kAttr: return attribute(source, parent);
    case SourceKind::kItem: return sequence_item(parent, source.index);
    case SourceKind::kKey: return dict_item(parent, source.key.get());
    case SourceKind::kSelfOf: return PyMethod_Check(parent) ? PyMethod_GET_SELF(parent) : nullptr;
    case SourceKind::kFuncOf: return PyMethod_Check(parent) ? PyMethod_GET_FUNCTION(parent) : nullptr;
    case SourceKind::kTypeOf: return reinterpret_cast<PyObject*>(Py_TYPE(parent));
    case SourceKind::kMroOf:
      return PyType_Check(parent) ? reinterpret_cast<PyTypeObject*>(parent)->tp_mro : nullptr;
    case SourceKind::kClassAttr: return lookup_in_classes(parent, source.name_object.get());
    case SourceKind::kSuper: return lookup_behind(parent, source.key.get(), source.name_object.get());
    case SourceKind::kContentsOf: return PyCell_Check(parent) ? cell_contents(parent) : nullptr;
    case SourceKind::kBaseOf: return is_exact_array(parent) ? array_fields(parent)->base : nullptr;
    default: return function_part(source, parent);
  }
}

}  // namespace

SourceId SourceTable::add(Source source) {
  const uint64_t hash = hash_of(source);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto known = first; known != last; ++known)
    if (same_source((*this)[known->second], source)) return known->second;
  if (!source.name.empty() && !source.name_object)
    source.name_object = PyRef::steal(PyUnicode_InternFromString(source.name.c_str()));
  const SourceId id = size();
  by_hash_.emplace(hash, id);
  sources_.push_back(std::move(source));
  return id;
}

std::string SourceTable::str(SourceId id) const {
  if (id < 0 || id >= size()) return "<none>";
  const Source& s = (*this)[id];
  const auto parent = [&] { return str(s.parent); };
  switch (s.kind) {
    case SourceKind::kLocal:
    case SourceKind::kCell:
    case SourceKind::kGlobal:
    case SourceKind::kBuiltin: return s.name.empty() ? fmt::format("<argument {}>", s.index) : s.name;
    case SourceKind::kFunction: return s.name.empty() ? "<this function>" : s.name;
    case SourceKind::kAttr:
    case SourceKind::kClassAttr: return parent() + "." + s.name;
    case SourceKind::kSuper: return fmt::format("super({}, {}).{}", type_name(s.key.get()), parent(), s.name);
    case SourceKind::kMroOf: return parent() + ".__mro__";
    case SourceKind::kItem: return fmt::format("{}[{}]", parent(), s.index);
    case SourceKind::kKey:
      // A global of an inlined function is what its author calls it.
      if (s.parent != kNoSource && (*this)[s.parent].kind == SourceKind::kGlobalsOf &&
          PyUnicode_CheckExact(s.key.get()))
        return exact_text(s.key.get()).value_or(short_repr(s.key.get()));
      return fmt::format("{}[{}]", parent(), short_repr(s.key.get()));
    case SourceKind::kGlobalsOf: return parent() + ".__globals__";
    case SourceKind::kClosureOf: return fmt::format("{}.__closure__[{}].cell_contents", parent(), s.index);
    case SourceKind::kDefaultOf: return fmt::format("{}.__defaults__[{}]", parent(), s.index);
    case SourceKind::kKwDefaultOf: return fmt::format("{}.__kwdefaults__['{}']", parent(), s.name);
    case SourceKind::kCodeOf: return parent() + ".__code__";
    case SourceKind::kSelfOf: return parent() + ".__self__";
    case SourceKind::kFuncOf: return parent() + ".__func__";
    case SourceKind::kTypeOf: return fmt::format("type({})", parent());
    case SourceKind::kBaseOf: return parent() + ".base";
    case SourceKind::kContentsOf: return parent();
    case SourceKind::kObject: return object_name(s.key.get());
  }
  return "<unknown>";
}

int SourceTable::traverse(visitproc visit, void* arg) const {
  for (const Source& source : sources_) Py_VISIT(source.key.get());
  return 0;
}

PyObject* fetch_step(const Source& source, PyObject* parent, const FrameInput& input) noexcept {
  switch (source.kind) {
    case SourceKind::kLocal: {
      const auto index = static_cast<size_t>(source.index);
      return index < input.arguments.size() ? input.arguments[index] : nullptr;
    }
    case SourceKind::kCell: return closure_item(input.function, source.index);
    case SourceKind::kGlobal: return dict_item(function_globals(input.function), source.name_object.get());
    case SourceKind::kBuiltin: return dict_item(function_builtins(input.function), source.name_object.get());
    case SourceKind::kFunction: return input.function;
    case SourceKind::kObject: return source.key.get();
    default: return parent ? derived(source, parent) : nullptr;
  }
}

PyObject* fetch(const SourceTable& sources, SourceId id, const FrameInput& input) noexcept {
  if (id < 0 || id >= sources.size()) return nullptr;
  const Source& source = sources[id];
  PyObject* parent = source.parent == kNoSource ? nullptr : fetch(sources, source.parent, input);
  return fetch_step(source, parent, input);
}

}  // namespace suture
