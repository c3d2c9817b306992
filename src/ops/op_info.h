// OpInfo: what ops.def says about an op.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace suture {

enum class OpId : uint8_t {
#define SUTURE_OP(id, ...) id,
#include "ops/ops.def"
};

enum class OpKind : uint8_t { Input, Elementwise, Reduce, View, Create, Contract, Effect };
enum class OpLevel : uint8_t { Prim, Composite, Extern };

// How the result dtype follows from the operand dtypes. Checked against NumPy for every op and dtype
// combination.
enum class TypeRule : uint8_t {
  None,         // no rule: the builder sets the type
  Arith,        // promoted; bool allowed
  Subtract,     // promoted; TypeError when all bool
  TrueDivide,   // promoted; integers and bool -> float64
  FloorDivide,  // promoted; bool -> int8
  Power,        // promoted; bool -> int8
  FloatPower,   // at least float64
  FloatUnary,   // floating; int8/uint8/bool -> float16 (not supported here), 16 bit -> float32, wider ->
                // float64
  FloatBinary,  // the first of float16, float32, float64 that holds both operands
  Negative,     // unchanged; TypeError for bool
  Square,       // unchanged; bool -> int8
  Keep,         // unchanged
  Compare,  // promoted for the comparison; result bool. uint64 against a signed dtype has a loop of its own:
            // not supported
  Logical,  // the truth of each operand counts; loop bool when the operands differ in dtype; result bool
  Bitwise,  // promoted; TypeError for floats
  Shift,    // promoted integers; bool -> int8
  Predicate,  // operand keeps its dtype; result bool
  SignBit,    // floating as FloatUnary; result bool
  Rounding,   // unchanged
  Round,      // unchanged; bool -> float16 (not supported here)
  Where,      // operand 0 by its truth, result promotion of operands 1 and 2
  Cast,       // Attrs::dtype
  SumLike,    // bool and small integers -> int64/uint64; or Attrs::dtype
  Index,      // int64
  Mean,       // integers and bool -> float64; or Attrs::dtype
};

// See the columns of ops.def.
enum class OpSignals : uint8_t { Never, Flags, Status, Build };
enum class ScalarForm : uint8_t { Plain, Checked };
enum class OperandUse : uint8_t { Whole, First, Choice };

struct OpInfo {
  OpId id;
  std::string_view enumerator;  // "kAdd"
  std::string_view name;        // "add"
  OpKind kind;
  OpLevel level;
  int arity;
  std::string_view numpy;  // "np.add"
  TypeRule rule;
  int ulp64, ulp32;
  OpSignals signals;
  ScalarForm form;
  OperandUse reads;
  std::string_view cpp;
  std::string_view doc;
};

const OpInfo& info(OpId op);
std::span<const OpInfo> all_ops();
std::optional<OpId> op_from_name(std::string_view name);

}  // namespace suture
