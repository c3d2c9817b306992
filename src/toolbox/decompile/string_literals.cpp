#include "toolbox/decompile/string_literals.h"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "base/utf8.h"

namespace suture::toolbox {
namespace {

struct CodePointRange {
  uint32_t first, last;
};

// Beyond ASCII: controls, spaces other than the plain one, invisible formatting characters, direction overrides, private use,
// surrogates and noncharacters. Sorted.
constexpr CodePointRange kNotPrintable[] = {
    {0x80, 0xA0},        {0xAD, 0xAD},       {0x600, 0x605},     {0x61C, 0x61C},     {0x6DD, 0x6DD},
    {0x70F, 0x70F},      {0x890, 0x891},     {0x8E2, 0x8E2},     {0x1680, 0x1680},   {0x180E, 0x180E},
    {0x2000, 0x200F},    {0x2028, 0x202F},   {0x205F, 0x206F},   {0x3000, 0x3000},   {0xD800, 0xF8FF},
    {0xFDD0, 0xFDEF},    {0xFEFF, 0xFEFF},   {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},   {0x110BD, 0x110BD},
    {0x110CD, 0x110CD},  {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0x1FFFE, 0x1FFFF},
    {0x2FFFE, 0x2FFFF},  {0x3FFFE, 0x3FFFF}, {0xE0000, 0xE00FF}, {0xE01F0, 0xE0FFF}, {0xEFFFE, 0xEFFFF},
    {0xF0000, 0x10FFFF},
};

bool is_printable(uint32_t point) {
  if (point < 0x80) return point >= 0x20 && point != 0x7F;
  const auto* range = std::ranges::lower_bound(kNotPrintable, point, {}, &CodePointRange::last);
  return range == std::end(kNotPrintable) || point < range->first;
}

struct Character {
  uint32_t point;
  size_t length;
};

// The character at the start of `text`; surrogates count as characters, a byte that begins none as itself.
Character next_character(std::string_view text) {
  if (size_t length = utf8_sequence(text)) return {utf8_code_point(text.substr(0, length)), length};
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const bool surrogate =
      text.size() >= 3 && byte(0) == 0xED && (byte(1) & 0xE0) == 0xA0 && (byte(2) & 0xC0) == 0x80;
  if (surrogate) return {utf8_code_point(text.substr(0, 3)), 3};
  return {byte(0), 1};
}

std::string escaped_point(uint32_t point) {
  switch (point) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  if (point <= 0xFF) return fmt::format("\\x{:02x}", point);
  if (point <= 0xFFFF) return fmt::format("\\u{:04x}", point);
  return fmt::format("\\U{:08x}", point);
}

// Must the quote character at the start of `rest` be escaped? Between triple quotes only where three would come together.
bool ends_literal(std::string_view rest, std::string_view quote) {
  if (rest.front() != quote.front()) return false;
  return quote.size() == 1 || rest.size() == 1 || rest.starts_with(quote);
}

std::string escaped_brace(char brace, LiteralPart part) {
  if (part == LiteralPart::kFString) return std::string(2, brace);
  if (part == LiteralPart::kFormatSpec) return escaped_point(static_cast<unsigned char>(brace));
  return std::string(1, brace);
}

constexpr std::array<std::string_view, 35> kKeywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

}  // namespace

std::string_view quote_text(Quote quote) {
  switch (quote) {
    case Quote::kSingle: return "'";
    case Quote::kDouble: return "\"";
    case Quote::kTripleSingle: return "'''";
    case Quote::kTripleDouble: return "\"\"\"";
  }
  return "'";
}

std::string escaped_literal(std::string_view text, Quote quote, LiteralPart part) {
  const std::string_view quotes = quote_text(quote);
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const auto [point, length] = next_character(text);
    const char first = text.front();
    if (first == '\\' || ends_literal(text, quotes)) {
      out += {'\\', first};
    } else if (first == '{' || first == '}') {
      out += escaped_brace(first, part);
    } else if (is_printable(point) || (part == LiteralPart::kDocstring && (first == '\n' || first == '\t'))) {
      out += text.substr(0, length);
    } else {
      out += escaped_point(point);
    }
    text.remove_prefix(length);
  }
  return out;
}

Quote usual_quote(std::string_view text) {
  const bool doubles = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  return doubles ? Quote::kDouble : Quote::kSingle;
}

std::string string_literal(std::string_view text) {
  const Quote quote = usual_quote(text);
  return fmt::format("{0}{1}{0}", quote_text(quote), escaped_literal(text, quote, LiteralPart::kString));
}

std::string docstring_literal(std::string_view text) {
  const bool single =
      text.find("\"\"\"") != std::string_view::npos && text.find("'''") == std::string_view::npos;
  const Quote quote = single ? Quote::kTripleSingle : Quote::kTripleDouble;
  return fmt::format("{0}{1}{0}", quote_text(quote), escaped_literal(text, quote, LiteralPart::kDocstring));
}

bool is_identifier(std::string_view name) {
  if (name.empty() || std::ranges::binary_search(kKeywords, name)) return false;
  for (std::string_view rest = name; !rest.empty();) {
    const auto [point, length] = next_character(rest);
    const char first = rest.front();
    const bool letter =
        point >= 0x80 ? utf8_sequence(rest) > 0 && is_printable(point)
                      : first == '_' || (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
    const bool digit = first >= '0' && first <= '9' && rest.size() < name.size();
    if (!letter && !digit) return false;
    rest.remove_prefix(length);
  }
  return true;
}

bool is_dotted_name(std::string_view name) {
  for (;;) {
    const size_t dot = name.find('.');
    if (!is_identifier(name.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

namespace {

// Length of the string literal at the start of `text`; 0: it does not end.
size_t literal_length(std::string_view text) {
  const size_t quotes = text.substr(0, 3) == std::string(3, text[0]) ? 3 : 1;
  const std::string_view end = text.substr(0, quotes);
  for (size_t i = quotes; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text.substr(i).starts_with(end)) {
      return i + quotes;
    }
  }
  return 0;
}

}  // namespace

bool looks_like_expression(std::string_view text) {
  std::string open;  // brackets
  if (text.empty() || text.front() == ' ') return false;
  for (size_t i = 0; i < text.size();) {
    const auto [point, length] = next_character(text.substr(i));
    const char c = text[i];
    if (!is_printable(point) || c == '#' || c == ';' || c == '\\') return false;
    if (c == '\'' || c == '"') {
      const size_t literal = literal_length(text.substr(i));
      if (literal == 0) return false;
      i += literal;
      continue;
    }
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) return false;
      open.pop_back();
    }
    if (open.empty() && c == ',') return false;
    if (open.empty() && c == '=') {
      const bool comparison =
          text.substr(i, 2) == "==" || (i > 0 && std::string_view("=!<>").find(text[i - 1]) < 4);
      if (!comparison) return false;
    }
    i += length;
  }
  return open.empty();
}

}  // namespace suture::toolbox
