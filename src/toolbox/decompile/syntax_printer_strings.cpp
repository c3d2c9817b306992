// Strings, bytes and f-strings of the printer.
//
// From Python 3.12 an f-string may contain anything, its own quotes too; the printer still takes other quotes inside where that
// does without escapes. Up to 3.11 the text between the quotes is first read like any string: its expressions may
// contain neither a backslash nor the quotes around them, so at most four f-strings nest. The printer then tries the quotes
// in turn, and gives up where no choice works; bytecode that has an escape in such a place comes from '%' formatting
// (`'%s' % ('\n'.join(x),)`), which is printed instead.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "toolbox/decompile/syntax_writer.h"

namespace suture::toolbox {

using namespace syntax;  // NOLINT: the printer speaks of nothing else

namespace {

constexpr int kNestedFStrings = 60;  // beyond, Python's own reader gives up at 150
constexpr PythonVersion kFreeFStrings{3, 12};

bool has_backslash(std::string_view text) { return text.find('\\') != std::string_view::npos; }

uint8_t without(uint8_t quotes, Quote quote) {
  return static_cast<uint8_t>(quotes & ~(1u << static_cast<int>(quote)));
}

const suture::Constant* string_of(const Expression* node) {
  const auto* constant = as<syntax::Constant>(node);
  return constant && constant->value.is(suture::Constant::Kind::kStr) ? &constant->value : nullptr;
}

// "-8.3" from "<8.3": the flags of '%' formatting that the compiler turns into this format specification.
std::optional<std::string> percent_flags(const Expression* format_spec) {
  if (!format_spec) return "";
  const auto* joined = as<JoinedStr>(format_spec);
  const auto* text =
      joined && joined->values.size() == 1 ? string_of(joined->values[0]) : string_of(format_spec);
  if (!text) return std::nullopt;
  std::string_view spec = text->text;
  std::string flags;
  if (spec.starts_with('>')) {
    spec.remove_prefix(1);
  } else if (spec.size() > 1 && spec[0] != '.') {
    flags = "-";
  }
  const bool plain = std::ranges::all_of(spec, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
  if (!plain) return std::nullopt;
  return flags + std::string(spec);
}

// The '%' formatting that compiles to this f-string, or null when none does. Its nodes go into `tree`.
Expression* as_percent_format(const JoinedStr& node, SyntaxTree& tree) {
  std::string format;
  Expressions values;
  for (const Expression* part : node.values) {
    if (const auto* text = string_of(part)) {
      for (char c : text->text) format += c == '%' ? "%%" : std::string(1, c);
      continue;
    }
    const auto* field = as<FormattedValue>(part);
    if (!field || field->conversion < 0) return nullptr;
    const auto flags = percent_flags(field->format_spec);
    if (!flags) return nullptr;
    format += fmt::format("%{}{}", *flags, static_cast<char>(field->conversion));
    values.push_back(field->value);
  }
  if (values.empty()) return nullptr;
  return tree.make<BinOp>(tree.make<syntax::Constant>(suture::Constant::str(format)), Operator::Mod,
                          tree.make<Tuple>(values));
}

}  // namespace

// ---- plain strings

// Inside an f-string, only some quotes may be used, and perhaps no escape.
std::string Writer::plain_string(std::string_view text) {
  const auto fits = [&](Quote quote) {
    if (!context_.allows(quote)) return std::optional<std::string>();
    std::string literal = escaped_literal(text, quote, LiteralPart::kString);
    if (context_.plain && has_backslash(literal)) return std::optional<std::string>();
    return std::optional(fmt::format("{0}{1}{0}", quote_text(quote), literal));
  };
  if (auto usual = fits(usual_quote(text))) return *usual;
  for (Quote quote : kQuotes) {
    if (auto literal = fits(quote)) return *literal;
  }
  fail("an f-string of this version cannot hold this string");
  return "";
}

std::string Writer::plain_bytes(const std::string& bytes) {
  const bool doubles = bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos;
  std::vector<Quote> order = {doubles ? Quote::kDouble : Quote::kSingle};
  order.insert(order.end(), std::begin(kQuotes), std::end(kQuotes));
  for (Quote quote : order) {
    if (!context_.allows(quote)) continue;
    std::string literal;
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = static_cast<unsigned char>(bytes[i]);
      literal += byte < 0x80
                     ? escaped_literal(std::string_view(bytes).substr(i, 1), quote, LiteralPart::kString)
                     : fmt::format("\\x{:02x}", byte);
    }
    if (!context_.plain || !has_backslash(literal))
      return fmt::format("b{0}{1}{0}", quote_text(quote), literal);
  }
  fail("an f-string of this version cannot hold these bytes");
  return "";
}

// ---- f-strings

namespace {

std::string between_quotes(const FStringPieces& pieces, Quote quote) {
  std::string out;
  for (const FStringPiece& piece : pieces) {
    out += piece.literal ? escaped_literal(piece.text, quote, piece.part) : piece.text;
  }
  return fmt::format("f{0}{1}{0}", quote_text(quote), out);
}

// Single quotes if these do, then those that need no escape, then those that no expression contains.
Quote free_quote(const FStringPieces& pieces) {
  const auto clashes = [&](Quote quote, bool literal) {
    return std::ranges::any_of(pieces, [&](const FStringPiece& piece) {
      return piece.literal == literal && piece.text.find(quote_text(quote)) != std::string::npos;
    });
  };
  for (Quote quote : kQuotes) {
    if (!clashes(quote, false) && !clashes(quote, true)) return quote;
  }
  for (Quote quote : kQuotes) {
    if (!clashes(quote, false)) return quote;
  }
  return Quote::kSingle;
}

}  // namespace

std::string Writer::f_string(const JoinedStr& node) {
  if (context_.depth >= kNestedFStrings) {
    fail("f-strings are nested too deeply");
    return "";
  }
  if (version_ < kFreeFStrings) return f_string_without_reuse(node);
  FStringContext inside = context_;
  ++inside.depth;
  FStringPieces pieces;
  f_string_pieces(node, LiteralPart::kFString, inside, pieces);
  return between_quotes(pieces, free_quote(pieces));
}

std::string Writer::f_string_without_reuse(const JoinedStr& node) {
  const std::string failure_before = std::exchange(failure_, "");
  for (Quote quote : kQuotes) {
    if (!context_.allows(quote)) continue;
    FStringContext inside{
        .depth = context_.depth + 1, .plain = true, .quotes = without(context_.quotes, quote)};
    FStringPieces pieces;
    f_string_pieces(node, LiteralPart::kFString, inside, pieces);
    const bool readable = std::ranges::all_of(pieces, [&](const FStringPiece& piece) {
      return piece.literal ||
             (!has_backslash(piece.text) && piece.text.find(quote_text(quote)) == std::string::npos);
    });
    const bool printed = std::exchange(failure_, "").empty();
    std::string text = between_quotes(pieces, quote);
    if (printed && readable && !(context_.plain && has_backslash(text))) {
      failure_ = failure_before;
      return text;
    }
  }
  failure_ = failure_before;
  SyntaxTree tree;
  if (const Expression* percent = as_percent_format(node, tree)) {
    Writer writer(version_, context_);
    writer.expression(percent, Precedence::kAtom);
    if (auto printed = writer.run()) return *printed;
  }
  fail("an f-string of this version cannot hold one of its expressions");
  return "";
}

void Writer::f_string_pieces(const JoinedStr& node, LiteralPart part, FStringContext inside,
                             FStringPieces& pieces) {
  for (const Expression* value : node.values) {
    if (const auto* text = string_of(value)) {
      pieces.push_back({.text = text->text, .literal = true, .part = part});
    } else if (const auto* field = as<FormattedValue>(value)) {
      replacement_field(*field, inside, pieces);
    } else {
      fail("an f-string holds what is neither text nor a replacement field");
    }
    if (!failure_.empty()) return;
  }
}

void Writer::replacement_field(const FormattedValue& field, FStringContext inside, FStringPieces& pieces) {
  Writer writer(version_, inside);
  writer.expression(field.value, Precedence::kOr);
  auto printed = writer.run();
  if (!printed) return fail(printed.error().message);
  // "{{" would be a brace.
  std::string text = printed->starts_with('{') ? "{ " + *printed : "{" + *printed;
  if (field.conversion >= 0) text += {'!', static_cast<char>(field.conversion)};
  if (!field.format_spec) return pieces.push_back({.text = text + "}"});
  pieces.push_back({.text = text + ":"});
  if (const auto* spec = as<JoinedStr>(field.format_spec)) {
    f_string_pieces(*spec, LiteralPart::kFormatSpec, inside, pieces);
  } else if (const auto* literal = string_of(field.format_spec)) {
    pieces.push_back({.text = literal->text, .literal = true, .part = LiteralPart::kFormatSpec});
  } else {
    fail("a format specification is neither text nor an f-string");
  }
  pieces.push_back({.text = "}"});
}

}  // namespace suture::toolbox
