// .pyc files (PEP 552): magic number of the Python version, flags, time and size or hash of the source, then
// the marshalled code of a module.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "bytecode/marshal_reader.h"

namespace suture {

struct PycFile {
  PythonVersion version;
  int magic = 0;
  bool hash_based = false;    // the source is known by its hash
  bool check_source = false;  // hash_based only: importing compares with the source
  uint64_t source_hash = 0;   // hash_based
  uint32_t source_time = 0;   // otherwise: seconds since 1970, modulo 2**32
  uint32_t source_size = 0;
  CodeTreePtr code;
};

// Error kUnsupported: not a .pyc file, of another Python version (named, when known), or damaged.
Result<PycFile> read_pyc(std::string_view file, const MarshalLimits& limits = {});

}  // namespace suture
