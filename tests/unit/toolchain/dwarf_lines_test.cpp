#include "toolchain/dwarf_lines.h"

#include <gtest/gtest.h>

namespace suture {
namespace {

using std::string_literals::operator""s;

// Version 4, one directory, files "a.py" (in it) and "/abs/b.py".
std::string header(uint8_t opcode_base = 13) {
  std::string body;
  body += "\1"s;    // least instruction
  body += "\1"s;    // operations per instruction
  body += "\1"s;    // rows are statements
  body += "\xFB"s;  // line base -5
  body += "\x0E"s;  // line range 14
  body += static_cast<char>(opcode_base);
  body += "\0\1\1\1\1\0\0\0\1\0\0\1"s.substr(0, opcode_base - 1U);
  body += "/src\0\0"s;
  body += "a.py\0\1\0\0"s + "/abs/b.py\0\1\0\0\0"s;
  return body;
}

std::string table(const std::string& program, uint16_t version = 4) {
  const auto word = [](uint32_t value) { return std::string(reinterpret_cast<const char*>(&value), 4); };
  const std::string head = header();
  const std::string rest = std::string(reinterpret_cast<const char*>(&version), 2) +
                           word(static_cast<uint32_t>(head.size())) + head + program;
  return word(static_cast<uint32_t>(rest.size())) + rest;
}

std::string set_address(uint64_t address) {
  return "\0\x09\2"s + std::string(reinterpret_cast<const char*>(&address), 8);
}

const std::string kEnd = "\0\1\1"s;

TEST(DwarfLines, RowsComeFromSpecialAndStandardOpcodes) {
  // line 1 -> 7 (advance by 6), a row; a special opcode: 2 bytes on, 1 line on; file 2; 16 bytes on, a row.
  const auto special = static_cast<char>(13 + 5 + 1 + 2 * 14);
  const auto rows = read_line_rows(
      table(set_address(0x1000) + "\3\6\1"s + special + "\4\2"s + "\2\x10"s + "\1"s + kEnd), {});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].address, 0x1000u);
  EXPECT_EQ(rows[0].line, 7);
  EXPECT_EQ(rows[0].file, "/src/a.py");
  EXPECT_EQ(rows[1].address, 0x1002u);
  EXPECT_EQ(rows[1].line, 8);
  EXPECT_EQ(rows[2].address, 0x1012u);
  EXPECT_EQ(rows[2].file, "/abs/b.py");
  EXPECT_TRUE(rows[3].ends);
}

TEST(DwarfLines, AddressesAreThoseOfTheRelocations) {
  const std::string text = table(set_address(0) + "\1"s + kEnd);
  const uint64_t at = text.size() - kEnd.size() - 1 - 8;
  const auto rows = read_line_rows(text, {{at, 0xABC0}});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].address, 0xABC0u);
}

TEST(DwarfLines, TablesFollowEachOtherAndLinesMayGoBack) {
  const std::string one = table("\3\x0A\1\3\x7D\1"s + kEnd);  // +10, -3
  const auto rows = read_line_rows(one + one, {});
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[1].line, 8);
  EXPECT_EQ(rows[4].line, 8);
}

TEST(DwarfLines, OpcodesThatAreNotKnownAreSkipped) {
  const auto rows = read_line_rows(table("\0\3\x80\1\2"s + "\5\x20"s + "\x0C\1"s + "\1"s + kEnd), {});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].line, 1);
}

TEST(DwarfLines, OtherVersionsHaveNoRows) { EXPECT_TRUE(read_line_rows(table("\1"s + kEnd, 5), {}).empty()); }

TEST(DwarfLines, WhatIsCutShortOrAlteredEndsTheTable) {
  const std::string whole = table(set_address(0x1000) + "\3\6\1\4\2\2\x10\1"s + kEnd);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_LE(read_line_rows(whole.substr(0, size), {}).size(), 3u);
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int byte : {0, 1, 0x7F, 0x80, 0xFF}) {
      std::string altered = whole;
      altered[at] = static_cast<char>(byte);
      EXPECT_LE(read_line_rows(altered, {}).size(), whole.size());
    }
  }
}

}  // namespace
}  // namespace suture
