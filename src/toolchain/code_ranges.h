// What a loaded object has in memory: its functions, and the lines of the user's program they are made from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/dwarf_lines.h"

namespace suture {

struct CodeRange {
  std::string symbol;
  uint64_t address = 0, size = 0;
  std::vector<LineRow> lines;  // ascending; empty without debug_info
};

// `sections`: KernelLibrary::sections of the same object. Empty for objects that our loader did not load.
std::vector<CodeRange> code_ranges(std::string_view object, std::span<const uint64_t> sections);

}  // namespace suture
