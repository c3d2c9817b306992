// An embedded interpreter for the unit tests of rooms that see Python.
//
// Overview
//   tests/support/embed_main.cpp (linked into every PYTHON room's test program) starts the interpreter once,
//   before the first test, as the Python that CMake was configured with: the same prefix and the same
//   site-packages, so `import numpy` finds the NumPy whose headers the rooms were compiled against. Tests
//   then hold the GIL all the time. Helpers below run source text and hand out objects.
#pragma once

#include <Python.h>

#include <string>

#include "cpython/py_ref.h"

namespace suture::testing {

// Runs statements in a fresh namespace (with `np` imported) and returns the namespace dict. A Python
// exception fails the running test, prints the traceback and gives an empty reference.
PyRef run_python(const std::string& source);
// run_python, then the object called `name`.
PyRef python_object(const std::string& source, const char* name = "result");
// Value of an expression in `namespace_dict` (or in a fresh namespace with `np`).
PyRef evaluate_python(const std::string& expression, PyView namespace_dict = nullptr);
PyView item(PyView dict, const char* key);  // borrowed; null when absent
std::string repr(PyView object);
// Type name and text of the pending exception, which is cleared; "" when there is none.
std::string take_exception();

}  // namespace suture::testing
