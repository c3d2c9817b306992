// Loading a relocatable object without a linker and without LLVM, so that a process whose kernels are all in the disk cache
// maps no compiler.
//
// Overview
//   Objects are what our own code generator writes: ELF x86-64, position independent, small code model, no exceptions, no
//   thread-local storage, no initialisers. Sections are laid out in one mapping (code, then constants, then data), calls of
//   imported functions go through a stub and a slot of a table, relocations are applied, and the pages are protected.
//   An object with line tables is made known to debuggers (gdb_jit.h).
// Invariants
//   - No page is writable and executable at once.
//   - Only functions of kernel_imports.def are reachable from a kernel by name.
//   - What is not understood is refused as kUnsupported, before anything runs; every offset is checked against its section.
//     The caller has another loader.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "toolchain/toolchain.h"

namespace suture {

Result<std::unique_ptr<KernelLibrary>> load_object(std::string_view object,
                                                   const std::vector<std::string>& symbols);

}  // namespace suture
