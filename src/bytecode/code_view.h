// CodeView: a code object as plain data. Filled by cpython/ from a live code object (or by a reader of .pyc
// files); this room never sees a PyObject, so decoder, CFG and decompiler run without an interpreter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace suture {

struct PythonVersion {
  int major = 3;
  int minor = 11;
  auto operator<=>(const PythonVersion&) const = default;
};

// co_localspluskinds bits
enum LocalKind : uint8_t { kLocalPlain = 0x20, kLocalCell = 0x40, kLocalFree = 0x80 };

// co_flags bits
enum CodeFlag : int {
  kCodeOptimized = 0x1,  // a function; bodies of modules and classes have it not
  kCodeVarArgs = 0x4,
  kCodeVarKeywords = 0x8,
  kCodeGenerator = 0x20,
  kCodeCoroutine = 0x80,
  kCodeAsyncGenerator = 0x200
};

struct CodeView {
  PythonVersion version;
  std::string name, qualname, filename;
  int first_line = 1;
  int arg_count = 0;  // co_argcount: positional, includes positional-only
  int posonly_count = 0;
  int kwonly_count = 0;
  int stack_size = 0;
  int flags = 0;  // co_flags
  std::vector<std::string>
      local_names;  // co_localsplusnames: locals, then cells that are no arguments, then free variables
  std::vector<uint8_t> local_kinds;         // LocalKind bits, parallel to local_names
  std::vector<std::string> names;           // co_names
  std::vector<std::string> constant_reprs;  // printed forms of co_consts, by index; code works on indices
  std::vector<uint8_t> code;                // co_code: de-specialised
  std::vector<uint8_t> line_table;          // co_linetable
  std::vector<uint8_t> exception_table;     // co_exceptiontable
  // Locals that a call binds: *args and **kwargs too.
  int parameter_count() const {
    return arg_count + kwonly_count + ((flags & kCodeVarArgs) != 0) + ((flags & kCodeVarKeywords) != 0);
  }
};

}  // namespace suture
