// Overview
//   A recursive descent over the objects of CPython's marshal format (versions 0 to 4). `Reader` knows bytes
//   and numbers, `ObjectReader` objects. An object whose type byte has the flag kRef can be referred to later
//   by its number; a place in `references_` is reserved before its parts are read, as CPython does, and filled
//   when it is complete. A reference to an object that is still being read is refused: no constant contains
//   itself.
// Size
//   Every object returns its expanded size with itself (`Sized`). Sums saturate; a container fails as soon as
//   its sum passes the limit, so the depth-first order of reading never runs ahead of the limit.
#include "bytecode/marshal_reader.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <optional>

#include "base/utf8.h"
#include "bytecode/instruction.h"

namespace suture {
namespace {

constexpr unsigned char kRef = 0x80;
constexpr size_t kObjectSize = 16;  // what an object counts beside its text
constexpr int kDigitBits = 15;      // of an integer in the file

Error bad(size_t at, std::string_view what) {
  return Error::unsupported("marshal", fmt::format("bad marshal data at byte {}: {}", at, what));
}

// Cuts numbers and texts from the input; every length is checked here.
class Reader {
 public:
  explicit Reader(std::string_view input) : input_(input) {}

  size_t position() const { return next_; }
  size_t left() const { return input_.size() - next_; }

  Result<std::string_view> take(size_t length) {
    if (length > left())
      return bad(next_, fmt::format("{} more bytes are needed, {} are left", length, left()));
    const std::string_view piece = input_.substr(next_, length);
    next_ += length;
    return piece;
  }
  Result<uint64_t> unsigned_number(size_t bytes) {  // little endian
    SUTURE_TRY(piece, take(bytes));
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(piece[i]);
    return value;
  }
  Result<int32_t> number() {
    SUTURE_TRY(value, unsigned_number(4));
    return static_cast<int32_t>(static_cast<uint32_t>(value));
  }
  Result<double> floating() {
    SUTURE_TRY(bits, unsigned_number(8));
    return std::bit_cast<double>(bits);
  }
  // A count of things that take at least one byte each.
  Result<size_t> count() {
    const size_t at = next_;
    SUTURE_TRY(value, number());
    if (value < 0 || static_cast<size_t>(value) > left())
      return bad(at, fmt::format("a length of {} with {} bytes left", value, left()));
    return static_cast<size_t>(value);
  }

 private:
  std::string_view input_;
  size_t next_ = 0;
};

// UTF-8 that may hold encoded lone surrogates.
bool is_surrogatepass_utf8(std::string_view text) {
  while (!text.empty()) {
    size_t length = utf8_sequence(text);
    const bool surrogate = length == 0 && text.size() >= 3 && text[0] == '\xED' &&
                           (static_cast<unsigned char>(text[1]) & 0xE0) == 0xA0 &&
                           (static_cast<unsigned char>(text[2]) & 0xC0) == 0x80;
    if (surrogate) length = 3;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_ascii(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  return true;
}

// An integer as base 2**15 digits, lowest first, in a form Constant can hold.
std::string hexadecimal(const std::vector<uint32_t>& digits) {
  std::string reversed;
  uint64_t pending = 0;
  int bits = 0;
  for (const uint32_t digit : digits) {
    pending |= static_cast<uint64_t>(digit) << bits;
    for (bits += kDigitBits; bits >= 4; bits -= 4, pending >>= 4)
      reversed += "0123456789abcdef"[pending & 15];
  }
  reversed += "0123456789abcdef"[pending & 15];
  reversed.resize(reversed.find_last_not_of('0') + 1);
  return "0x" + std::string(reversed.rbegin(), reversed.rend());
}

std::string decimal(const std::vector<uint32_t>& digits) {
  constexpr uint64_t kChunk = 1'000'000'000;
  std::vector<uint64_t> chunks;  // base 10**9, lowest first
  for (size_t i = digits.size(); i-- > 0;) {
    uint64_t carry = digits[i];
    for (uint64_t& chunk : chunks) {
      carry += chunk << kDigitBits;
      chunk = carry % kChunk;
      carry /= kChunk;
    }
    if (carry != 0) chunks.push_back(carry);
  }
  std::string text = std::to_string(chunks.back());
  for (size_t i = chunks.size() - 1; i-- > 0;) text += fmt::format("{:09}", chunks[i]);
  return text;
}

Constant integer_constant(const std::vector<uint32_t>& digits, bool negative) {
  constexpr size_t kInt64Digits = 5;  // 75 bits
  if (digits.size() <= kInt64Digits) {
    unsigned __int128 magnitude = 0;
    for (size_t i = digits.size(); i-- > 0;) magnitude = magnitude << kDigitBits | digits[i];
    const unsigned __int128 limit = (static_cast<unsigned __int128>(1) << 63) - (negative ? 0 : 1);
    if (magnitude <= limit) {
      const uint64_t low = static_cast<uint64_t>(magnitude);
      return Constant::number(static_cast<int64_t>(negative ? 0 - low : low));
    }
  }
  // A decimal digit is more than 3.32 bits, so longer numbers need no attempt.
  const bool short_enough =
      digits.size() * kDigitBits <= static_cast<size_t>(kDecimalDigits) * 333 / 100 + kDigitBits;
  std::string text = short_enough ? decimal(digits) : hexadecimal(digits);
  if (short_enough && text.size() > static_cast<size_t>(kDecimalDigits)) text = hexadecimal(digits);
  return {.kind = Constant::Kind::kBigInt, .text = (negative ? "-" : "") + text};
}

struct Sized {
  Constant value;
  size_t size = 0;  // expanded
};

class ObjectReader {
 public:
  ObjectReader(std::string_view input, PythonVersion version, const MarshalLimits& limits)
      : reader_(input), version_(version), limits_(limits) {}

  Result<Sized> object(int depth);

 private:
  Result<Sized> new_object(char type, size_t at, int depth);
  Result<Sized> reference(size_t at);
  Result<Constant> integer(size_t at);
  Result<double> float_text();
  Result<Constant> text(size_t length, bool ascii);
  Result<Sized> items(char type, size_t at, size_t count, int depth);
  Result<Sized> placeholder(size_t at, int depth);
  Result<Sized> code(size_t at, int depth);

  // Fields of a code object.
  Result<int> field_number(const char* field);
  Result<Constant> field(const char* name, Constant::Kind kind, int depth, size_t& size);
  Status names(const char* field, std::vector<std::string>& out, int depth, size_t& size);
  Status bytes(const char* field, std::vector<uint8_t>& out, int depth, size_t& size);
  Status string(const char* field, std::string& out, int depth, size_t& size);
  Status counts(CodeView& view);

  Reader reader_;
  PythonVersion version_;
  MarshalLimits limits_;
  std::vector<std::optional<Sized>> references_;
};

Result<Sized> ObjectReader::object(int depth) {
  const size_t at = reader_.position();
  if (depth > limits_.depth) return bad(at, fmt::format("objects are nested deeper than {}", limits_.depth));
  SUTURE_TRY(byte, reader_.unsigned_number(1));
  const char type = static_cast<char>(byte & static_cast<unsigned char>(~kRef));
  if (type == 'r') return reference(at);
  if ((byte & kRef) == 0) return new_object(type, at, depth);
  const size_t number = references_.size();
  references_.emplace_back();
  SUTURE_TRY(sized, new_object(type, at, depth));
  references_[number] = sized;
  return sized;
}

Result<Sized> ObjectReader::reference(size_t at) {
  SUTURE_TRY(number, reader_.number());
  if (number < 0 || static_cast<size_t>(number) >= references_.size())
    return bad(at, fmt::format("a reference to object {} of {}", number, references_.size()));
  const std::optional<Sized>& target = references_[static_cast<size_t>(number)];
  if (!target) return bad(at, fmt::format("object {} contains itself", number));
  return *target;
}

Result<Sized> ObjectReader::new_object(char type, size_t at, int depth) {
  const auto small = [](Constant constant) {
    const size_t size = kObjectSize + constant.text.size();
    return Sized{std::move(constant), size};
  };
  switch (type) {
    case 'N': return small(Constant::none());
    case 'T': return small(Constant::boolean(true));
    case 'F': return small(Constant::boolean(false));
    case '.': return small(Constant::ellipsis());
    case 'i': {
      SUTURE_TRY(value, reader_.number());
      return small(Constant::number(value));
    }
    case 'l': {
      SUTURE_TRY(value, integer(at));
      return small(std::move(value));
    }
    case 'g': {
      SUTURE_TRY(value, reader_.floating());
      return small(Constant::floating(value));
    }
    case 'y': {
      SUTURE_TRY(real, reader_.floating());
      SUTURE_TRY(imaginary, reader_.floating());
      return small(Constant::complex(real, imaginary));
    }
    case 'f': {
      SUTURE_TRY(value, float_text());
      return small(Constant::floating(value));
    }
    case 'x': {
      SUTURE_TRY(real, float_text());
      SUTURE_TRY(imaginary, float_text());
      return small(Constant::complex(real, imaginary));
    }
    case 's': {
      SUTURE_TRY(length, reader_.count());
      SUTURE_TRY(raw, reader_.take(length));
      return small(Constant::bytes(std::string(raw)));
    }
    case 'u':
    case 't':
    case 'a':
    case 'A': {
      SUTURE_TRY(length, reader_.count());
      SUTURE_TRY(value, text(length, type == 'a' || type == 'A'));
      return small(std::move(value));
    }
    case 'z':
    case 'Z': {
      SUTURE_TRY(length, reader_.unsigned_number(1));
      SUTURE_TRY(value, text(length, true));
      return small(std::move(value));
    }
    case '(':
    case '>': {
      SUTURE_TRY(count, reader_.count());
      return items(type, at, count, depth);
    }
    case ')': {
      SUTURE_TRY(count, reader_.unsigned_number(1));
      return items('(', at, count, depth);
    }
    case '[': return placeholder(at, depth);
    case 'c': return code(at, depth);
    case 'S':
    case '{':
    case '<': return bad(at, fmt::format("an object of type '{}' is no constant of compiled code", type));
    default: return bad(at, fmt::format("unknown type {:#04x}", static_cast<unsigned char>(type)));
  }
}

Result<Constant> ObjectReader::integer(size_t at) {
  SUTURE_TRY(signed_count, reader_.number());
  const bool negative = signed_count < 0;
  const size_t count = static_cast<size_t>(negative ? -static_cast<int64_t>(signed_count) : signed_count);
  if (count > reader_.left() / 2)
    return bad(at, fmt::format("an integer of {} digits with {} bytes left", count, reader_.left()));
  std::vector<uint32_t> digits(count);
  for (uint32_t& digit : digits) {
    SUTURE_TRY(value, reader_.unsigned_number(2));
    if (value >> kDigitBits) return bad(at, fmt::format("an integer has the digit {}", value));
    digit = static_cast<uint32_t>(value);
  }
  if (!digits.empty() && digits.back() == 0) return bad(at, "an integer begins with the digit 0");
  return integer_constant(digits, negative);
}

Result<double> ObjectReader::float_text() {
  const size_t at = reader_.position();
  SUTURE_TRY(length, reader_.unsigned_number(1));
  SUTURE_TRY(digits, reader_.take(length));
  double value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc() || end != digits.data() + digits.size())
    return bad(at, "a float that is no number");
  return value;
}

Result<Constant> ObjectReader::text(size_t length, bool ascii) {
  const size_t at = reader_.position();
  SUTURE_TRY(raw, reader_.take(length));
  if (ascii ? !is_ascii(raw) : !is_surrogatepass_utf8(raw))
    return bad(at, ascii ? "ASCII text with a byte above 127" : "text that is not UTF-8");
  return Constant::str(std::string(raw));
}

Result<Sized> ObjectReader::items(char type, size_t at, size_t count, int depth) {
  if (count > reader_.left())
    return bad(at, fmt::format("{} items with {} bytes left", count, reader_.left()));
  Constant::Items items;
  size_t size = kObjectSize;
  for (size_t i = 0; i < count; ++i) {
    SUTURE_TRY(item, object(depth + 1));
    size += item.size;
    if (size > limits_.expanded_size)
      return bad(at, fmt::format("with its references written out, the object takes more than {} bytes",
                                 limits_.expanded_size));
    items.push_back(std::move(item.value));
  }
  return Sized{type == '>' ? Constant::frozenset(std::move(items)) : Constant::tuple(std::move(items)), size};
}

Result<Sized> ObjectReader::placeholder(size_t at, int depth) {
  if (!limits_.placeholders) return bad(at, "an object of type '[' is no constant of compiled code");
  SUTURE_TRY(count, reader_.count());
  if (count != 1) return bad(at, "a placeholder is a list of one integer");
  SUTURE_TRY(number, object(depth + 1));
  if (!number.value.is(Constant::Kind::kInt) || number.value.integer < 0)
    return bad(at, "a placeholder is a list of one integer");
  return Sized{{.kind = Constant::Kind::kPlaceholder, .integer = number.value.integer}, kObjectSize};
}

Result<int> ObjectReader::field_number(const char* field) {
  const size_t at = reader_.position();
  SUTURE_TRY(value, reader_.number());
  if (value < 0) return bad(at, fmt::format("{} is {}", field, value));
  return value;
}

Result<Constant> ObjectReader::field(const char* name, Constant::Kind kind, int depth, size_t& size) {
  const size_t at = reader_.position();
  SUTURE_TRY(sized, object(depth + 1));
  if (!sized.value.is(kind)) return bad(at, fmt::format("{} has another type than it must have", name));
  size += sized.size;
  if (size > limits_.expanded_size)
    return bad(at, fmt::format("with its references written out, the code object takes more than {} bytes",
                               limits_.expanded_size));
  return std::move(sized.value);
}

Status ObjectReader::names(const char* name, std::vector<std::string>& out, int depth, size_t& size) {
  const size_t at = reader_.position();
  SUTURE_TRY(tuple, field(name, Constant::Kind::kTuple, depth, size));
  for (const Constant& item : *tuple.items) {
    if (!item.is(Constant::Kind::kStr))
      return bad(at, fmt::format("{} holds something that is no name", name));
    out.push_back(item.text);
  }
  return ok_status();
}

Status ObjectReader::bytes(const char* name, std::vector<uint8_t>& out, int depth, size_t& size) {
  SUTURE_TRY(raw, field(name, Constant::Kind::kBytes, depth, size));
  out.assign(raw.text.begin(), raw.text.end());
  return ok_status();
}

Status ObjectReader::string(const char* name, std::string& out, int depth, size_t& size) {
  SUTURE_TRY(text, field(name, Constant::Kind::kStr, depth, size));
  out = std::move(text.text);
  return ok_status();
}

Status ObjectReader::counts(CodeView& view) {
  SUTURE_TRY(arg_count, field_number("co_argcount"));
  SUTURE_TRY(posonly_count, field_number("co_posonlyargcount"));
  SUTURE_TRY(kwonly_count, field_number("co_kwonlyargcount"));
  SUTURE_TRY(stack_size, field_number("co_stacksize"));
  SUTURE_TRY(flags, reader_.number());
  view.arg_count = arg_count;
  view.posonly_count = posonly_count;
  view.kwonly_count = kwonly_count;
  view.stack_size = stack_size;
  view.flags = flags;
  return ok_status();
}

// What CPython itself checks before it makes a code object.
Status check_code(const CodeView& view, size_t at) {
  const size_t locals = view.local_names.size();
  if (view.local_kinds.size() != locals)
    return bad(at, fmt::format("co_localsplusnames has {} names, co_localspluskinds {} kinds", locals,
                               view.local_kinds.size()));
  if (view.posonly_count > view.arg_count)
    return bad(at, fmt::format("co_posonlyargcount {} is more than co_argcount {}", view.posonly_count,
                               view.arg_count));
  const int64_t parameters = int64_t{view.arg_count} + view.kwonly_count + 2;  // *args, **kwargs
  if (parameters > INT32_MAX || static_cast<size_t>(view.parameter_count()) > locals)
    return bad(at,
               fmt::format("{} + {} parameters, but {} locals", view.arg_count, view.kwonly_count, locals));
  if (view.code.empty() || view.code.size() % 2 != 0)
    return bad(at, fmt::format("co_code has {} bytes", view.code.size()));
  return ok_status();
}

Result<Sized> ObjectReader::code(size_t at, int depth) {
  auto tree = std::make_shared<CodeTree>();
  CodeView& view = tree->view;
  view.version = version_;
  size_t size = kObjectSize;
  SUTURE_TRY_VOID(counts(view));
  SUTURE_TRY_VOID(bytes("co_code", view.code, depth, size));
  SUTURE_TRY(constants, field("co_consts", Constant::Kind::kTuple, depth, size));
  SUTURE_TRY_VOID(names("co_names", view.names, depth, size));
  SUTURE_TRY_VOID(names("co_localsplusnames", view.local_names, depth, size));
  SUTURE_TRY_VOID(bytes("co_localspluskinds", view.local_kinds, depth, size));
  SUTURE_TRY_VOID(string("co_filename", view.filename, depth, size));
  SUTURE_TRY_VOID(string("co_name", view.name, depth, size));
  SUTURE_TRY_VOID(string("co_qualname", view.qualname, depth, size));
  SUTURE_TRY(first_line, reader_.number());
  view.first_line = first_line;
  SUTURE_TRY_VOID(bytes("co_linetable", view.line_table, depth, size));
  SUTURE_TRY_VOID(bytes("co_exceptiontable", view.exception_table, depth, size));
  SUTURE_TRY_VOID(check_code(view, at));
  tree->constants = *constants.items;
  for (const Constant& constant : tree->constants) view.constant_reprs.push_back(repr(constant));
  return Sized{Constant::nested(std::move(tree)), size};
}

}  // namespace

Result<CodeTreePtr> read_code(std::string_view marshalled, PythonVersion version,
                              const MarshalLimits& limits) {
  if (!has_opcode_table(version))
    return Error::unsupported("marshal",
                              fmt::format("code of Python {}.{} cannot be read; known are {}", version.major,
                                          version.minor, fmt::join(decodable_versions(), ", ")));
  ObjectReader reader(marshalled, version, limits);
  SUTURE_TRY(sized, reader.object(0));
  if (!sized.value.is(Constant::Kind::kCode)) return bad(0, "the object is no code object");
  return std::move(sized.value.code);
}

}  // namespace suture
