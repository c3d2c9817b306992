// How the transformed function ends: one function per kind of frame end, and the side effects before it.
#pragma once

#include "capture/output_continuation.h"
#include "capture/output_writer.h"

namespace suture {

Status emit_side_effects(OutputWriter& writer);
Status emit_break(OutputWriter& writer, Continuations& continuations);
Status emit_loop(OutputWriter& writer, Continuations& continuations);

// The handler of a region of the original, as the tail of the transformed function:
//     except: return __resume_at_<handler>(stack.., exception, locals..)
// Made before the covered instructions (so that it can hold what it needs), bound behind them.
struct HandlerTail {
  CodeBuilder::Label label = -1;
  CodeBuilder::Region region = CodeBuilder::kNoRegion;
  int exception_slot = -1;
  ContinuationPlan plan;
};
Result<HandlerTail> plan_handler(OutputWriter& writer, Continuations& continuations,
                                 const ExceptionRegion& region, const std::map<int, Item>& locals);
Status emit_handler(OutputWriter& writer, Continuations& continuations, const HandlerTail& handler);

std::vector<Item> stack_items(const OutputWriter& writer,
                              size_t count);  // the lowest values of the stack at the end
// Every local of the original that has a value at the end of the captured part.
std::map<int, Item> local_items(const OutputWriter& writer, const Continuations& continuations);

}  // namespace suture
