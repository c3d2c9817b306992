// Line tables of DWARF 2 to 4 (".debug_line"): which line of which file each address is made from.
// Source: DWARF Debugging Information Format version 4, section 6.2.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace suture {

struct LineRow {
  uint64_t address = 0;
  std::string file;
  int line = 0;
  bool ends = false;  // one past the last byte of a sequence; has no line
};

// `addresses`: what the linker would write at these offsets of the section, 8 bytes each. What cannot be read ends the table:
// rows before it are kept.
std::vector<LineRow> read_line_rows(std::string_view section, const std::map<uint64_t, uint64_t>& addresses);

}  // namespace suture
