// How much of a line of source code events and texts carry. Longer lines are data that somebody keeps in a program.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace suture {

inline constexpr size_t kLongestSourceLine = 4096;  // bytes

// Stands for the text of a line whose file is no longer what was compiled: a wrong line would be believed.
inline constexpr std::string_view kChangedSource = "(the file has changed since it was compiled)";

// Without its end of line, and cut before a character rather than in it.
inline std::string bounded_source_line(std::string line) {
  size_t end = line.size();
  while (end > 0 && (line[end - 1] == '\n' || line[end - 1] == '\r')) --end;
  if (end > kLongestSourceLine) {
    end = kLongestSourceLine;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;
  }
  line.resize(end);
  return line;
}

}  // namespace suture
