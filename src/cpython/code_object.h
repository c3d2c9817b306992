// Code objects in and out: the boundary between live CPython objects and bytecode/'s plain data.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bytecode/instruction.h"
#include "cpython/py_ref.h"

namespace suture {

// Plain data of a live code object. Error kUnsupported when this Python version lays code objects out
// differently.
Result<CodeView> code_view(PyView code_object);
PyRef code_constants(PyView code_object);  // co_consts (a tuple)

// A new code object from `function` with these constants. Flags, names, locals come from function.code.
Result<PyRef> make_code_object(const Function& function, PyView constants);

// A function object over `code` with the globals, annotations and module of `like`. The closure is
// `closure_or_null`, else that of `like`. Defaults are those of `like` when both have the same parameters,
// else there are none.
Result<PyRef> make_function(PyView code, PyView like, PyView closure_or_null);

// What stands for "this local has no value" when locals travel through calls. Compared by identity only; no
// user program can hold it. Borrowed; null with an exception set when it cannot be made.
PyView unbound_marker();

PythonVersion running_python_version();

}  // namespace suture
