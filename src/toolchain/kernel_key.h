// The key of a compiled kernel in the disk cache: everything that decides its machine code.
#pragma once

#include <string>

#include "base/sha256.h"
#include "toolchain/toolchain.h"

namespace suture {

// `compiler` is ObjectCompiler::identity(): compiler, version, flags and the CPU it compiles for.
Digest kernel_key(const std::string& compiler, const Digest& prelude, const KernelSource& source);

}  // namespace suture
