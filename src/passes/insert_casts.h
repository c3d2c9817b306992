// Insert casts.
//
// Makes every conversion that NumPy's promotion implies an explicit cast node, and marks the graph as
// lowered.
//
//   %y = add f64[4] %i, 1.5            ; %i : i32[4]
//   %s = sum i64 %i
//     =>
//   %c = cast f64[4] %i
//   %y = add f64[4] %c, 1.5
//   %d = cast i64[4] %i
//   %s = sum i64 %d  dtype=int64
//
// Rules
//   - Elementwise ops: every operand gets the loop dtype (the condition of where: bool). Logical and
//     predicate ops test each operand in its own dtype, so they need none.
//   - Constants are converted here when the conversion signals nothing; a weak Python int meets float32 by
//     way of float64, as NumPy converts it.
//   - sum and prod: the operand is cast to the accumulator. A reduction that keeps Attrs::dtype in the
//     lowered graph is one whose operand NumPy converts through its 8192-element buffer, so NumPy adds it up
//     chunk by chunk; without it the operand is read in place. Lowering must follow that order, see loop/.
//   - full, arange and store: the value is cast to the dtype of the memory that receives it.
//
// Requires: decomposed.  Keeps: values bit for bit, node order, names.  Leaves: casts that cancel out
// (fold_casts); Extern ops, whose operands NumPy converts itself.
#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace suture {

Result<bool> insert_casts(Graph& graph);

}  // namespace suture
