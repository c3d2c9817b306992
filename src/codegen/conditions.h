// Which values of a kernel need help so that their floating-point flags are set.
//
// The C++ compiler takes arithmetic for free of side effects: it drops operations whose value nobody needs, moves them
// into the branch that needs them, and computes those on constants itself. All three lose flags, and with them NumPy's
// warnings:
//   np.where(y > 0, 1 / y, 0)        1 / y is needed in one branch only
//   a /= 0; a[:] = 1                 the quotient is overwritten
//   1 / np.where(x > 0, x, 0)        becomes x > 0 ? 1 / x : inf
//   255 / (x < y)                    becomes x < y ? 255 : inf
// How it is prevented
//   kept    A value that what the kernel returns does not surely need has its bits OR-ed into a variable that an empty
//           asm statement reads at the end: it is computed for every element, and loops still vectorise.
//   hidden  One operand is OR-ed with a zero that the compiler does not know, when all of them could be constants on
//           some path. An operation on one unknown value cannot be computed at compile time.
// Most kernels need neither: a value that reaches a store through arithmetic alone is needed, and a value out of memory
// is unknown.
#pragma once

#include <vector>

#include "loop/loop_program.h"

namespace suture {

// Where the expressions and stores of a nest stand, see kernel_writer.h.
struct NestLevels {
  std::vector<size_t> expr, store;
  std::vector<bool> late;
};

struct Conditions {
  std::vector<bool> kept;            // per expression
  std::vector<int> hidden;           // per expression: position of the operand, or -1
  std::vector<bool> kept_reduction;  // per reduction: its total
};

Conditions find_conditions(const Nest& nest, const NestLevels& levels);

}  // namespace suture
