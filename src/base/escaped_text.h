// Text from a program or a trace, made harmless: control characters and direction overrides become \x1b and the like, so
// that it can neither steer a terminal nor read differently from what it is.
#pragma once

#include <string>
#include <string_view>

namespace suture {

// For texts of several lines: ends of lines and tabs stay.
std::string escaped_text(std::string_view text);
// For names and sentences: what comes out is one line. A file may be called "a\nb".
std::string escaped_line(std::string_view text);

}  // namespace suture
