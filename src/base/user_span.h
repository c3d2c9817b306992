// A place in the user's source. Travels from bytecode to graph node, loop nest, kernel statement and event.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace suture {

struct UserSpan {
  std::string file;      // as in co_filename
  std::string function;  // co_qualname
  int line = 0;          // 1-based; 0 = unknown
  int end_line = 0;
  int column = -1;  // UTF-8 byte offset, 0-based; -1 = unknown
  int end_column = -1;

  bool known() const { return line > 0; }
  std::string place() const { return file + ":" + std::to_string(line); }
  auto operator<=>(const UserSpan&) const = default;
};

}  // namespace suture
