// The text of kernels as a compiler gets it that makes line tables: `#line` directives name the user's lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "toolchain/toolchain.h"

namespace suture {

// `lines` ascending. A line of the text without a place of its own (a loop, a brace) counts to the statement before it, the
// lines before a kernel's first statement to that one. An empty line ends a kernel.
std::string with_line_directives(std::string_view cpp, const std::vector<UserLine>& lines);

}  // namespace suture
