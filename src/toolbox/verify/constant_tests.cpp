#include "toolbox/verify/constant_tests.h"

namespace suture::toolbox {
namespace {

using Kind = Constant::Kind;

bool is_integer(const Constant& constant) { return constant.is(Kind::kInt) || constant.is(Kind::kBool); }

template <class T>
std::optional<bool> compare(int operator_index, const T& a, const T& b) {
  switch (operator_index) {
    case 0: return a < b;
    case 1: return a <= b;
    case 2: return a == b;
    case 3: return a != b;
    case 4: return a > b;
    case 5: return a >= b;
    default: return std::nullopt;
  }
}

std::optional<bool> comparison_result(int operator_index, const Constant& a, const Constant& b) {
  if (is_integer(a) && is_integer(b)) return compare(operator_index, a.integer, b.integer);
  const bool equality = operator_index == 2 || operator_index == 3;
  if (equality && a.is(Kind::kStr) && b.is(Kind::kStr)) return compare(operator_index, a.text, b.text);
  if (equality && a.is(Kind::kNone) && b.is(Kind::kNone)) return operator_index == 2;
  return std::nullopt;
}

// Identity is certain for the singletons only.
std::optional<bool> identity(const Constant& a, const Constant& b) {
  const auto is_singleton = [](const Constant& c) {
    return c.is(Kind::kNone) || c.is(Kind::kBool) || c.is(Kind::kEllipsis);
  };
  if (is_singleton(a) || is_singleton(b)) return same_constant(a, b);
  return std::nullopt;
}

// Of a number in a tuple of numbers.
std::optional<bool> membership(const Constant& value, const Constant& container) {
  if (!is_integer(value) || !container.is(Kind::kTuple)) return std::nullopt;
  bool found = false;
  for (const Constant& item : *container.items) {
    if (!is_integer(item)) return std::nullopt;
    found = found || item.integer == value.integer;
  }
  return found;
}

}  // namespace

int constant_operands(Opcode opcode) {
  switch (opcode) {
    case Opcode::COMPARE_OP:
    case Opcode::CONTAINS_OP:
    case Opcode::IS_OP: return 2;
    case Opcode::POP_JUMP_IF_TRUE:
    case Opcode::POP_JUMP_IF_NONE:
    case Opcode::TO_BOOL:
    case Opcode::UNARY_NOT: return 1;
    default: return 0;
  }
}

std::optional<bool> truth(const Constant& constant) {
  switch (constant.kind) {
    case Kind::kNone: return false;
    case Kind::kBool:
    case Kind::kInt: return constant.integer != 0;
    case Kind::kFloat: return constant.real != 0;
    case Kind::kBigInt:
    case Kind::kEllipsis:
    case Kind::kCode: return true;
    case Kind::kStr:
    case Kind::kBytes: return !constant.text.empty();
    case Kind::kTuple:
    case Kind::kFrozenset: return !constant.items->empty();
    default: return std::nullopt;
  }
}

std::optional<bool> jump_is_taken(Opcode opcode, const Constant& operand) {
  if (opcode != Opcode::POP_JUMP_IF_NONE) return truth(operand);
  if (operand.is(Kind::kPlaceholder)) return std::nullopt;
  return operand.is(Kind::kNone);
}

std::optional<bool> constant_test(Opcode opcode, int number, const std::vector<const Constant*>& operands) {
  switch (opcode) {
    case Opcode::COMPARE_OP: return comparison_result(number, *operands[0], *operands[1]);
    case Opcode::IS_OP: {
      const std::optional<bool> same = identity(*operands[0], *operands[1]);
      return same ? std::optional(*same != (number != 0)) : std::nullopt;
    }
    case Opcode::CONTAINS_OP: {
      const std::optional<bool> inside = membership(*operands[0], *operands[1]);
      return inside ? std::optional(*inside != (number != 0)) : std::nullopt;
    }
    case Opcode::TO_BOOL: return truth(*operands[0]);
    case Opcode::UNARY_NOT: {
      const std::optional<bool> value = truth(*operands[0]);
      return value ? std::optional(!*value) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

}  // namespace suture::toolbox
