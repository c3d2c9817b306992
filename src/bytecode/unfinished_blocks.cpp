// How it works
//   stack    whatever lies above the loop's own values belongs to a statement of the body that is not over: the __exit__ of a
//            with statement, the iterator of an inner loop, the subject of a match statement, operands of an expression.
//   try      the exception table says what is inside; a finally body is compiled once per way into it, and the copies have
//            the source positions of the one in the handler.
//   RERAISE  the end of a handler that has popped its exception already.
#include "bytecode/unfinished_blocks.h"

#include <algorithm>

#include "bytecode/continuation.h"

namespace suture {
namespace {

bool same_position(const Instruction& a, const Instruction& b) {
  return a.line > 0 && a.line == b.line && a.end_line == b.end_line && a.column == b.column &&
         a.end_column == b.end_column;
}

}  // namespace

UnfinishedBlocks::UnfinishedBlocks(const Function& function, const LoopRegion& loop,
                                   const std::vector<int>& depths, const std::vector<int>& handlers)
    : function_(function),
      depths_(depths),
      handlers_(handlers),
      around_(region_around(function, loop)),
      base_(depths[static_cast<size_t>(loop.header)]) {}

bool UnfinishedBlocks::holds(int place, const std::vector<bool>& kept) const {
  const Opcode opcode = function_.instructions[static_cast<size_t>(place)].opcode;
  if (opcode == Opcode::RETURN_VALUE || opcode == Opcode::RETURN_CONST)
    return false;  // of the whole function
  // What takes the loop's own values, as `return` in a for loop does with its iterator, is for the caller.
  const int depth = depths_[static_cast<size_t>(place)];
  if (depth - stack_use(function_, place).pops < base_) return false;
  return depth > base_ || opcode == Opcode::RERAISE || in_region_of_body(place, kept) ||
         in_finally_body(place, kept);
}

bool UnfinishedBlocks::in_region_of_body(int place, const std::vector<bool>& kept) const {
  const ExceptionRegion* region = function_.region_at(place);
  return region != nullptr && (around_ == nullptr || region->target != around_->target) &&
         kept[static_cast<size_t>(region->target)];
}

bool UnfinishedBlocks::in_finally_body(int place, const std::vector<bool>& kept) const {
  auto i = static_cast<size_t>(place);
  while (i + 1 < kept.size() && function_.instructions[i].opcode == Opcode::NOP) ++i;
  for (size_t other = 0; other < kept.size(); ++other)
    if (kept[other] && handlers_[other] > 0 &&
        same_position(function_.instructions[i], function_.instructions[other]))
      return true;
  return false;
}

}  // namespace suture
