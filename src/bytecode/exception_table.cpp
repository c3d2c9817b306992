#include "bytecode/exception_table.h"

namespace suture {
namespace {

// Only the first byte of an entry has the mark by which CPython finds entries in long tables.
bool read_varint(const std::vector<uint8_t>& table, size_t& next, int& value, bool first_of_entry = false) {
  value = 0;
  for (int digits = 0; next < table.size() && digits < 5; ++digits) {
    const uint8_t b = table[next++];
    if (((b & 0x80) != 0) != (first_of_entry && digits == 0)) return false;
    value = (value << 6) | (b & 63);
    if (!(b & 64)) return true;
  }
  return false;
}

void write_varint(std::vector<uint8_t>& out, unsigned value, bool first_of_entry) {
  unsigned mark = first_of_entry ? 0x80u : 0u;
  int shift = 0;
  while (shift < 30 && (value >> (shift + 6)) != 0) shift += 6;
  for (; shift > 0; shift -= 6) {
    out.push_back(static_cast<uint8_t>(mark | 64u | ((value >> shift) & 63u)));
    mark = 0;
  }
  out.push_back(static_cast<uint8_t>(mark | (value & 63u)));
}

}  // namespace

Result<std::vector<ExceptionEntry>> parse_exception_table(const std::vector<uint8_t>& table) {
  std::vector<ExceptionEntry> entries;
  for (size_t next = 0; next < table.size();) {
    ExceptionEntry entry;
    int length = 0, depth_and_lasti = 0;
    if (!read_varint(table, next, entry.start, true) || !read_varint(table, next, length) ||
        !read_varint(table, next, entry.target) || !read_varint(table, next, depth_and_lasti)) {
      return Error::internal("decode",
                             "exception table ends inside an entry, or its entries are not marked as such");
    }
    entry.end = entry.start + length;
    entry.depth = depth_and_lasti >> 1;
    entry.push_last_instruction = depth_and_lasti & 1;
    entries.push_back(entry);
  }
  return entries;
}

std::vector<uint8_t> write_exception_table(const std::vector<ExceptionEntry>& entries) {
  std::vector<uint8_t> out;
  for (const ExceptionEntry& entry : entries) {
    write_varint(out, static_cast<unsigned>(entry.start), true);
    write_varint(out, static_cast<unsigned>(entry.end - entry.start), false);
    write_varint(out, static_cast<unsigned>(entry.target), false);
    write_varint(out, static_cast<unsigned>(entry.depth) << 1 | (entry.push_last_instruction ? 1u : 0u),
                 false);
  }
  return out;
}

}  // namespace suture
