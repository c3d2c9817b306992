#include "bytecode/constant.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>

#include "base/utf8.h"
#include "bytecode/code_tree.h"

namespace suture {
namespace {

std::string float_repr(double value) {
  std::string text = fmt::format("{}", value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Parts of a complex number have no ".0".
std::string part_repr(double value) { return fmt::format("{}", value); }

std::string complex_repr(double real, double imaginary) {
  const std::string tail = part_repr(imaginary) + "j";
  if (real == 0 && !std::signbit(real)) return tail;
  return fmt::format("({}{}{})", part_repr(real), tail.front() == '-' ? "" : "+", tail);
}

char quote_for(std::string_view text) {
  const bool single = text.find('\'') != std::string_view::npos;
  return single && text.find('"') == std::string_view::npos ? '"' : '\'';
}

// One character below 128 inside quotes.
void append_ascii(char c, char quote, std::string& out) {
  switch (c) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    case '\\': out += "\\\\"; return;
    default: break;
  }
  if (c == quote) {
    out += '\\';
    out += c;
  } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  } else {
    out += c;
  }
}

bool is_surrogate(std::string_view text) {
  return text.size() >= 3 && text[0] == '\xED' && static_cast<unsigned char>(text[1]) >= 0xA0;
}

void append_str(std::string_view text, size_t limit, std::string& out) {
  const char quote = quote_for(text);
  out += quote;
  while (!text.empty() && out.size() <= limit) {
    size_t length = 1;
    if (is_surrogate(text)) {
      length = 3;
      out += fmt::format("\\u{:04x}", 0xD000 | (text[1] & 0x3F) << 6 | (text[2] & 0x3F));
    } else if (static_cast<unsigned char>(text[0]) < 0x80) {
      append_ascii(text[0], quote, out);
    } else {
      length = std::max<size_t>(1, utf8_sequence(text));
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  out += quote;
}

void append_bytes(std::string_view bytes, size_t limit, std::string& out) {
  const char quote = quote_for(bytes);
  out += 'b';
  out += quote;
  for (size_t i = 0; i < bytes.size() && out.size() <= limit; ++i) {
    const unsigned char byte = static_cast<unsigned char>(bytes[i]);
    if (byte < 0x80)
      append_ascii(bytes[i], quote, out);
    else
      out += fmt::format("\\x{:02x}", byte);
  }
  out += quote;
}

void append(const Constant& constant, size_t limit, std::string& out);

void append_items(const Constant::Items& items, size_t limit, std::string& out) {
  for (size_t i = 0; i < items.size() && out.size() <= limit; ++i) {
    if (i > 0) out += ", ";
    append(items[i], limit, out);
  }
}

void append(const Constant& constant, size_t limit, std::string& out) {
  using enum Constant::Kind;
  switch (constant.kind) {
    case kNone: out += "None"; break;
    case kEllipsis: out += "Ellipsis"; break;
    case kBool: out += constant.integer != 0 ? "True" : "False"; break;
    case kInt: out += std::to_string(constant.integer); break;
    case kBigInt: out += constant.text; break;
    case kFloat: out += float_repr(constant.real); break;
    case kComplex: out += complex_repr(constant.real, constant.imaginary); break;
    case kStr: append_str(constant.text, limit, out); break;
    case kBytes: append_bytes(constant.text, limit, out); break;
    case kTuple:
      out += '(';
      append_items(*constant.items, limit, out);
      out += constant.items->size() == 1 ? ",)" : ")";
      break;
    case kFrozenset:
      out += constant.items->empty() ? "frozenset(" : "frozenset({";
      append_items(*constant.items, limit, out);
      out += constant.items->empty() ? ")" : "})";
      break;
    case kCode: out += fmt::format("<code object {}>", constant.code->view.name); break;
    case kPlaceholder: out += fmt::format("_K[{}]", constant.integer); break;
  }
}

bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

// A text that is equal for equal constants only. Lengths stand in front of what has no fixed one.
void append_key(const Constant& constant, std::string& out);

std::vector<std::string> sorted_keys(const Constant::Items& items) {
  std::vector<std::string> keys(items.size());
  for (size_t i = 0; i < items.size(); ++i) append_key(items[i], keys[i]);
  std::ranges::sort(keys);
  return keys;
}

void append_key(const Constant& constant, std::string& out) {
  out += fmt::format("{}:{}:{:x}:{:x}:{:x}:{}:", static_cast<int>(constant.kind), constant.integer,
                     std::bit_cast<uint64_t>(constant.real), std::bit_cast<uint64_t>(constant.imaginary),
                     reinterpret_cast<uintptr_t>(constant.code.get()), constant.text.size());
  out += constant.text;
  if (!constant.items) return;
  out += fmt::format("{}:", constant.items->size());
  if (constant.is(Constant::Kind::kFrozenset)) {
    for (const std::string& key : sorted_keys(*constant.items)) out += key;
  } else {
    for (const Constant& item : *constant.items) append_key(item, out);
  }
}

}  // namespace

std::string repr(const Constant& constant, size_t limit) {
  std::string out;
  append(constant, limit, out);
  if (out.size() <= limit) return out;
  size_t cut = limit;
  while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xC0) == 0x80) --cut;  // between characters
  return out.substr(0, cut) + "...";
}

std::string constant_key(const Constant& constant) {
  std::string key;
  append_key(constant, key);
  return key;
}

bool same_constant(const Constant& a, const Constant& b) {
  using enum Constant::Kind;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case kNone:
    case kEllipsis: return true;
    case kBool:
    case kInt:
    case kPlaceholder: return a.integer == b.integer;
    case kBigInt:
    case kStr:
    case kBytes: return a.text == b.text;
    case kFloat: return same_bits(a.real, b.real);
    case kComplex: return same_bits(a.real, b.real) && same_bits(a.imaginary, b.imaginary);
    case kTuple: return a.items == b.items || std::ranges::equal(*a.items, *b.items, same_constant);
    case kFrozenset: return a.items == b.items || sorted_keys(*a.items) == sorted_keys(*b.items);
    case kCode: return a.code == b.code;
  }
  return false;
}

}  // namespace suture
