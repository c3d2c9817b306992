// Addresses are taken here, at link time, and not searched for in the process: a symbol of the same name that
// some other library exports can never be called by a kernel.
#include "toolchain/kernel_imports.h"

#include <math.h>
#include <string.h>

#include <iterator>
#include <type_traits>

namespace suture {
namespace {

struct Import {
  std::string_view name;
  void* address;
};

}  // namespace

void* find_kernel_import(std::string_view name) {
  static const Import kImports[] = {
// The cast to the C signature picks the C function among libm's C++ overloads.
#define SUTURE_IMPORT(name, signature) \
  {#name, reinterpret_cast<void*>(static_cast<std::add_pointer_t<signature>>(&::name))},
#include "toolchain/kernel_imports.def"
  };
  for (const Import& import : kImports)
    if (import.name == name) return import.address;
  return nullptr;
}

}  // namespace suture
