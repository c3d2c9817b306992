// Fold casts.
//
// Removes a cast whose result type equals its input type, and merges cast(cast(x)) when the inner cast loses
// nothing.
//
//   %1 = cast f64[4] %0        ; %0 : f32[4]
//   %2 = cast f32[4] %1
//   %3 = neg f32[4] %2
//     =>
//   %3 = neg f32[4] %0
//
// Why: promotion inserts casts that mixed-precision code undoes at once; they cost a conversion per element.
// Requires: lowered level.  Keeps: values bit for bit, node order; a cast that the user sees as an array of
// its own (an output, or written later) stays.  Leaves: casts across views; the inner cast itself
// (eliminate_dead_nodes drops it).
#pragma once

#include "base/result.h"
#include "graph/graph.h"
#include "passes/applications.h"

namespace suture {

Result<bool> fold_casts(Graph& graph, Applications& applications);

}  // namespace suture
