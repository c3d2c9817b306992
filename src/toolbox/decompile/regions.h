// Regions: the try and with statements of a code object, from its exception table.
//
// Every handler the exception table names is classified by its first instructions. Handlers that the compiler adds on its own
// (leave the handler of a handler, clear the name of `except E as name`, restore the variable of an inlined comprehension,
// turn StopIteration into RuntimeError) are dropped: what they cover belongs to the next region outwards. The others are the
// regions; they form a tree.
//
// mark_except_star() gives handlers of `except*` clauses the shape of other handlers.
//
// fold_finally_bodies() then cuts the copies of `finally` bodies out: control that leaves such a region continues behind the
// copy, as if the statement ran nothing. The copy must equal the body in the handler (a walk over both at once), else it is an error.
#pragma once

#include <vector>

#include "base/result.h"
#include "toolbox/decompile/lift.h"

namespace suture::toolbox {

enum class RegionKind : uint8_t { kExcept, kExceptStar, kFinally, kWith };

struct Region {
  RegionKind kind = RegionKind::kExcept;
  int handler = 0;  // its first instruction, PushExcInfo
  int depth = 0;    // values below on the stack
  bool lasti = false;
  int parent = -1;  // region around it
  int first = -1;   // the covered instruction with the smallest index
  int level = 0;    // number of regions around it
  // kWith: the last instruction that runs when __exit__ swallowed the exception
  int suppressing = -1;
};

struct Regions {
  std::vector<Region> all;
  std::vector<int> of;  // instruction -> innermost region, or -1

  const Region& at(int region) const { return all[static_cast<size_t>(region)]; }
  int region_of(int instruction) const { return of[static_cast<size_t>(instruction)]; }
  bool inside(int region, int outer) const;  // region is outer, or within it
};

void mark_except_star(LiftedCode& code);  // before find_regions
Result<Regions> find_regions(const LiftedCode& code);
Status fold_finally_bodies(LiftedCode& code, Regions& regions);

}  // namespace suture::toolbox
