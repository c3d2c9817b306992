// The prelude: C++ text that every kernel is compiled on top of. Its parts are prelude/*.h.
#pragma once

#include <string>
#include <string_view>

namespace suture {

std::string_view prelude_text();
// Compiler options that give a kernel the meaning it has here, for g++ and clang++ alike.
std::string kernel_flags();

}  // namespace suture
