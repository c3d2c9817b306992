#include "ops/operators.h"

namespace suture {

std::string_view operator_symbol(OpId op) {
  switch (op) {
#define SUTURE_BINARY_OPERATOR(id, symbol, op, ...) \
  case OpId::op: return symbol;
#define SUTURE_UNARY_OPERATOR(symbol, op, ...)     \
  case OpId::op: {                                 \
    static constexpr char text[] = {symbol, '\0'}; \
    return text;                                   \
  }
#define SUTURE_COMPARISON(symbol, op, ...) \
  case OpId::op: return symbol;
#include "ops/operators.def"
    default: return "";
  }
}

}  // namespace suture
