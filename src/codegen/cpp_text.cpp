#include "codegen/cpp_text.h"

#include <fmt/core.h>

#include <cmath>
#include <limits>

#include "base/comment_text.h"

namespace suture {
namespace {

constexpr size_t kCommentColumn = 72;

// Words that mean something in C++: keywords and alternative tokens up to C++26, GNU's, and the macros of
// compilers that begin with no underscore.
constexpr std::string_view kLanguage =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t"
    " char32_t class compl concept const const_cast consteval constexpr constinit continue"
    " contract_assert co_await co_return co_yield decltype default delete do double dynamic_cast else"
    " enum explicit export extern false final float for friend goto if import inline int long module"
    " mutable namespace new noexcept not not_eq nullptr operator or or_eq override private protected"
    " public reflexpr register reinterpret_cast requires restrict return short signed sizeof static"
    " static_assert static_cast struct switch synchronized template this thread_local throw true try"
    " typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t"
    " while xor xor_eq linux unix i386 ";

// What the text of kernels itself calls, declares or names.
constexpr std::string_view kOfKernels =
    " int8_t uint8_t int16_t uint16_t int32_t uint32_t int64_t uint64_t PairwiseTree sum_block"
    " pairwise_sum lowest_value highest_value zeros_status opaque nothing kept_f64 kept_f32 status"
    " buffers sizes begin count piece asm_ main ";

// Beginnings that users' names never have. An underscore: all keywords and macros of compilers that kLanguage
// does not hold begin with one. The others belong to the prelude and to injected faults.
constexpr std::string_view kReservedBeginnings[] = {"_", "op_", "vm_", "reduce_", "SUTURE", "injected_fault"};

// The name, or one made from it that means nothing yet.
std::string unreserved(std::string name) {
  for (std::string_view beginning : kReservedBeginnings)
    if (name.starts_with(beginning)) return (name[0] == '_' ? "v" : "v_") + name;
  const std::string word = " " + name + " ";
  const bool reserved =
      kLanguage.find(word) != std::string_view::npos || kOfKernels.find(word) != std::string_view::npos;
  return reserved ? name + "_value" : name;
}

std::string sanitized(const std::string& wanted) {
  std::string name;
  for (unsigned char c : wanted) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (plain || name.empty() || name.back() != '_') name += plain ? static_cast<char>(c) : '_';
  }
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) name = "v" + name;
  return name;
}

template <class T>
std::string float_literal(T value, const char* suffix) {
  if (std::isnan(value)) return fmt::format("__builtin_nan{}(\"\")", suffix);
  if (std::isinf(value))
    return fmt::format("{}__builtin_inf{}()", value < 0 ? "(-" : "", suffix) + (value < 0 ? ")" : "");
  std::string text = fmt::format("{}", value);  // shortest text that reads back exactly
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  text += suffix;
  return std::signbit(value) ? "(" + text + ")" : text;
}

std::string integer_literal(const Scalar& value, DType dtype) {
  const std::string type(info(dtype).c_type);
  return std::visit(
      [&](auto number) -> std::string {
        const auto bits = static_cast<int64_t>(number);
        if (dtype == DType::kUInt64) return fmt::format("uint64_t({}u)", static_cast<uint64_t>(number));
        if (bits == std::numeric_limits<int64_t>::min()) return "int64_t(-9223372036854775807 - 1)";
        return fmt::format("{}({})", type, bits);
      },
      value);
}

}  // namespace

std::string NameScope::unique(const std::string& wanted) {
  const std::string stem = sanitized(wanted);
  std::string name = unreserved(stem);
  for (int n = 1; used_.count(name) > 0; ++n) name = unreserved(fmt::format("{}_{}", stem, n));
  used_.insert(name);
  return name;
}

std::string cpp_literal(const Scalar& value, DType dtype) {
  if (is_bool(dtype)) return std::visit([](auto number) { return number != 0; }, value) ? "true" : "false";
  if (dtype == DType::kFloat64)
    return float_literal(std::visit([](auto number) { return static_cast<double>(number); }, value), "");
  if (dtype == DType::kFloat32)
    return float_literal(std::visit([](auto number) { return static_cast<float>(number); }, value), "f");
  return integer_literal(value, dtype);
}

void CppWriter::line(std::string_view code, std::string_view comment) {
  ++lines_;
  if (code.empty() && comment.empty()) {
    text_ += "\n";
    return;
  }
  std::string text(static_cast<size_t>(depth_) * 2, ' ');
  text += code;
  if (!comment.empty()) {
    if (!code.empty()) text.append(text.size() < kCommentColumn ? kCommentColumn - text.size() : 2, ' ');
    text += "// ";
    text += comment_text(comment);
  }
  text_ += text + "\n";
}

}  // namespace suture
