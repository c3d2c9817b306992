// Code objects in and out: the boundary between live CPython objects and bytecode/'s plain data.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bytecode/instruction.h"
#include "cpython/py_ref.h"

namespace suture {

// Plain data of a live code object.
Result<CodeView> code_view(PyView code_object);
PyRef code_constants(PyView code_object);       // co_consts (a tuple)

// A new code object from `function` with these constants. Flags, names, locals come from function.code.
Result<PyRef> make_code_object(const Function& function, PyView constants);
// A function object over `code` with the globals, closure, defaults, annotations and module of `like`.
Result<PyRef> make_function(PyView code, PyView like, PyView closure_or_null);

PythonVersion running_python_version();

}  // namespace suture
