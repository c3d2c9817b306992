// How it works
//   A table is a program for a machine with registers (address, file, line), run here until it ends. Special opcodes move
//   address and line at once and add a row; standard and extended opcodes move one register. Opcodes of later versions are
//   skipped by the lengths that the header gives.
#include "toolchain/dwarf_lines.h"

#include <cstring>

namespace suture {
namespace {

enum Standard : uint8_t {
  kExtended = 0,
  kCopy = 1,
  kAdvancePc = 2,
  kAdvanceLine = 3,
  kSetFile = 4,
  kConstAddPc = 8,
  kFixedAdvancePc = 9
};
enum Extended : uint8_t { kEndSequence = 1, kSetAddress = 2 };

// Reads forward; after the first read past the end everything is 0 and ok() is false.
class Bytes {
 public:
  Bytes(std::string_view text, uint64_t at) : text_(text), at_(at) { good_ = at <= text.size(); }
  bool ok() const { return good_; }
  uint64_t at() const { return at_; }
  uint64_t left() const { return good_ ? text_.size() - at_ : 0; }
  void skip(uint64_t count) {
    good_ &= count <= left();
    at_ += good_ ? count : 0;
  }
  template <class T>
  T fixed() {
    T value{};
    if (left() < sizeof(T)) return good_ = false, value;
    std::memcpy(&value, text_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  uint64_t unsigned_leb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = fixed<uint8_t>();
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    return good_ = false, 0;
  }
  int64_t signed_leb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const auto byte = fixed<uint8_t>();
      value |= uint64_t{byte & 0x7FU} << shift;
      shift += 7;
      if (byte >= 0x80) continue;
      if (byte & 0x40 && shift < 64) value |= ~uint64_t{0} << shift;
      return static_cast<int64_t>(value);
    }
    return good_ = false, 0;
  }
  std::string_view text() {
    const size_t end = good_ ? text_.find('\0', at_) : std::string_view::npos;
    if (end == std::string_view::npos) return good_ = false, std::string_view();
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }

 private:
  std::string_view text_;
  uint64_t at_;
  bool good_;
};

struct Header {
  uint64_t end = 0;  // of the table
  uint8_t least_instruction = 1, line_range = 1, opcode_base = 1;
  int8_t line_base = 0;
  std::vector<uint8_t> operands;  // of standard opcode i + 1
  std::vector<std::string> files;
  bool known = false;
};

std::string path_of(std::string_view name, uint64_t directory,
                    const std::vector<std::string_view>& directories) {
  if (name.starts_with('/') || directory == 0 || directory > directories.size()) return std::string(name);
  return std::string(directories[directory - 1]) + "/" + std::string(name);
}

Header read_header(Bytes& in) {
  Header header;
  const auto length = in.fixed<uint32_t>();
  header.end = in.at() + length;
  const auto version = in.fixed<uint16_t>();
  const auto header_length = in.fixed<uint32_t>();
  const uint64_t program = in.at() + header_length;
  header.least_instruction = in.fixed<uint8_t>();
  if (version >= 4) in.skip(1);  // operations per instruction: 1 but for VLIW machines
  in.skip(1);                    // whether rows are statements
  header.line_base = in.fixed<int8_t>();
  header.line_range = in.fixed<uint8_t>();
  header.opcode_base = in.fixed<uint8_t>();
  for (int i = 1; i < header.opcode_base; ++i) header.operands.push_back(in.fixed<uint8_t>());
  std::vector<std::string_view> directories;
  for (auto name = in.text(); in.ok() && !name.empty(); name = in.text()) directories.push_back(name);
  for (auto name = in.text(); in.ok() && !name.empty(); name = in.text()) {
    const uint64_t directory = in.unsigned_leb();
    in.unsigned_leb();  // time
    in.unsigned_leb();  // length
    header.files.push_back(path_of(name, directory, directories));
  }
  header.known = in.ok() && version >= 2 && version <= 4 && header.line_range > 0 && in.at() <= program;
  if (header.known) in.skip(program - in.at());
  return header;
}

class Machine {
 public:
  Machine(const Header& header, const std::map<uint64_t, uint64_t>& addresses, std::vector<LineRow>& rows)
      : header_(header), addresses_(addresses), rows_(rows) {}

  void run(Bytes& in) {
    while (in.ok() && in.at() < header_.end) {
      const auto opcode = in.fixed<uint8_t>();
      if (opcode >= header_.opcode_base) {
        special(opcode);
      } else if (opcode == kExtended) {
        extended(in);
      } else {
        standard(in, opcode);
      }
    }
  }

 private:
  void special(uint8_t opcode) {
    const int adjusted = opcode - header_.opcode_base;
    address_ += static_cast<uint64_t>(adjusted / header_.line_range) * header_.least_instruction;
    line_ += static_cast<uint64_t>(int64_t{header_.line_base} + adjusted % header_.line_range);
    add_row(false);
  }

  void standard(Bytes& in, uint8_t opcode) {
    switch (opcode) {
      case kCopy: add_row(false); break;
      case kAdvancePc: address_ += in.unsigned_leb() * header_.least_instruction; break;
      case kAdvanceLine: line_ += static_cast<uint64_t>(in.signed_leb()); break;
      case kSetFile: file_ = in.unsigned_leb(); break;
      case kConstAddPc:
        address_ += static_cast<uint64_t>((255 - header_.opcode_base) / header_.line_range) *
                    header_.least_instruction;
        break;
      case kFixedAdvancePc: address_ += in.fixed<uint16_t>(); break;
      default:
        for (int i = 0; i < header_.operands[opcode - 1U]; ++i) in.unsigned_leb();
    }
  }

  void extended(Bytes& in) {
    const uint64_t length = in.unsigned_leb(), next = in.at() + length;
    if (length == 0 || length > in.left()) return in.skip(in.left() + 1);
    const auto opcode = in.fixed<uint8_t>();
    if (opcode == kEndSequence) {
      add_row(true);
      address_ = 0, file_ = 1, line_ = 1;
    } else if (opcode == kSetAddress) {
      const auto known = addresses_.find(in.at());
      address_ = known == addresses_.end() ? in.fixed<uint64_t>() : known->second;
    }
    if (in.ok() && in.at() < next) in.skip(next - in.at());
  }

  void add_row(bool ends) {
    const bool named = file_ >= 1 && file_ <= header_.files.size();
    rows_.push_back({address_, named ? header_.files[file_ - 1] : "", static_cast<int>(line_), ends});
  }

  const Header& header_;
  const std::map<uint64_t, uint64_t>& addresses_;
  std::vector<LineRow>& rows_;
  uint64_t address_ = 0, file_ = 1;
  uint64_t line_ = 1;  // modulo 2**64: what tables add may be negative, and altered ones anything
};

}  // namespace

std::vector<LineRow> read_line_rows(std::string_view section, const std::map<uint64_t, uint64_t>& addresses) {
  std::vector<LineRow> rows;
  Bytes in(section, 0);
  while (in.ok() && in.left() > 0) {
    const Header header = read_header(in);
    if (!header.known || header.end > section.size()) break;
    Machine(header, addresses, rows).run(in);
  }
  return rows;
}

}  // namespace suture
