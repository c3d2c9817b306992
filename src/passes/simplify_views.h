// Simplify views.
//
// Merges transpose(transpose(x)) and reshape(reshape(x)), and drops views that show all of x as it is.
//
//   %1 = transpose f64[4, 3] %0  axes=[1, 0]
//   %2 = transpose f64[3, 4] %1  axes=[1, 0]
//   %3 = neg f64[3, 4] %2
//     =>
//   %3 = neg f64[3, 4] %0
//
// Why: each view is one more buffer for lowering to see through, and an identity view hides that two reads
// are the same. Requires: views really share memory (a reshape that copies is a copy node).  Keeps: a view
// that is an output stays a view of its own, because the user can tell it from its base.  Leaves: slices of
// slices, whose strides lowering multiplies out.
#pragma once

#include "base/result.h"
#include "graph/graph.h"
#include "passes/applications.h"

namespace suture {

Result<bool> simplify_views(Graph& graph, Applications& applications);

}  // namespace suture
