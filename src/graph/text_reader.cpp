// Reading and writing of the tokens of graph text.
#include "graph/text_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace suture {

namespace {
constexpr int kMaxDepth = 100;  // nesting of parentheses; text may come from anywhere

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
}  // namespace

void TextReader::fail(const std::string& message) {
  if (error_.empty()) error_ = fmt::format("line {}, column {}: {}", line_, at_ + 1, message);
  at_ = text_.size();
}

void TextReader::skip_blanks() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
}

bool TextReader::at_end() {
  skip_blanks();
  return at_ == text_.size();
}

bool TextReader::accept(std::string_view token) {
  skip_blanks();
  if (text_.substr(at_, token.size()) != token) return false;
  size_t end = at_ + token.size();
  bool inside_word =
      is_letter(token.back()) && end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]));
  if (inside_word) return false;
  at_ = end;
  return true;
}

void TextReader::expect(std::string_view token) {
  if (!accept(token)) fail(fmt::format("expected '{}'", token));
}

std::string TextReader::word() {
  skip_blanks();
  size_t start = at_;
  while (at_ < text_.size() &&
         (is_letter(text_[at_]) || (at_ > start && (is_digit(text_[at_]) || text_[at_] == '.'))))
    ++at_;
  if (at_ == start) fail("expected a name");
  return std::string(text_.substr(start, at_ - start));
}

std::string TextReader::quoted() {
  expect("\"");
  std::string out;
  while (at_ < text_.size() && text_[at_] != '"') {
    char c = text_[at_++];
    if (c != '\\') {
      out += c;
      continue;
    }
    char escaped = at_ < text_.size() ? text_[at_++] : '\0';
    if (escaped == 'n') {
      out += '\n';
    } else if (escaped == 'x' && at_ + 2 <= text_.size() && hex_digit(text_[at_]) >= 0 &&
               hex_digit(text_[at_ + 1]) >= 0) {
      out += static_cast<char>(16 * hex_digit(text_[at_]) + hex_digit(text_[at_ + 1]));
      at_ += 2;
    } else if (escaped == '"' || escaped == '\\') {
      out += escaped;
    } else {
      fail("unknown escape in string");
    }
  }
  expect("\"");
  return out;
}

std::string TextReader::number_text() {
  skip_blanks();
  size_t start = at_;
  if (at_ < text_.size() && text_[at_] == '-') ++at_;
  while (at_ < text_.size()) {
    char c = text_[at_];
    bool exponent_sign = (c == '-' || c == '+') && text_[at_ - 1] == 'e' && at_ > start;
    bool range_dots = text_.substr(at_, 2) == "..";
    if (range_dots || (!is_digit(c) && !is_letter(c) && c != '.' && !exponent_sign)) break;
    ++at_;
  }
  return std::string(text_.substr(start, at_ - start));
}

int64_t TextReader::integer() {
  std::string digits = number_text();
  int64_t value = 0;
  auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc() || end != digits.data() + digits.size()) fail("expected an integer");
  return value;
}

double TextReader::real() {
  std::string digits = number_text();
  if (digits == "inf") return std::numeric_limits<double>::infinity();
  if (digits == "-inf") return -std::numeric_limits<double>::infinity();
  if (digits == "nan") return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (status != std::errc() || end != digits.data() + digits.size()) fail("expected a number");
  return value;
}

Scalar TextReader::scalar() {
  if (accept("true")) return true;
  if (accept("false")) return false;
  skip_blanks();
  size_t start = at_;
  std::string digits = number_text();
  bool real_number = digits.find_first_of(".en") != std::string::npos;
  if (real_number) {
    at_ = start;
    return real();
  }
  if (!digits.empty() && digits.back() == 'u') {
    uint64_t value = 0;
    auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size() - 1, value);
    if (status != std::errc() || end != digits.data() + digits.size() - 1)
      fail("expected an unsigned integer");
    return value;
  }
  at_ = start;
  return integer();
}

DType TextReader::dtype() {
  std::string name = word();
  for (const DTypeInfo& candidate : all_dtypes()) {
    if (short_name(candidate.id) == name) return candidate.id;
  }
  fail("unknown dtype " + name);
  return DType::kFloat64;
}

SymInt TextReader::sym() { return sym_sum(0); }

SymInt TextReader::sym_sum(int depth) {
  if (depth > kMaxDepth) fail("expression nested too deeply");
  if (failed()) return 0;
  bool negative = accept("-");
  SymInt sum = sym_term(depth);
  if (negative) sum = -sum;
  while (!failed()) {
    if (accept("+")) {
      sum = sum + sym_term(depth);
    } else if (accept("-")) {
      sum = sum - sym_term(depth);
    } else {
      break;
    }
  }
  return sum;
}

SymInt TextReader::sym_term(int depth) {
  SymInt product = sym_atom(depth);
  while (!failed()) {
    if (accept("*")) {
      product = product * sym_atom(depth);
    } else if (accept("//")) {
      product = floordiv(product, sym_atom(depth));
    } else if (accept("%")) {
      product = mod(product, sym_atom(depth));
    } else {
      break;
    }
  }
  return product;
}

SymInt TextReader::sym_selection(bool minimum, int depth) {
  std::optional<SymInt> out;
  list("(", ")", [&] {
    SymInt next = sym_sum(depth + 1);
    out = !out ? next : (minimum ? sym_min(*out, next) : sym_max(*out, next));
  });
  if (!out) fail("min and max need arguments");
  return out.value_or(0);
}

SymInt TextReader::sym_atom(int depth) {
  skip_blanks();
  if (accept("(")) {
    SymInt inner = sym_sum(depth + 1);
    expect(")");
    return inner;
  }
  if (at_ < text_.size() && is_digit(text_[at_])) return integer();
  std::string name = word();
  if (name == "min" || name == "max") return sym_selection(name == "min", depth);
  if (name == "undefined") return SymInt::undefined();
  SymbolId id = -1;
  if (name.size() > 1 && name[0] == 's') std::from_chars(name.data() + 1, name.data() + name.size(), id);
  if (id < 0 || static_cast<size_t>(id) >= symbols_ || name != fmt::format("s{}", id)) {
    fail("unknown symbol " + name);
    return 0;
  }
  return SymInt::symbol(id);
}

std::vector<SymInt> TextReader::syms() {
  std::vector<SymInt> out;
  list("[", "]", [&] { out.push_back(sym()); });
  return out;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string text_of(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::string out = fmt::format("{}", value);
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

std::string text_of(const Scalar& value) {
  if (const bool* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const int64_t* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
  if (const uint64_t* u = std::get_if<uint64_t>(&value)) return std::to_string(*u) + "u";
  return text_of(std::get<double>(value));
}

std::string text_of(const std::vector<SymInt>& list) {
  std::string out = "[";
  for (const SymInt& item : list) out += (out.size() > 1 ? ", " : "") + item.str();
  return out + "]";
}

}  // namespace suture
