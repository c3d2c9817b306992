// Reading Python objects without running user code, and naming them in messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cpython/py_ref.h"

namespace suture {

// How attribute lookup on `object` would be answered, found without running any descriptor or __getattr__.
struct AttributeLookup {
  enum class Where : uint8_t {
    kMissing,       // AttributeError, and no __getattr__ would be asked
    kInstance,      // instance __dict__ or module __dict__ or __slots__ member
    kTypeData,      // plain object found on the type (no __get__)
    kMethod,        // function found on the type: binding gives a bound method; `value` is the function
    kStaticMethod,  // `value` is the underlying callable
                    // (through a class, its functions, properties and slots are kTypeData: they come back as
                    // they are)
    kClassMethod,   // `value` is the underlying function
    kProperty,      // `value` is the property object
    kOpaque,        // needs user code or a C descriptor we do not model
  } where = Where::kMissing;
  PyRef value;
};
AttributeLookup lookup_attribute(PyView object, PyView name) noexcept;
// What attribute access makes of the value it found.
enum class Binding : int8_t { kNone = -1, kInstance, kClass, kProperty };
Binding binding_of(AttributeLookup::Where where) noexcept;
// What the classes in the method resolution order of `type` have under `name`, metaclass aside; null: nothing. Borrowed.
PyView lookup_in_classes(PyView type, PyView name) noexcept;
// What super(`type`, self).name finds, unbound; null: nothing. Borrowed.
PyView lookup_behind(PyView self, PyView type, PyView name) noexcept;
// x.__class__ is type(x) for every x of `type`. False for mocks and proxies, which name another class.
bool has_plain_class(PyView type) noexcept;
// Instances of a class derived from tuple compare, iterate, index and add as tuples do, and have attributes as objects do.
bool has_tuple_operations(PyView type) noexcept;
// Counts the classes registered with abstract base classes (abc.get_cache_token()); their answers hold until it grows.
int64_t abc_registrations() noexcept;

bool is_python_function(PyView object) noexcept;  // exactly types.FunctionType
// UTF-8 of a str, NULs included; empty for one that has none (lone surrogates) and for anything else.
std::optional<std::string> exact_text(PyView object);
std::string type_name(PyView object);  // of a class: its own name, else its type's: "numpy.ndarray", "int"
std::string short_repr(
    PyView object,
    size_t limit = 80);  // runs repr only for exact builtin scalar/str/tuple types; else "<T object>"
PyView function_code(PyView function) noexcept;
std::string function_name(PyView function);  // __name__; its code may have another one
std::string function_qualname(PyView function);
PyView function_globals(PyView function) noexcept;
PyView function_closure(PyView function) noexcept;  // tuple of cells or null
PyView function_builtins(PyView function) noexcept;
PyView cell_contents(PyView cell) noexcept;  // null when empty
// A number that no two states of any dict share, so that an equal number means an unchanged dict. 0 (no such
// number) from CPython 3.13 on.
uint64_t dict_version(PyView dict) noexcept;
// False for objects whose end nobody can notice: numbers, texts, and what lives as long as its module.
bool dies_visibly(PyView object) noexcept;
bool is_dict_of(PyView dict, PyView instance) noexcept;  // `dict` is instance.__dict__
// A namespace of code: globals of functions, __dict__ of modules. Such dicts have other names in Python code.
bool is_namespace(PyView dict) noexcept;
// Weak references, without callback. make: empty when the object supports none (no exception is left behind).
PyRef make_weak_reference(PyView object) noexcept;
PyView weak_target(PyView weak_reference) noexcept;  // null when collected
// The user's exception text for logs; clears nothing.
std::string pending_exception_text();

}  // namespace suture
