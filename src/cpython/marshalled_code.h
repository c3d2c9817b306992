// Live code objects as bytes, for readers that have no interpreter.
#pragma once

#include <string>

#include "base/result.h"
#include "cpython/py_ref.h"

namespace suture {

// marshal.dumps(code). A constant that is no literal, in nested code objects too, is a list of one int there: [i] stands for
// the i-th of them. Runs no code of the program.
Result<std::string> marshalled_code(PyView code);

}  // namespace suture
