// Reads code objects from marshalled bytes (marshal.dumps(code), or the body of a .pyc file) without an
// interpreter.
//
// Any bytes end in a code tree or in an error that names the byte. Work and memory are bounded by the limits:
//   - lengths are checked against what is left of the input before anything is allocated;
//   - nesting is limited, so that walking the result may recurse;
//   - `expanded_size` limits the size of the result with every reference written out, so that walking the
//     result takes bounded time although a few bytes may refer to the same tuple many times.
// The tree is well formed as a file, not as a program: indices inside bytecode are checked by who reads them.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "bytecode/code_tree.h"

namespace suture {

struct MarshalLimits {
  int depth = 500;
  size_t expanded_size = size_t{1} << 28;
  // Accept a list of one int, [i], as placeholder number i: how constants that cannot be marshalled travel.
  bool placeholders = false;
};

// Versions: those with an opcode table. Error kUnsupported: not a code object of this version.
Result<CodeTreePtr> read_code(std::string_view marshalled, PythonVersion version,
                              const MarshalLimits& limits = {});

}  // namespace suture
