// Elements of the reference interpreter: one value of any dtype in the widest type of its kind, and the ops
// on them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/dtype.h"
#include "ops/op_info.h"

namespace suture {

struct Element {
  enum class Kind : uint8_t { kBool, kInt, kUInt, kFloat } kind = Kind::kFloat;
  union {
    int64_t i;
    uint64_t u;
    double f = 0;
  };

  static Element of(bool value);
  static Element of(int64_t value);
  static Element of(uint64_t value);
  static Element of(double value);
  static Element zero(DType dtype);
  static Element load(const void* address, DType dtype);
  void store(void* address, DType dtype) const;  // converts as NumPy casts on x86-64

  bool truth() const;
  double as_double() const;
};

// What NumPy says when it assigns the scalar `value`, by way of int(value), to an array of the signed integers `dtype`;
// empty when int(value) fits.
std::string int_refusal(const Element& value, DType dtype);
// out = op(operands) in the loop dtype. False when the op is not a scalar op.
bool apply_elementwise(OpId op, DType loop, std::span<const Element> operands, Element& out);
// Reduces `elements`, one after the other, to one value of `result`. False when there is nothing to reduce and the op
// has no identity.
bool combine(OpId op, DType result, std::span<const Element> elements, Element& out);
// One run of floats in NumPy's order (sum_order.h, rule 3).
Element pairwise_sum(DType result, std::span<const Element> elements);
Element arange_element(const Element& start, const Element& step, int64_t index, DType dtype);

}  // namespace suture
