// compile_frame: one miss of one CodeCache, from bytecode to a cache entry. Reads top to bottom.
#pragma once

#include "base/result.h"
#include "runtime/code_cache.h"

namespace suture {

class Compiler;
struct FrameRecord;

Result<CompileOutcome> compile_frame(CodeCache& cache, const FrameInput& input, FrameRecord& frame,
                                     Compiler& compiler);

}  // namespace suture
