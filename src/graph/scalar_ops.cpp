#include "graph/scalar_ops.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ops/promotion.h"

namespace suture {
namespace {

using Kind = Element::Kind;

Kind kind_of(DType dtype) {
  switch (info(dtype).kind) {
    case 'b': return Kind::kBool;
    case 'i': return Kind::kInt;
    case 'u': return Kind::kUInt;
    default: return Kind::kFloat;
  }
}

template <class T>
T read(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}
template <class T>
void write(void* address, T value) {
  std::memcpy(address, &value, sizeof value);
}

// x86-64 converts what does not fit to the smallest integer of 64 bits; narrower integers keep its low bits.
int64_t to_int64(double value) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0))
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}
// int32 and narrower go through a 32-bit conversion in NumPy's loops.
int64_t to_int32(double value) {
  if (!(value > -2147483649.0 && value < 2147483648.0)) return std::numeric_limits<int32_t>::min();
  return static_cast<int32_t>(value);
}
uint64_t to_uint64(double value) {
  if (value >= 9223372036854775808.0 && value < 18446744073709551616.0) return static_cast<uint64_t>(value);
  return static_cast<uint64_t>(to_int64(value));
}

int64_t bits_of_integer(const Element& e, DType dtype) {
  switch (e.kind) {
    case Kind::kBool:
    case Kind::kInt: return e.i;
    case Kind::kUInt: return static_cast<int64_t>(e.u);
    case Kind::kFloat: break;
  }
  if (dtype == DType::kUInt64) return static_cast<int64_t>(to_uint64(e.f));
  return itemsize(dtype) < 4 || dtype == DType::kInt32 ? to_int32(e.f) : to_int64(e.f);
}

// Wraps to the width of `dtype`.
Element wrapped(uint64_t bits, DType dtype) {
  unsigned char memory[8];
  std::memcpy(memory, &bits, sizeof bits);
  return Element::load(memory, dtype);
}

Element rounded(double value, DType dtype) {
  return Element::of(dtype == DType::kFloat32 ? static_cast<double>(static_cast<float>(value)) : value);
}

int compare(const Element& a, const Element& b) {  // -1 0 1; 2 unordered
  if (a.kind == Kind::kFloat) return a.f < b.f ? -1 : a.f > b.f ? 1 : a.f == b.f ? 0 : 2;
  if (a.kind == Kind::kUInt) return a.u < b.u ? -1 : a.u > b.u;
  return a.i < b.i ? -1 : a.i > b.i;
}

// --- floats ------------------------------------------------------------------------------------------------
double float_remainder(double a, double b) {  // sign of the divisor
  double mod = std::fmod(a, b);
  if (b == 0) return mod;
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) mod += b;
    return mod;
  }
  return std::copysign(0.0, b);
}
double float_floor_divide(double a, double b) {
  if (b == 0) return a / b;
  double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
  if (div == 0) return std::copysign(0.0, a / b);
  double floor_div = std::floor(div);
  return div - floor_div > 0.5 ? floor_div + 1 : floor_div;
}
double maximum(double a, double b) { return a >= b || std::isnan(a) ? a : b; }
double minimum(double a, double b) { return a <= b || std::isnan(a) ? a : b; }

bool float_binary(OpId op, double a, double b, double& out) {
  switch (op) {
    case OpId::kAdd: out = a + b; return true;
    case OpId::kSubtract: out = a - b; return true;
    case OpId::kMultiply: out = a * b; return true;
    case OpId::kDivide: out = a / b; return true;
    case OpId::kFloorDivide: out = float_floor_divide(a, b); return true;
    case OpId::kRemainder: out = float_remainder(a, b); return true;
    case OpId::kFmod: out = std::fmod(a, b); return true;
    case OpId::kPower: out = std::pow(a, b); return true;
    case OpId::kHeaviside: out = std::isnan(a) ? a : a == 0 ? b : a < 0 ? 0.0 : 1.0; return true;
    case OpId::kCopysign: out = std::copysign(a, b); return true;
    case OpId::kMinimum: out = minimum(a, b); return true;
    case OpId::kMaximum: out = maximum(a, b); return true;
    case OpId::kFmin: out = std::isnan(b) || a <= b ? a : b; return true;
    case OpId::kFmax: out = std::isnan(b) || a >= b ? a : b; return true;
    case OpId::kArctan2: out = std::atan2(a, b); return true;
    case OpId::kHypot: out = std::hypot(a, b); return true;
    case OpId::kLogaddexp: {
      const double d = a - b;
      out = a == b   ? a + 0.693147180559945309417
            : d > 0  ? a + std::log1p(std::exp(-d))
            : d <= 0 ? b + std::log1p(std::exp(d))
                     : d;
      return true;
    }
    default: return false;
  }
}

bool float_unary(OpId op, double x, double& out) {
  constexpr double kPi = 3.141592653589793238462643383279502884;
  switch (op) {
    case OpId::kNegative: out = -x; return true;
    case OpId::kPositive:
    case OpId::kCopy: out = x; return true;
    case OpId::kAbsolute:
    case OpId::kFabs: out = std::fabs(x); return true;
    case OpId::kSign: out = x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? 0.0 : x; return true;
    case OpId::kSquare: out = x * x; return true;
    case OpId::kReciprocal: out = 1.0 / x; return true;
    case OpId::kSqrt: out = std::sqrt(x); return true;
    case OpId::kFloor: out = std::floor(x); return true;
    case OpId::kCeil: out = std::ceil(x); return true;
    case OpId::kTrunc: out = std::trunc(x); return true;
    case OpId::kRint: out = std::nearbyint(x); return true;
    case OpId::kExp: out = std::exp(x); return true;
    case OpId::kExp2: out = std::exp2(x); return true;
    case OpId::kExpm1: out = std::expm1(x); return true;
    case OpId::kLog: out = std::log(x); return true;
    case OpId::kLog2: out = std::log2(x); return true;
    case OpId::kLog10: out = std::log10(x); return true;
    case OpId::kLog1p: out = std::log1p(x); return true;
    case OpId::kSin: out = std::sin(x); return true;
    case OpId::kCos: out = std::cos(x); return true;
    case OpId::kTan: out = std::tan(x); return true;
    case OpId::kArcsin: out = std::asin(x); return true;
    case OpId::kArccos: out = std::acos(x); return true;
    case OpId::kArctan: out = std::atan(x); return true;
    case OpId::kSinh: out = std::sinh(x); return true;
    case OpId::kCosh: out = std::cosh(x); return true;
    case OpId::kTanh: out = std::tanh(x); return true;
    case OpId::kArcsinh: out = std::asinh(x); return true;
    case OpId::kArccosh: out = std::acosh(x); return true;
    case OpId::kArctanh: out = std::atanh(x); return true;
    case OpId::kCbrt: out = std::cbrt(x); return true;
    case OpId::kDeg2rad: out = x * (kPi / 180.0); return true;
    case OpId::kRad2deg: out = x * (180.0 / kPi); return true;
    default: return false;
  }
}

bool apply_float(OpId op, DType loop, std::span<const Element> in, Element& out) {
  double value = 0;
  // NumPy converts degrees with the constant rounded to the loop's own precision.
  if (loop == DType::kFloat32 && (op == OpId::kDeg2rad || op == OpId::kRad2deg)) {
    constexpr float kPiF = 3.141592653589793f;
    const float x = static_cast<float>(in[0].f);
    out = Element::of(static_cast<double>(op == OpId::kDeg2rad ? x * (kPiF / 180.0f) : x * (180.0f / kPiF)));
    return true;
  }
  const bool done = in.size() >= 2 && info(op).arity == 2 ? float_binary(op, in[0].f, in[1].f, value)
                                                          : float_unary(op, in[0].f, value);
  if (done) out = rounded(value, loop);
  return done;
}

// --- integers ----------------------------------------------------------------------------------------------
uint64_t power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

uint64_t int_divide(OpId op, const Element& a, const Element& b) {
  if (b.u == 0) return 0;
  if (a.kind == Kind::kUInt) return op == OpId::kFloorDivide ? a.u / b.u : a.u % b.u;
  if (b.i == -1) return op == OpId::kFloorDivide ? 0 - a.u : 0;
  const int64_t quotient = a.i / b.i, rest = a.i % b.i;
  if (op == OpId::kFmod) return static_cast<uint64_t>(rest);
  const bool adjust = rest != 0 && (rest < 0) != (b.i < 0);
  return static_cast<uint64_t>(op == OpId::kFloorDivide ? quotient - adjust : rest + (adjust ? b.i : 0));
}

uint64_t shift(OpId op, const Element& a, const Element& b, DType loop) {
  const auto width = static_cast<uint64_t>(itemsize(loop) * 8);
  const bool beyond = b.u >= width;
  if (op == OpId::kLeftShift) return beyond ? 0 : a.u << b.u;
  if (a.kind == Kind::kUInt) return beyond ? 0 : a.u >> b.u;
  return static_cast<uint64_t>(beyond ? (a.i < 0 ? -1 : 0) : a.i >> b.u);
}

bool int_binary(OpId op, DType loop, const Element& a, const Element& b, uint64_t& out) {
  switch (op) {
    case OpId::kAdd: out = a.u + b.u; return true;
    case OpId::kSubtract: out = a.u - b.u; return true;
    case OpId::kMultiply: out = a.u * b.u; return true;
    case OpId::kFloorDivide:
    case OpId::kRemainder:
    case OpId::kFmod: out = int_divide(op, a, b); return true;
    case OpId::kPower: out = power(a.u, b.u); return true;
    case OpId::kBitAnd: out = a.u & b.u; return true;
    case OpId::kBitOr: out = a.u | b.u; return true;
    case OpId::kBitXor: out = a.u ^ b.u; return true;
    case OpId::kLeftShift:
    case OpId::kRightShift: out = shift(op, a, b, loop); return true;
    case OpId::kMinimum:
    case OpId::kFmin: out = compare(a, b) <= 0 ? a.u : b.u; return true;
    case OpId::kMaximum:
    case OpId::kFmax: out = compare(a, b) >= 0 ? a.u : b.u; return true;
    default: return false;
  }
}

bool int_unary(OpId op, const Element& x, uint64_t& out) {
  const bool negative = x.kind == Kind::kInt && x.i < 0;
  switch (op) {
    case OpId::kNegative: out = 0 - x.u; return true;
    case OpId::kPositive:
    case OpId::kCopy:
    case OpId::kFloor:
    case OpId::kCeil:
    case OpId::kTrunc: out = x.u; return true;
    case OpId::kAbsolute: out = negative ? 0 - x.u : x.u; return true;
    case OpId::kSign: out = negative ? ~uint64_t{0} : x.u != 0; return true;
    case OpId::kSquare: out = x.u * x.u; return true;
    case OpId::kReciprocal: out = x.u == 1 ? 1 : (negative && x.i == -1) ? ~uint64_t{0} : 0; return true;
    case OpId::kInvert: out = ~x.u; return true;
    default: return false;
  }
}

bool apply_bool(OpId op, std::span<const Element> in, Element& out) {
  const bool a = in[0].truth(), b = in.size() > 1 && in[1].truth();
  switch (op) {
    case OpId::kAdd:
    case OpId::kBitOr:
    case OpId::kMaximum:
    case OpId::kFmax: out = Element::of(a || b); return true;
    case OpId::kMultiply:
    case OpId::kBitAnd:
    case OpId::kMinimum:
    case OpId::kFmin: out = Element::of(a && b); return true;
    case OpId::kBitXor: out = Element::of(a != b); return true;
    case OpId::kInvert: out = Element::of(!a); return true;
    case OpId::kAbsolute:
    case OpId::kCopy:
    case OpId::kFloor:
    case OpId::kCeil:
    case OpId::kTrunc: out = Element::of(a); return true;
    default: return false;
  }
}

// Ops whose result is bool whatever the operands are.
bool apply_test(OpId op, std::span<const Element> in, Element& out) {
  const Element& a = in[0];
  const bool is_float = a.kind == Kind::kFloat;
  switch (op) {
    case OpId::kLess: out = Element::of(compare(a, in[1]) == -1); return true;
    case OpId::kLessEqual: out = Element::of(compare(a, in[1]) <= 0); return true;
    case OpId::kGreater: out = Element::of(compare(a, in[1]) == 1); return true;
    case OpId::kGreaterEqual:
      out = Element::of(compare(a, in[1]) == 0 || compare(a, in[1]) == 1);
      return true;
    case OpId::kEqual: out = Element::of(compare(a, in[1]) == 0); return true;
    case OpId::kNotEqual: out = Element::of(compare(a, in[1]) != 0); return true;
    case OpId::kLogicalAnd: out = Element::of(a.truth() && in[1].truth()); return true;
    case OpId::kLogicalOr: out = Element::of(a.truth() || in[1].truth()); return true;
    case OpId::kLogicalXor: out = Element::of(a.truth() != in[1].truth()); return true;
    case OpId::kLogicalNot: out = Element::of(!a.truth()); return true;
    case OpId::kIsNan: out = Element::of(is_float && std::isnan(a.f)); return true;
    case OpId::kIsInf: out = Element::of(is_float && std::isinf(a.f)); return true;
    case OpId::kIsFinite: out = Element::of(!is_float || std::isfinite(a.f)); return true;
    case OpId::kSignbit:
      out = Element::of(is_float ? std::signbit(a.f) : a.kind == Kind::kInt && a.i < 0);
      return true;
    default: return false;
  }
}

// --- reductions --------------------------------------------------------------------------------------------
// NumPy's pairwise order: below 8 in sequence; up to 128 eight accumulators; above, halves (a multiple of 8
// first).
template <class T>
T sum_pairwise(std::span<const Element> e) {
  const size_t n = e.size();
  auto value = [&](size_t i) { return static_cast<T>(e[i].f); };
  if (n < 8) {
    T sum = n == 0 ? T{0} : value(0);
    for (size_t i = 1; i < n; ++i) sum += value(i);
    return sum;
  }
  if (n > 128) {
    size_t half = n / 2;
    half -= half % 8;
    return sum_pairwise<T>(e.first(half)) + sum_pairwise<T>(e.subspan(half));
  }
  T r[8];
  for (size_t k = 0; k < 8; ++k) r[k] = value(k);
  size_t i = 8;
  for (; i + 8 <= n; i += 8)
    for (size_t k = 0; k < 8; ++k) r[k] += value(i + k);
  T sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
  for (; i < n; ++i) sum += value(i);
  return sum;
}

Element fold(OpId op, DType result, std::span<const Element> elements, Element start) {
  Element out = start;
  for (const Element& e : elements) {
    const Element pair[2] = {out, e};
    apply_elementwise(op, result, pair, out);
  }
  return out;
}

bool better(OpId op, const Element& candidate, const Element& best) {
  if (best.kind == Kind::kFloat && std::isnan(best.f)) return false;
  if (candidate.kind == Kind::kFloat && std::isnan(candidate.f)) return true;
  return compare(candidate, best) == (op == OpId::kArgmax ? 1 : -1);
}

}  // namespace

Element Element::of(bool value) {
  Element e;
  e.kind = Kind::kBool;
  e.i = value;
  return e;
}
Element Element::of(int64_t value) {
  Element e;
  e.kind = Kind::kInt;
  e.i = value;
  return e;
}
Element Element::of(uint64_t value) {
  Element e;
  e.kind = Kind::kUInt;
  e.u = value;
  return e;
}
Element Element::of(double value) {
  Element e;
  e.kind = Kind::kFloat;
  e.f = value;
  return e;
}
Element Element::zero(DType dtype) { return wrapped(0, dtype); }

Element Element::load(const void* address, DType dtype) {
  switch (dtype) {
    case DType::kBool: return of(read<uint8_t>(address) != 0);
    case DType::kInt8: return of(int64_t{read<int8_t>(address)});
    case DType::kInt16: return of(int64_t{read<int16_t>(address)});
    case DType::kInt32: return of(int64_t{read<int32_t>(address)});
    case DType::kInt64: return of(read<int64_t>(address));
    case DType::kUInt8: return of(uint64_t{read<uint8_t>(address)});
    case DType::kUInt16: return of(uint64_t{read<uint16_t>(address)});
    case DType::kUInt32: return of(uint64_t{read<uint32_t>(address)});
    case DType::kUInt64: return of(read<uint64_t>(address));
    case DType::kFloat32: return of(static_cast<double>(read<float>(address)));
    case DType::kFloat64: return of(read<double>(address));
  }
  return {};
}

void Element::store(void* address, DType dtype) const {
  switch (dtype) {
    case DType::kBool: return write<uint8_t>(address, truth());
    case DType::kFloat32: return write<float>(address, static_cast<float>(as_double()));
    case DType::kFloat64: return write<double>(address, as_double());
    default: break;
  }
  const int64_t bits = bits_of_integer(*this, dtype);
  std::memcpy(address, &bits,
              static_cast<size_t>(itemsize(dtype)));  // little endian: the low bytes come first
}

bool Element::truth() const { return kind == Kind::kFloat ? f != 0 : u != 0; }
double Element::as_double() const {
  if (kind == Kind::kFloat) return f;
  return kind == Kind::kUInt ? static_cast<double>(u) : static_cast<double>(i);
}

std::string int_refusal(const Element& value, DType dtype) {
  if (value.kind == Kind::kFloat && std::isnan(value.f)) return "cannot convert float NaN to integer";
  if (value.kind == Kind::kFloat && std::isinf(value.f)) return "cannot convert float infinity to integer";
  const bool in_long = value.kind == Kind::kFloat
                           ? value.f >= -9223372036854775808.0 && value.f < 9223372036854775808.0
                       : value.kind == Kind::kUInt ? value.u <= uint64_t{INT64_MAX}
                                                   : true;
  if (!in_long) return "Python int too large to convert to C long";
  const int64_t number = bits_of_integer(value, DType::kInt64);
  if (fits(number, dtype)) return "";
  return fmt::format("Python integer {} out of bounds for {}", number, info(dtype).numpy_name);
}

bool apply_elementwise(OpId op, DType loop, std::span<const Element> operands, Element& out) {
  if (op == OpId::kWhere) {
    out = operands[0].truth() ? operands[1] : operands[2];
    return true;
  }
  if (apply_test(op, operands, out)) return true;
  if (kind_of(loop) == Kind::kBool) return apply_bool(op, operands, out);
  if (kind_of(loop) == Kind::kFloat) return apply_float(op, loop, operands, out);
  uint64_t bits = 0;
  const bool done = info(op).arity == 2 ? int_binary(op, loop, operands[0], operands[1], bits)
                                        : int_unary(op, operands[0], bits);
  if (done) out = wrapped(bits, loop);
  return done;
}

Element pairwise_sum(DType result, std::span<const Element> elements) {
  return Element::of(result == DType::kFloat32 ? static_cast<double>(sum_pairwise<float>(elements))
                                               : sum_pairwise<double>(elements));
}

bool combine(OpId op, DType result, std::span<const Element> elements, Element& out) {
  switch (op) {
    case OpId::kSum: out = fold(OpId::kAdd, result, elements, Element::zero(result)); return true;
    case OpId::kProd: {
      Element one;
      unsigned char memory[8];
      Element::of(int64_t{1}).store(memory, result);
      one = Element::load(memory, result);
      out = fold(OpId::kMultiply, result, elements, one);
      return true;
    }
    case OpId::kAny:
    case OpId::kAll: {
      bool any = false, all = true;
      for (const Element& e : elements) (e.truth() ? any : all) = e.truth();
      out = Element::of(op == OpId::kAny ? any : all);
      return true;
    }
    case OpId::kMax:
    case OpId::kMin:
      if (elements.empty()) return false;
      out =
          fold(op == OpId::kMax ? OpId::kMaximum : OpId::kMinimum, result, elements.subspan(1), elements[0]);
      return true;
    case OpId::kArgmax:
    case OpId::kArgmin: {
      if (elements.empty()) return false;
      size_t best = 0;
      for (size_t i = 1; i < elements.size(); ++i)
        if (better(op, elements[i], elements[best])) best = i;
      out = Element::of(static_cast<int64_t>(best));
      return true;
    }
    default: return false;
  }
}

Element arange_element(const Element& start, const Element& step, int64_t index, DType dtype) {
  if (kind_of(dtype) != Kind::kFloat) {
    return wrapped(static_cast<uint64_t>(bits_of_integer(start, dtype)) +
                       static_cast<uint64_t>(index) * static_cast<uint64_t>(bits_of_integer(step, dtype)),
                   dtype);
  }
  // NumPy stores start and start + step, then fills with start + i * (second - first) in the dtype itself.
  const double first = rounded(start.as_double(), dtype).f;
  const double second = rounded(start.as_double() + step.as_double(), dtype).f;
  if (index == 0) return Element::of(first);
  if (index == 1) return Element::of(second);
  const double delta = rounded(second - first, dtype).f;
  return rounded(first + rounded(static_cast<double>(index) * delta, dtype).f, dtype);
}

}  // namespace suture
