// Events as JSON, one object per line.
//
//   {"schema":1,"event":"graph_break","compile_id":"0/1_2","time":1700000000.25,"fields":{"line":21,"hints":["..."]}}
//
// Invariants
//   - Every line is valid JSON in valid UTF-8, whatever the fields hold. Bytes that are not UTF-8 become
//   U+FFFD, one per
//     maximal broken sequence; control characters are escaped, so a line never contains a newline.
//   - JSON has no NaN or infinity: they are the strings "NaN", "Infinity" and "-Infinity".
//   - A float always looks like one ("3.0", "1e+300"), so that readers keep the type.
//   - An event outside every frame has "compile_id":null.
#include <charconv>
#include <cmath>

#include "trace/event.h"

namespace suture {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`; 0 when there is none. `skip` receives how
// many bytes a reader should replace in that case (the longest prefix that could have begun a character, at
// least one byte).
size_t utf8_length(std::string_view text, size_t& skip) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  skip = 1;
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  // The second byte's range excludes overlong forms, surrogates and values above U+10FFFF.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    const unsigned char from = i == 1 ? low : 0x80, to = i == 1 ? high : 0xBF;
    if (i >= text.size() || byte(i) < from || byte(i) > to) return 0;
    skip = i + 1;
  }
  return length;
}

void write_control(std::string& out, unsigned char c) {
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

void write(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    size_t skip = 0;
    const size_t length = utf8_length(text, skip);
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (c < 0x20 || c == 0x7F) {
      write_control(out, c);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? skip : length);
  }
  out += '"';
}

void write(std::string& out, double value) {
  if (std::isnan(value)) return write(out, std::string_view("NaN"));
  if (std::isinf(value)) return write(out, std::string_view(value > 0 ? "Infinity" : "-Infinity"));
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  const std::string_view digits(buffer, end - buffer);
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void write(std::string& out, bool value) { out += value ? "true" : "false"; }
void write(std::string& out, int64_t value) { out += std::to_string(value); }
void write(std::string& out, const std::string& text) { write(out, std::string_view(text)); }

void write(std::string& out, const std::vector<std::string>& list) {
  out += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i) out += ',';
    write(out, list[i]);
  }
  out += ']';
}

void write(std::string& out, const std::vector<std::pair<std::string, double>>& entries) {
  out += '{';
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i) out += ',';
    write(out, entries[i].first);
    out += ':';
    write(out, entries[i].second);
  }
  out += '}';
}

}  // namespace

std::string to_json_line(const Event& event) {
  std::string out = "{\"schema\":" + std::to_string(kEventSchemaVersion) + ",\"event\":";
  write(out, info(event.id).name);
  out += ",\"compile_id\":";
  if (event.compile.frame < 0)
    out += "null";
  else
    write(out, event.compile.str());
  // Microseconds are what the clock gives; the shortest form of the double would add noise digits.
  char time[40];
  const auto end = std::to_chars(time, time + sizeof time, event.time, std::chars_format::fixed, 6).ptr;
  out += ",\"time\":";
  out.append(time, end - time);
  out += ",\"fields\":{";
  bool first = true;
  for (const auto& [name, value] : event.fields) {
    if (!first) out += ',';
    first = false;
    write(out, name);
    out += ':';
    std::visit([&](const auto& v) { write(out, v); }, value);
  }
  out += "}}";
  return out;
}

}  // namespace suture
