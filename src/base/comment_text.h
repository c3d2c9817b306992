// Text of the user's in a comment of generated code: file names, lines of source.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace suture {

// One line that can neither end the comment nor carry it on to the next line, as a backslash at the end does in C++.
inline std::string comment_text(std::string_view text) {
  std::string safe(text);
  std::ranges::replace_if(safe, [](char c) { return static_cast<unsigned char>(c) < ' ' && c != '\t'; }, ' ');
  const size_t last = safe.find_last_not_of(" \t");
  if (last != std::string::npos && safe[last] == '\\') safe[last] = '/';
  return safe;
}

}  // namespace suture
