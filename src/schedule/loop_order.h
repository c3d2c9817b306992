// Loop order: puts the axes of a fused nest in the order in which the kernel will loop, drops axes of extent
// 1 and merges neighbours that every access walks without a gap, so that a fully contiguous nest becomes one
// loop.
//
//   for [32, 32]  x[32*i0 + i1], y[32*i0 + i1]   =>   for [1024]  x[i0], y[i0]
//
// Elementwise nests loop in the stride order of their result (largest stride outermost). Nests with
// reductions loop in their ReduceOrder; axes merge only inside its `outer` part or inside its `run` part.
#pragma once

#include "loop/loop_program.h"

namespace suture {

// Per loop of the result: the axes it walks.
std::vector<std::vector<int>> order_loops(Nest& nest, const ShapeEnv& env);
// The same without a choice: loops nest as the axes do, or as NumPy's order of the sum asks, and none are merged.
std::vector<std::vector<int>> keep_loops(Nest& nest);

}  // namespace suture
