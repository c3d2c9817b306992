// Attribute lookup that follows object.__getattribute__ step by step but never calls what it finds.
//
// How it works
//   The order is CPython's: a data descriptor on the type wins, then the instance, then what is left on the
//   type. A type whose lookup was replaced (__getattribute__, or an unknown C tp_getattro) is opaque from the
//   start; __getattr__ makes only *missing* names opaque. _PyType_Lookup and _PyObject_GenericGetAttrWithDict
//   exist in 3.11 to 3.13; the second is called only when the type holds no descriptor for the name, so it
//   can do nothing but read the instance.
#include "cpython/objects.h"

#include <fmt/format.h>
#include <structmember.h>

#include <cstring>

#include "cpython/discard_error.h"

namespace suture {

namespace {

using Where = AttributeLookup::Where;

AttributeLookup found(Where where, PyView value) { return {where, PyRef::borrow(value)}; }

// Interned names, kept for the life of the process.
struct Names {
  PyObject* class_ = PyUnicode_InternFromString("__class__");
  PyObject* getattribute = PyUnicode_InternFromString("__getattribute__");
  PyObject* getattr = PyUnicode_InternFromString("__getattr__");
};
const Names& names() noexcept {
  static const Names kept;
  return kept;
}

// Does attribute access on instances of `type` go through object.__getattribute__ first?
bool has_generic_getattribute(PyTypeObject* type) noexcept {
  if (type->tp_getattro == PyObject_GenericGetAttr || type->tp_getattro == PyModule_Type.tp_getattro)
    return true;
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  PyView name = names().getattribute;
  PyView method = _PyType_Lookup(type, name);
  if (method == nullptr) return false;
  return method == _PyType_Lookup(&PyBaseObject_Type, name) || method == _PyType_Lookup(&PyModule_Type, name);
}

bool has_getattr_hook(PyTypeObject* type) noexcept {
  return _PyType_Lookup(type, names().getattr) != nullptr;
}

bool is_data_descriptor(PyView object) noexcept { return Py_TYPE(object)->tp_descr_set != nullptr; }
bool is_descriptor(PyView object) noexcept { return Py_TYPE(object)->tp_descr_get != nullptr; }

// staticmethod and classmethod objects hold their callable behind a member; both types read it without user
// code.
PyRef wrapped_callable(PyView descriptor) noexcept {
  PyRef callable = PyRef::steal(PyObject_GetAttrString(descriptor, "__func__"));
  if (!callable) discard_error();
  return callable;
}

// A member that holds an object: of __slots__, or of a C type (partial.func, property.fget).
bool is_object_member(PyView descriptor) noexcept {
  if (Py_TYPE(descriptor) != &PyMemberDescr_Type) return false;
  const int type = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member->type;
  return type == T_OBJECT_EX || type == T_OBJECT;
}

// Null when unset; an unset T_OBJECT reads as None.
PyView member_value(PyView object, PyView descriptor) noexcept {
  const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
  PyView value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + member->offset);
  return value || member->type == T_OBJECT_EX ? value : Py_None;
}

// The names of a function are computed attributes that read a field; null for any other attribute.
PyView function_field(PyView function, PyView descriptor) noexcept {
  if (Py_TYPE(descriptor) != &PyGetSetDescr_Type) return nullptr;
  const std::string_view name = reinterpret_cast<PyGetSetDescrObject*>(descriptor)->d_getset->name;
  const auto* fields = reinterpret_cast<PyFunctionObject*>(function);
  if (name == "__name__") return fields->func_name;
  return name == "__qualname__" ? fields->func_qualname : nullptr;
}

AttributeLookup missing(PyTypeObject* type) noexcept {
  return {has_getattr_hook(type) ? Where::kOpaque : Where::kMissing, {}};
}

// A non-data object found on the type, as seen through an instance.
AttributeLookup through_instance(PyView on_type) noexcept {
  if (PyFunction_Check(on_type)) return found(Where::kMethod, on_type);
  if (Py_TYPE(on_type) == &PyStaticMethod_Type) return {Where::kStaticMethod, wrapped_callable(on_type)};
  if (Py_TYPE(on_type) == &PyClassMethod_Type) return {Where::kClassMethod, wrapped_callable(on_type)};
  if (is_descriptor(on_type)) return {Where::kOpaque, {}};
  return found(Where::kTypeData, on_type);
}

// The same object, as seen through the class itself.
AttributeLookup through_class(PyView on_type) noexcept {
  if (PyFunction_Check(on_type) || Py_TYPE(on_type) == &PyProperty_Type || is_object_member(on_type))
    return found(Where::kTypeData, on_type);
  return through_instance(on_type);
}

AttributeLookup data_descriptor(PyView object, PyView descriptor) noexcept {
  if (Py_TYPE(descriptor) == &PyProperty_Type) return found(Where::kProperty, descriptor);
  if (PyFunction_Check(object))
    if (PyView value = function_field(object, descriptor)) return found(Where::kInstance, value);
  // A member of another class that was put into this one: Python raises, and the offset means nothing here.
  if (!is_object_member(descriptor) || !PyObject_TypeCheck(object, PyDescr_TYPE(descriptor)))
    return {Where::kOpaque, {}};
  PyView value = member_value(object, descriptor);
  return value ? found(Where::kInstance, value) : missing(Py_TYPE(object));
}

// The instance's own value of `name`, or empty. `shadowed`: the type has a descriptor of that name, so the
// generic lookup would run it; then the instance dict is asked directly.
PyRef instance_value(PyView object, PyView name, bool shadowed) noexcept {
  if (!shadowed) return PyRef::steal(_PyObject_GenericGetAttrWithDict(object, name, nullptr, 1));
  const bool has_dict = Py_TYPE(object)->tp_dictoffset != 0;
  PyRef dict = has_dict ? PyRef::steal(PyObject_GenericGetDict(object, nullptr)) : PyRef();
  return dict ? PyRef::borrow(PyDict_GetItemWithError(dict.get(), name)) : PyRef();
}

AttributeLookup lookup_on_instance(PyView object, PyView name) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  PyView on_type = _PyType_Lookup(type, name);
  if (on_type && is_data_descriptor(on_type) && is_descriptor(on_type))
    return data_descriptor(object, on_type);
  const bool shadowed = on_type && is_descriptor(on_type);
  PyRef value = instance_value(object, name, shadowed);
  if (value && value.get() != on_type) return {Where::kInstance, std::move(value)};
  return on_type ? through_instance(on_type) : missing(type);
}

AttributeLookup lookup_on_class(PyView object, PyView name) noexcept {
  PyTypeObject* metatype = Py_TYPE(object);
  PyView on_metatype = _PyType_Lookup(metatype, name);
  if (on_metatype && is_data_descriptor(on_metatype) && is_descriptor(on_metatype))
    return {Where::kOpaque, {}};
  if (PyView on_type = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(object), name))
    return through_class(on_type);
  return on_metatype ? through_instance(on_metatype) : missing(metatype);
}

bool has_class_getattribute(PyTypeObject* metatype) noexcept {
  if (metatype->tp_getattro == PyType_Type.tp_getattro) return true;
  PyView name = names().getattribute;
  return _PyType_Lookup(metatype, name) == _PyType_Lookup(&PyType_Type, name);
}

AttributeLookup lookup_on_module(PyView module, PyView name) noexcept {
  AttributeLookup result = lookup_on_instance(module, name);
  if (result.where != Where::kMissing) return result;
  PyView hook = PyDict_GetItemWithError(PyModule_GetDict(module), names().getattr);
  return {hook ? Where::kOpaque : Where::kMissing, {}};
}

// repr of these exact types runs no user code.
bool has_safe_repr(PyView object) noexcept {
  if (object == Py_None || object == Py_Ellipsis || object == Py_NotImplemented) return true;
  if (PyLong_CheckExact(object) || PyFloat_CheckExact(object) || PyBool_Check(object) ||
      PyComplex_CheckExact(object))
    return true;
  if (PyUnicode_CheckExact(object) || PyBytes_CheckExact(object)) return true;
  if (PySlice_Check(object)) {
    auto* slice = reinterpret_cast<PySliceObject*>(object);
    return has_safe_repr(slice->start) && has_safe_repr(slice->stop) && has_safe_repr(slice->step);
  }
  if (!PyTuple_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
    if (!has_safe_repr(PyTuple_GET_ITEM(object, i))) return false;
  return true;
}

std::string utf8_or(PyView text, const char* otherwise) { return exact_text(text).value_or(otherwise); }

std::string named(const char* what, PyView name) { return fmt::format("<{} {}>", what, utf8_or(name, "?")); }

std::string truncated(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit > 3 ? limit - 3 : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;  // keep UTF-8 sequences whole
  return text.substr(0, end) + "...";
}

// "<ufunc sin>", "<numpy function median>"; "" for anything else. Types of NumPy whose attributes run no user code.
std::string numpy_function_repr(PyView object) {
  const PyTypeObject* type = Py_TYPE(object);
  const std::string_view kind = type->tp_flags & Py_TPFLAGS_HEAPTYPE ? "" : type->tp_name;
  if (kind != "numpy.ufunc" && kind != "numpy._ArrayFunctionDispatcher") return "";
  PyRef name = PyRef::steal(PyObject_GetAttrString(object, "__name__"));
  if (!name) discard_error();
  return name ? named(kind == "numpy.ufunc" ? "ufunc" : "numpy function", name.get()) : "";
}

// Classes in a tuple, as a method resolution order has them, and plain values; other parts by their types.
std::string tuple_repr(PyView tuple) {
  std::string text;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyView item = PyTuple_GET_ITEM(tuple, i);
    if (i > 0) text += ", ";
    if (PyType_Check(item))
      text += type_name(item);
    else
      text += has_safe_repr(item) ? short_repr(item) : fmt::format("<{} object>", type_name(item));
  }
  return fmt::format("({}{})", text, PyTuple_GET_SIZE(tuple) == 1 ? "," : "");
}

std::string callable_or_type_repr(PyView object) {
  if (PyFunction_Check(object))
    return named("function", reinterpret_cast<PyFunctionObject*>(object)->func_qualname);
  if (PyType_Check(object)) return fmt::format("<class {}>", type_name(object));
  if (PyTuple_CheckExact(object)) return tuple_repr(object);
  if (PyModule_CheckExact(object)) {
    PyRef name = PyRef::steal(PyModule_GetNameObject(object));
    return named("module", name.get());
  }
  if (PyCFunction_Check(object))
    return fmt::format("<built-in {}>", reinterpret_cast<PyCFunctionObject*>(object)->m_ml->ml_name);
  if (PyCode_Check(object)) return named("code", reinterpret_cast<PyCodeObject*>(object)->co_name);
  const std::string of_numpy = numpy_function_repr(object);
  if (!of_numpy.empty()) return of_numpy;
  return fmt::format("<{} object>", type_name(reinterpret_cast<PyObject*>(Py_TYPE(object))));
}

}  // namespace

AttributeLookup lookup_attribute(PyView object, PyView name) noexcept {
  if (!PyUnicode_CheckExact(name)) return {Where::kOpaque, {}};
  AttributeLookup result{Where::kOpaque, {}};
  if (PyType_Check(object)) {
    if (has_class_getattribute(Py_TYPE(object))) result = lookup_on_class(object, name);
  } else if (has_generic_getattribute(Py_TYPE(object))) {
    result = PyModule_Check(object) ? lookup_on_module(object, name) : lookup_on_instance(object, name);
  }
  discard_error();
  return result;
}

Binding binding_of(Where where) noexcept {
  switch (where) {
    case Where::kMethod: return Binding::kInstance;
    case Where::kClassMethod: return Binding::kClass;
    case Where::kProperty: return Binding::kProperty;
    default: return Binding::kNone;
  }
}

PyView lookup_in_classes(PyView type, PyView name) noexcept {
  PyView value = PyType_Check(type) ? _PyType_Lookup(reinterpret_cast<PyTypeObject*>(type), name) : nullptr;
  if (!value) discard_error();
  return value;
}

PyView lookup_behind(PyView self, PyView type, PyView name) noexcept {
  PyView order = Py_TYPE(self)->tp_mro;
  bool behind = false;
  for (Py_ssize_t i = 0; order && i < PyTuple_GET_SIZE(order); ++i) {
    PyView cls = PyTuple_GET_ITEM(order, i);
    PyView dict = behind ? reinterpret_cast<PyTypeObject*>(cls)->tp_dict : nullptr;
    PyView value = dict ? PyDict_GetItemWithError(dict, name) : nullptr;
    if (value) return value;
    behind = behind || cls == type;
  }
  discard_error();
  return nullptr;
}

bool has_plain_class(PyView object) noexcept {
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  // A bound method asks its own class first, and that answers.
  const bool asks_type = type == &PyMethod_Type || type->tp_getattro == PyType_Type.tp_getattro ||
                         has_generic_getattribute(type);
  PyView name = names().class_;
  return asks_type && _PyType_Lookup(type, name) == _PyType_Lookup(&PyBaseObject_Type, name);
}

// A method of a class written in Python replaces the slot that is inherited otherwise. sq_item is no witness: every
// subclass of tuple has one that looks __getitem__ up, and mp_subscript tells whether that is tuple's.
bool has_tuple_operations(PyView object) noexcept {
  static constexpr PyNumberMethods kNoNumber = {};
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  const PyTypeObject& base = PyTuple_Type;
  if (!PyType_IsSubtype(type, &PyTuple_Type) || !type->tp_as_number) return false;
  const PySequenceMethods &own = *type->tp_as_sequence, &inherited = *base.tp_as_sequence;
  const bool is_sequence = own.sq_length == inherited.sq_length && own.sq_concat == inherited.sq_concat &&
                           own.sq_repeat == inherited.sq_repeat && own.sq_contains == inherited.sq_contains &&
                           !own.sq_ass_item && !own.sq_inplace_concat && !own.sq_inplace_repeat;
  return is_sequence && type->tp_iter == base.tp_iter && type->tp_richcompare == base.tp_richcompare &&
         type->tp_hash == base.tp_hash && !type->tp_call && type->tp_getattro == base.tp_getattro &&
         std::memcmp(type->tp_as_mapping, base.tp_as_mapping, sizeof(PyMappingMethods)) == 0 &&
         std::memcmp(type->tp_as_number, &kNoNumber, sizeof kNoNumber) == 0;
}

int64_t abc_registrations() noexcept {
  // Kept for the life of the process, as the names above.
  static PyObject* const get_token = [] {
    PyRef module = PyRef::steal(PyImport_ImportModule("_abc"));
    return module ? PyObject_GetAttrString(module.get(), "get_cache_token") : nullptr;
  }();
  PyRef token = get_token ? PyRef::steal(PyObject_CallNoArgs(get_token)) : PyRef();
  const int64_t count = token ? PyLong_AsLongLong(token.get()) : -1;
  if (count < 0) discard_error();
  return count;
}

bool is_python_function(PyView object) noexcept { return Py_IS_TYPE(object, &PyFunction_Type); }

std::optional<std::string> exact_text(PyView object) {
  Py_ssize_t size = 0;
  const char* utf8 = object && PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : nullptr;
  if (utf8 != nullptr) return std::string(utf8, static_cast<size_t>(size));
  discard_error();
  return std::nullopt;
}

std::string type_name(PyView object) {
  auto* type = PyType_Check(object) ? reinterpret_cast<PyTypeObject*>(object) : Py_TYPE(object);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return type->tp_name;
  // Heap types keep only the bare name in tp_name; the module is in the type's own dict.
  const std::string qualname = utf8_or(reinterpret_cast<PyHeapTypeObject*>(type)->ht_qualname, type->tp_name);
  PyView module = type->tp_dict ? PyDict_GetItemString(type->tp_dict, "__module__") : nullptr;
  const std::string module_name = utf8_or(module, "");
  return module_name.empty() || module_name == "builtins" ? qualname : module_name + "." + qualname;
}

std::string short_repr(PyView object, size_t limit) {
  if (object == nullptr) return "<missing>";
  if (!has_safe_repr(object)) return truncated(callable_or_type_repr(object), limit);
  PyRef text = PyRef::steal(PyObject_Repr(object));
  if (!text) discard_error();  // an int too long to print, for one
  return truncated(text ? utf8_or(text.get(), "?") : callable_or_type_repr(object), limit);
}

PyView function_code(PyView function) noexcept { return PyFunction_GET_CODE(function); }
std::string function_name(PyView function) {
  return utf8_or(reinterpret_cast<PyFunctionObject*>(function)->func_name, "?");
}
std::string function_qualname(PyView function) {
  return utf8_or(reinterpret_cast<PyFunctionObject*>(function)->func_qualname, "?");
}
PyView function_globals(PyView function) noexcept { return PyFunction_GET_GLOBALS(function); }
PyView function_closure(PyView function) noexcept { return PyFunction_GET_CLOSURE(function); }
PyView function_builtins(PyView function) noexcept {
  return reinterpret_cast<PyFunctionObject*>(function)->func_builtins;
}
PyView cell_contents(PyView cell) noexcept { return PyCell_GET(cell); }

bool dies_visibly(PyView object) noexcept {
  const bool plain = object == Py_None || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
                     PyBool_Check(object) || PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
                     PyBytes_CheckExact(object) || PyRange_Check(object) || PySlice_Check(object);
  return !plain && !PyModule_Check(object) && !PyType_Check(object) && !PyCFunction_Check(object);
}

bool is_dict_of(PyView dict, PyView instance) noexcept {
  if (Py_TYPE(instance)->tp_dictoffset == 0) return false;
  PyRef own = PyRef::steal(PyObject_GenericGetDict(instance, nullptr));
  if (!own) discard_error();
  return own.get() == dict;
}

bool is_namespace(PyView dict) noexcept {
  static PyObject* const names[] = {PyUnicode_InternFromString("__builtins__"),
                                    PyUnicode_InternFromString("__spec__")};
  for (PyObject* name : names)
    if (PyDict_GetItemWithError(dict, name) != nullptr) return true;
  return false;
}

uint64_t dict_version(PyView dict) noexcept {
#if PY_VERSION_HEX < 0x030D0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  (void)dict;
  return 0;
#endif
}

PyRef make_weak_reference(PyView object) noexcept {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return {};
  PyRef reference = PyRef::steal(PyWeakref_NewRef(object, nullptr));
  if (!reference) discard_error();
  return reference;
}

PyView weak_target(PyView weak_reference) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  PyObject* target = nullptr;
  PyWeakref_GetRef(weak_reference, &target);
  Py_XDECREF(target);  // somebody else keeps it, or the weak reference would be dead
  return target;
#else
  PyView target = PyWeakref_GET_OBJECT(weak_reference);
  return target == Py_None ? nullptr : target;
#endif
}

std::string pending_exception_text() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) return "";
  PyErr_NormalizeException(&type, &value, &traceback);
  PyRef text = PyRef::steal(value ? PyObject_Str(value) : nullptr);
  if (!text) discard_error();
  const std::string message = text ? utf8_or(text.get(), "") : "";
  const std::string name = type_name(type);
  PyErr_Restore(type, value, traceback);
  return message.empty() ? name : name + ": " + message;
}

}  // namespace suture
