#include "base/json_writer.h"

#include <charconv>
#include <cmath>

#include "base/utf8.h"

namespace suture {
namespace {

void append_control(std::string& out, unsigned char c) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '\n': out += "\\n"; return;
    case '\t': out += "\\t"; return;
    case '\r': out += "\\r"; return;
    default:
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (!step.valid) {
      out += "\xEF\xBF\xBD";
    } else if (c < 0x20 || c == 0x7F) {
      append_control(out, c);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out.append(text.substr(0, step.length));
    }
    text.remove_prefix(step.length);
  }
  out += '"';
}

}  // namespace

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_quoted(out_, name);
  out_ += ':';
  fresh_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_quoted(out_, text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
  std::string digits(buffer, end);
  if (digits.find_first_of(".e") == std::string::npos) digits += ".0";
  return raw(digits);
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

void JsonWriter::separate() {
  if (!fresh_) out_ += ',';
  fresh_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  out_ += bracket;
  fresh_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  out_ += bracket;
  fresh_ = false;
  return *this;
}

}  // namespace suture
