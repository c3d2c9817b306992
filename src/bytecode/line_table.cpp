#include "bytecode/line_table.h"

#include <algorithm>

namespace suture {
namespace {

constexpr int kOneLine = 10, kNoColumn = 13, kLong = 14, kNone = 15;
constexpr int kMaxUnits = 8;

// Reads the bytes of a table; `good` turns false at the first read past the end and stays so.
struct Reader {
  const std::vector<uint8_t>& bytes;
  size_t next = 0;
  bool good = true;

  bool done() const { return next >= bytes.size(); }
  unsigned byte() {
    if (done()) {
      good = false;
      return 0;
    }
    return bytes[next++];
  }
  unsigned varint() {
    unsigned value = 0;
    for (int shift = 0; shift < 32; shift += 6) {
      const unsigned b = byte();
      value |= (b & 63u) << shift;
      if (!(b & 64u)) return value;
    }
    good = false;
    return 0;
  }
  int signed_varint() {
    const unsigned value = varint();
    return value & 1u ? -static_cast<int>(value >> 1) : static_cast<int>(value >> 1);
  }
};

// Lines of hostile tables may leave the range of int; what comes out then does not matter.
int moved(int line, int by) {
  return static_cast<int>(static_cast<unsigned>(line) + static_cast<unsigned>(by));
}

Position read_position(Reader& reader, int form, int& line) {
  if (form == kNone) return {};
  if (form == kLong) {
    line = moved(line, reader.signed_varint());
    Position p{line, moved(line, static_cast<int>(reader.varint())), -1, -1};
    p.column = moved(static_cast<int>(reader.varint()), -1);
    p.end_column = moved(static_cast<int>(reader.varint()), -1);
    return p;
  }
  if (form == kNoColumn) {
    line = moved(line, reader.signed_varint());
    return {line, line, -1, -1};
  }
  if (form >= kOneLine) {
    line = moved(line, form - kOneLine);
    const int column = static_cast<int>(reader.byte());
    return {line, line, column, static_cast<int>(reader.byte())};
  }
  const unsigned low = reader.byte();
  const int column = (form << 3) | static_cast<int>(low >> 4);
  return {line, line, column, column + static_cast<int>(low & 15u)};
}

}  // namespace

Result<std::vector<Position>> parse_line_table(const std::vector<uint8_t>& table, int first_line) {
  std::vector<Position> positions;
  Reader reader{table};
  int line = first_line;
  while (!reader.done()) {
    const unsigned first = reader.byte();
    if (!(first & 0x80u))
      return Error::internal("decode", "location table entry does not start with a marked byte");
    const Position position = read_position(reader, static_cast<int>((first >> 3) & 15u), line);
    positions.insert(positions.end(), (first & 7u) + 1, position);
  }
  if (!reader.good) return Error::internal("decode", "location table ends inside an entry");
  return positions;
}

void LineTableWriter::head(int form, int units) {
  bytes_.push_back(static_cast<uint8_t>(0x80 | (form << 3) | (units - 1)));
}

void LineTableWriter::varint(unsigned value) {
  for (; value >= 64; value >>= 6) bytes_.push_back(static_cast<uint8_t>(64u | (value & 63u)));
  bytes_.push_back(static_cast<uint8_t>(value));
}

void LineTableWriter::signed_varint(int value) {
  varint(value < 0 ? (static_cast<unsigned>(-value) << 1) | 1u : static_cast<unsigned>(value) << 1);
}

void LineTableWriter::add_entry(const Position& p, int units) {
  if (p.line == 0 && p.end_line == 0) return head(kNone, units);
  const int delta = p.line - line_;
  line_ = p.line;
  if (p.column < 0 || p.end_column < 0) {
    if (p.end_line == p.line || p.end_line <= 0) {
      head(kNoColumn, units);
      return signed_varint(delta);
    }
  } else if (p.end_line == p.line) {
    const int width = p.end_column - p.column;
    if (delta == 0 && p.column < 80 && width >= 0 && width < 16) {
      head(p.column >> 3, units);
      bytes_.push_back(static_cast<uint8_t>(((p.column & 7) << 4) | width));
      return;
    }
    if (delta >= 0 && delta < 3 && p.column < 128 && p.end_column < 128) {
      head(kOneLine + delta, units);
      bytes_.push_back(static_cast<uint8_t>(p.column));
      bytes_.push_back(static_cast<uint8_t>(p.end_column));
      return;
    }
  }
  head(kLong, units);
  signed_varint(delta);
  varint(static_cast<unsigned>(std::max(0, p.end_line - p.line)));
  varint(static_cast<unsigned>(p.column + 1));
  varint(static_cast<unsigned>(p.end_column + 1));
}

void LineTableWriter::add(const Position& position, int units) {
  for (; units > kMaxUnits; units -= kMaxUnits) add_entry(position, kMaxUnits);
  add_entry(position, units);
}

}  // namespace suture
