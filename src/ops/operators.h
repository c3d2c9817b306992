// What operators.def says about Python's operators.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "ops/op_info.h"

namespace suture {

// Numbered as the argument of BINARY_OP.
enum class BinaryOperator : uint8_t {
#define SUTURE_BINARY_OPERATOR(id, ...) id,
#include "ops/operators.def"
};

struct BinaryOperatorInfo {
  BinaryOperator id;
  std::string_view symbol;
  OpId op;
  std::string_view name;  // operator.<name>
  const char *method, *reflected, *in_place;
};
struct UnaryOperatorInfo {
  char symbol;
  OpId op;
  std::string_view name;
  const char* method;
};
struct ComparisonInfo {
  std::string_view symbol;
  OpId op;
  std::string_view name;
  int number;  // Py_LT ...
};

inline constexpr std::array kBinaryOperators = {
#define SUTURE_BINARY_OPERATOR(id, symbol, op, name, method, reflected, in_place, call) \
  BinaryOperatorInfo{BinaryOperator::id, symbol, OpId::op, name, method, reflected, in_place},
#include "ops/operators.def"
};
inline constexpr std::array kUnaryOperators = {
#define SUTURE_UNARY_OPERATOR(symbol, op, name, method, call) \
  UnaryOperatorInfo{symbol, OpId::op, name, method},
#include "ops/operators.def"
};
inline constexpr std::array kComparisons = {
#define SUTURE_COMPARISON(symbol, op, name, number) ComparisonInfo{symbol, OpId::op, name, number},
#include "ops/operators.def"
};

inline const BinaryOperatorInfo& info(BinaryOperator op) { return kBinaryOperators[static_cast<size_t>(op)]; }

// An operator of BINARY_OP with its in-place form told apart.
struct WrittenOperator {
  BinaryOperator op = BinaryOperator::kAdd;
  bool in_place = false;

  constexpr WrittenOperator(BinaryOperator plain, bool writes = false)
      : op(plain), in_place(writes) {}  // NOLINT: implicit on purpose
  static constexpr WrittenOperator of_bytecode(int argument) {
    const auto number = static_cast<size_t>(argument);
    return {static_cast<BinaryOperator>(number % kBinaryOperators.size()), number >= kBinaryOperators.size()};
  }
  std::string symbol() const { return std::string(info(op).symbol) + (in_place ? "=" : ""); }
};

// The operator as Python writes it between (or before) operands of this op; "" when it has none.
std::string_view operator_symbol(OpId op);

}  // namespace suture
