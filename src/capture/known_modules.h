// Objects of modules that capture knows by name: NumPy, math, functools, Suture itself.
#pragma once

#include <string>
#include <string_view>

#include "cpython/py_ref.h"

namespace suture {

// An attribute of a module that is already imported; borrowed, null when the module or name does not exist.
PyView module_object(const char* module, std::string_view name);
// NumPy's own object of that name, whatever the module holds now; the same otherwise.
PyView numpy_object(std::string_view name);
// Name of a module object ("numpy.linalg"), or empty.
std::string module_name(PyView module);
// Modules whose numbers and functions are part of the program: constants for capture, guarded by identity.
bool is_known_module(PyView module);
// Builtin functions and classes that may be called during capture when all arguments are constants: they have
// no effects and depend on nothing but their arguments.
bool is_pure_callable(PyView callable);
// Types whose instances are immutable and run no user code when read: their attributes and methods may be
// asked for real.
bool is_plain_immutable(PyView object);
bool is_numpy_dtype(PyView object);
// `_suture_disable` or `_suture_graph_break` set on a function object.
bool has_mark(PyView callable, const char* mark);

}  // namespace suture
