// Common subexpressions.
//
// Computes equal pure expressions once: same op, same operands, same attributes, and no store between that
// could have changed the memory they read.
//
//   %1 = sin f64[4] %0
//   %2 = sin f64[4] %0
//   %3 = add f64[4] %1, %2
//     =>
//   %1 = sin f64[4] %0
//   %3 = add f64[4] %1, %1
//
// Versions: every store starts a new version of the memory it writes, and an expression is keyed by the
// versions it reads. A store into one input starts a new version of all inputs, since callers may pass
// overlapping arrays. Requires: any level.  Keeps: two arrays that the user gets stay two arrays, and memory
// that is written is never shared. Leaves: commuted operands (a + b and b + a may differ in NaN payload).
#pragma once

#include "base/result.h"
#include "graph/graph.h"
#include "passes/applications.h"

namespace suture {

Result<bool> common_subexpressions(Graph& graph, Applications& applications);

}  // namespace suture
