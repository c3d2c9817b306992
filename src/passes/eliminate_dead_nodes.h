// Eliminate dead nodes.
//
// Drops nodes whose value reaches neither an output nor a store, unless computing them can signal.
//
//   %1 = gt bool[4] %0, 0.0      ; read by nobody: dropped
//   %2 = log f64[4] %0           ; read by nobody, but NumPy would warn about log(-1): stays
//   outputs %0
//     =>
//   %2 = log f64[4] %0
//   outputs %0
//
// NumPy runs every call the user wrote and warns when it meets an invalid value, a division by zero or an
// overflow, whether or not the result is used. So a dead node stays when it can set a floating-point
// condition or report something about integers; which ops can is a column of ops.def.
// Requires: any level.  Keeps: placeholders, stores, node order.
#pragma once

#include "base/result.h"
#include "graph/graph.h"
#include "passes/applications.h"

namespace suture {

Result<bool> eliminate_dead_nodes(Graph& graph, Applications& applications);

}  // namespace suture
