// Automatic dynamic: sizes, strides and ints that differ from what earlier entries expected become symbols.
//
// How it works: at a recompile every earlier entry is asked which of its guards fail. A failing size guard
// means that this axis varies; its source goes into the frame's DynamicPlan for good. A guard on the same
// array that fails for a different reason (rank, dtype, type) says that it is another kind of input, so its
// sizes are not compared.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "runtime/code_cache.h"

namespace suture {

void learn_dynamic(std::span<const std::unique_ptr<CacheEntry>> entries, const FrameInput& input,
                   DynamicPlan& plan);

}  // namespace suture
