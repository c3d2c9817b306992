#include "base/escaped_text.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace suture {
namespace {

bool is_control(uint32_t point) { return point < 0x20 || (point >= 0x7F && point < 0xA0); }
// Direction overrides can make code read differently from what it is.
bool is_direction(uint32_t point) {
  return (point >= 0x202A && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}
bool ends_line(uint32_t point) { return point == '\n' || point == 0x2028 || point == 0x2029; }

std::string escape_of(uint32_t point) {
  if (point == '\n') return "\\n";
  if (point == '\t') return "\\t";
  return point < 0x100 ? fmt::format("\\x{:02x}", point) : fmt::format("\\u{:04x}", point);
}

std::string escaped(std::string_view text, bool one_line) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_sequence(text.substr(i));
    if (length == 0) {
      out += escape_of(static_cast<unsigned char>(text[i++]));
      continue;
    }
    const uint32_t point = utf8_code_point(text.substr(i, length));
    const bool layout = point == '\t' || ends_line(point);
    const bool harmful = layout ? one_line : is_control(point) || is_direction(point);
    if (harmful)
      out += escape_of(point);
    else
      out += text.substr(i, length);
    i += length;
  }
  return out;
}

}  // namespace

std::string escaped_text(std::string_view text) { return escaped(text, false); }
std::string escaped_line(std::string_view text) { return escaped(text, true); }

}  // namespace suture
