// Fold constants.
//
// Evaluates scalar casts, signs, sums, differences and products of constants when the result is exact and
// signals nothing.
//
//   %1 = cast f64 2            ; int64
//   %2 = mul f64 %1, 0.5
//     =>
//   %2 = 1.0
//
// "Exact" because a rounded result would need the kernel's rounding, and because NumPy warns about overflow,
// so those stay. Requires: lowered level.  Keeps: dtype and class of the result.  Leaves: everything with an
// array in it.
#pragma once

#include "base/result.h"
#include "graph/graph.h"
#include "passes/applications.h"

namespace suture {

Result<bool> fold_constants(Graph& graph, Applications& applications);

}  // namespace suture
