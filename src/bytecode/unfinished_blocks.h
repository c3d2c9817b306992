// UnfinishedBlocks: places outside of a natural loop where a with, try or for statement of the loop's body is not over yet.
//
// A way that leaves the loop from inside such a statement (break, return, raise) still calls its __exit__, runs its finally
// body or drops its iterator, in code that never comes back to the loop's header. Whoever cuts the loop's body out cuts behind that code, so that
// statements stay whole.
#pragma once

#include <vector>

#include "bytecode/analysis.h"

namespace suture {

class UnfinishedBlocks {
 public:
  // `depths`: stack_depths(function); `handlers`: handler_depths(function).
  UnfinishedBlocks(const Function& function, const LoopRegion& loop, const std::vector<int>& depths,
                   const std::vector<int>& handlers);

  // The place belongs to a statement of the loop's body, when `kept` is what is cut out so far.
  bool holds(int place, const std::vector<bool>& kept) const;

 private:
  bool in_region_of_body(int place, const std::vector<bool>& kept) const;
  bool in_finally_body(int place, const std::vector<bool>& kept) const;

  const Function& function_;
  const std::vector<int>& depths_;
  const std::vector<int>& handlers_;
  const ExceptionRegion* around_;
  int base_;  // values of the loop's own
};

}  // namespace suture
