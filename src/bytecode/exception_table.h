// Exception table (co_exceptiontable since CPython 3.11): which handler an instruction's exception goes to.
//
// Entries (start, length, target, depth * 2 + lasti) in code units, sorted, not overlapping. Numbers are
// varints of 6 bits, highest part first; bit 0x40 says that more follows, bit 0x80 marks the first byte of an
// entry.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace suture {

struct ExceptionEntry {
  int start = 0, end = 0, target = 0;  // code units
  int depth = 0;
  bool push_last_instruction = false;
};

Result<std::vector<ExceptionEntry>> parse_exception_table(const std::vector<uint8_t>& table);
std::vector<uint8_t> write_exception_table(const std::vector<ExceptionEntry>& entries);

}  // namespace suture
