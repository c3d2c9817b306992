// Python literals of text, and what makes a name an identifier. Everything that could end a literal early, steer a terminal
// or read differently from what it is comes out as an escape.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace suture::toolbox {

enum class Quote : uint8_t { kSingle, kDouble, kTripleSingle, kTripleDouble };
inline constexpr Quote kQuotes[] = {Quote::kSingle, Quote::kDouble, Quote::kTripleSingle,
                                    Quote::kTripleDouble};
std::string_view quote_text(Quote quote);

enum class LiteralPart : uint8_t {
  kString,      // of a plain string
  kDocstring,   // ends of lines and tabs as they are; triple quotes
  kFString,     // of an f-string: braces are doubled
  kFormatSpec,  // of a format specification: braces cannot be doubled there and become escapes
};

// The characters between the quotes. `text`: UTF-8 in which lone surrogates are encoded like characters.
std::string escaped_literal(std::string_view text, Quote quote, LiteralPart part);
// The quotes that Python's repr takes: single ones unless these would need an escape and double ones not.
Quote usual_quote(std::string_view text);
// A plain string with its quotes.
std::string string_literal(std::string_view text);
std::string docstring_literal(std::string_view text);

// Of ASCII exactly Python's rule; other characters count as letters when they are printable, so that nothing that reads
// differently passes, while the compiler has the last word. Keywords are no identifiers.
bool is_identifier(std::string_view name);
// "a.b.c"
bool is_dotted_name(std::string_view name);
// Could this be one expression, all of it: printable, brackets and quotes closed, nothing that ends an expression outside them?
// Annotations that bytecode holds as text (`from __future__ import annotations`) pass through here before they are printed.
bool looks_like_expression(std::string_view text);

}  // namespace suture::toolbox
