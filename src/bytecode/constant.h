// Constant: one entry of co_consts as plain data, exact: integers of any size, the bits of floats, text with
// lone surrogates. Immutable and cheap to copy; tuples, frozensets and code objects are shared.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace suture {

struct CodeTree;

struct Constant {
  enum class Kind : uint8_t {
    kNone,
    kEllipsis,
    kBool,
    kInt,     // fits int64_t
    kBigInt,  // does not
    kFloat,
    kComplex,
    kStr,
    kBytes,
    kTuple,
    kFrozenset,
    kCode,
    kPlaceholder,  // a live object that is no literal; its owner keeps it in a table, by number
  };
  using Items = std::vector<Constant>;

  Kind kind = Kind::kNone;
  int64_t integer = 0;  // kInt; kBool: 0 or 1; kPlaceholder: the number
  double real = 0;      // kFloat, kComplex
  double imaginary = 0;
  // kStr: UTF-8, lone surrogates encoded as if they were characters (Python's "surrogatepass"). kBytes: the
  // bytes. kBigInt: a Python literal, decimal up to kDecimalDigits digits and hexadecimal beyond, because the
  // compiler of Python reads no longer decimal ones.
  std::string text;
  std::shared_ptr<const Items> items;    // kTuple, kFrozenset (in the order of the file); never null there
  std::shared_ptr<const CodeTree> code;  // kCode

  bool is(Kind other) const { return kind == other; }

  static Constant none() { return {}; }
  static Constant ellipsis() { return {.kind = Kind::kEllipsis}; }
  static Constant boolean(bool value) { return {.kind = Kind::kBool, .integer = value}; }
  static Constant number(int64_t value) { return {.kind = Kind::kInt, .integer = value}; }
  static Constant floating(double value) { return {.kind = Kind::kFloat, .real = value}; }
  static Constant complex(double real, double imaginary) {
    return {.kind = Kind::kComplex, .real = real, .imaginary = imaginary};
  }
  static Constant str(std::string utf8) { return {.kind = Kind::kStr, .text = std::move(utf8)}; }
  static Constant bytes(std::string raw) { return {.kind = Kind::kBytes, .text = std::move(raw)}; }
  static Constant tuple(Items items) {
    return {.kind = Kind::kTuple, .items = std::make_shared<const Items>(std::move(items))};
  }
  static Constant frozenset(Items items) {
    return {.kind = Kind::kFrozenset, .items = std::make_shared<const Items>(std::move(items))};
  }
  static Constant nested(std::shared_ptr<const CodeTree> code) {
    return {.kind = Kind::kCode, .code = std::move(code)};
  }
};

// Decimal integer literals have at most so many digits (sys.int_info.default_max_str_digits).
inline constexpr int kDecimalDigits = 4300;

// Python's repr, with characters beyond ASCII as they are and lone surrogates escaped; a code object is
// "<code object NAME>", a placeholder "_K[3]". At most about `limit` bytes; longer forms end in "...".
std::string repr(const Constant& constant, size_t limit = 1000);

// A text that is equal for equal constants only; code objects count by identity.
std::string constant_key(const Constant& constant);

// Same type and same value, so that no program can tell them apart: 1, True and 1.0 differ, 0.0 and -0.0
// differ, NaNs are compared by their bits. Frozensets are compared as sets, code objects by identity.
bool same_constant(const Constant& a, const Constant& b);

}  // namespace suture
