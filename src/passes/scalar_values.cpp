// Scalar values of constants: see scalar_values.h.
#include "passes/scalar_values.h"

#include <bit>
#include <cmath>
#include <limits>

namespace suture {

namespace {

// Inclusive range of an integer dtype; the unsigned maximum is kept apart because it does not fit int64_t.
struct IntegerRange {
  int64_t min;
  uint64_t max;
};

IntegerRange range_of(DType dtype) {
  const int bits = 8 * itemsize(dtype);
  if (is_unsigned(dtype)) return {0, std::numeric_limits<uint64_t>::max() >> (64 - bits)};
  return {std::numeric_limits<int64_t>::min() >> (64 - bits),
          std::numeric_limits<uint64_t>::max() >> (65 - bits)};
}

std::optional<Scalar> integer_to(int64_t low, bool negative, uint64_t magnitude, DType to) {
  const IntegerRange range = range_of(to);
  if (negative ? low < range.min : magnitude > range.max) return std::nullopt;
  if (is_unsigned(to)) return Scalar(magnitude);
  return Scalar(negative ? low : static_cast<int64_t>(magnitude));
}

std::optional<Scalar> double_to_integer(double value, DType to) {
  if (!std::isfinite(value) || std::fabs(value) >= 9007199254740992.0) return std::nullopt;
  const auto whole = static_cast<int64_t>(value);
  if (static_cast<double>(whole) != value) return std::nullopt;  // truncation is left to the kernel
  return integer_to(whole, whole < 0, static_cast<uint64_t>(whole), to);
}

std::optional<Scalar> double_to_float(double value, DType to) {
  if (to == DType::kFloat64) return Scalar(value);
  const auto narrow = static_cast<float>(value);
  if (std::isfinite(value) && !std::isfinite(narrow)) return std::nullopt;
  if (value != 0.0 && std::fabs(narrow) < std::numeric_limits<float>::min())
    return std::nullopt;  // underflow signals
  return Scalar(static_cast<double>(narrow));
}

}  // namespace

double scalar_as_double(const Scalar& value) {
  return std::visit([](auto v) { return static_cast<double>(v); }, value);
}

std::optional<Scalar> convert_scalar(const Scalar& value, DType to) {
  if (is_bool(to)) return Scalar(std::visit([](auto v) { return v != decltype(v)(0); }, value));
  if (is_float(to)) return double_to_float(scalar_as_double(value), to);
  if (const auto* b = std::get_if<bool>(&value)) return integer_to(*b, false, *b, to);
  if (const auto* i = std::get_if<int64_t>(&value))
    return integer_to(*i, *i < 0, static_cast<uint64_t>(*i), to);
  if (const auto* u = std::get_if<uint64_t>(&value)) return integer_to(0, false, *u, to);
  return double_to_integer(std::get<double>(value), to);
}

std::optional<Scalar> constant_of(const Node& node) {
  return node.op == OpId::kConstant ? node.attrs.scalar : std::nullopt;
}

bool same_bits(const Scalar& a, const Scalar& b) {
  if (a.index() != b.index()) return false;
  if (const auto* x = std::get_if<double>(&a)) {
    return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(std::get<double>(b));
  }
  return a == b;
}

}  // namespace suture
