// Location table (co_linetable since CPython 3.11): source positions, run-length coded per instruction.
//
// An entry starts with a byte 1 cccc nnn: form c, n + 1 code units. Forms 0-9 and 10-12 are short forms for
// positions on one line, 13 has a line only, 14 everything, 15 nothing. Line numbers are deltas; the first is
// relative to co_firstlineno.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace suture {

struct Position {
  int line = 0, end_line = 0;        // both 0: unknown
  int column = -1, end_column = -1;  // -1: unknown
  bool operator==(const Position&) const = default;
};

// One position per code unit.
Result<std::vector<Position>> parse_line_table(const std::vector<uint8_t>& table, int first_line);

class LineTableWriter {
 public:
  explicit LineTableWriter(int first_line) : line_(first_line) {}
  void add(const Position& position, int units);  // one instruction with its prefixes and caches
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  void add_entry(const Position& position, int units);
  void head(int form, int units);
  void varint(unsigned value);
  void signed_varint(int value);
  int line_;
  std::vector<uint8_t> bytes_;
};

}  // namespace suture
