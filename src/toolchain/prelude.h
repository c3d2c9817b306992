// The prelude: C++ text that every kernel is compiled on top of. Its parts are prelude/*.h.
#pragma once

#include <string_view>

namespace suture {

std::string_view prelude_text();

}  // namespace suture
