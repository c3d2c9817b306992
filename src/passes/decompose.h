// Decompose.
//
// Rewrites every Composite op, and powers by the exponents for which NumPy has loops of their own, into
// Prims.
//
//   %m = mean f64[4] %x  axes=[1]         ; %x : f64[4, 8]
//     =>
//   %s = sum f64[4] %x  axes=[1]
//   %m = div f64[4] %s, 8.0
//
// Each rewriting repeats the steps of NumPy's own implementation, with the dtypes it computes in, because the
// result must have the same bits: numpy/_core/_methods.py for mean, var, std and clip, PyArray_Round for
// round, numpy.linspace, the clip and power loops of numpy/_core/src/umath. Where the steps differ from the
// textbook, the function says so.
//
// Requires: captured level.  Keeps: dtype, shape, class and strides of every rewritten node.  Leaves:
// implicit promotion of the operands (insert_casts makes it explicit).
#pragma once

#include "base/result.h"
#include "graph/graph.h"

namespace suture {

Result<bool> decompose(Graph& graph);

}  // namespace suture
