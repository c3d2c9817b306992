// Blocks: straight pieces of lifted code, with an extra block wherever control enters a region.
//
// Nop and Jump are nowhere in it. A region's entry block leads to its body and to its handler (a with statement: to where control
// goes on when an exception was swallowed), so that handlers hang below the statement they belong to.
#pragma once

#include <vector>

#include "base/result.h"
#include "toolbox/decompile/lift.h"
#include "toolbox/decompile/regions.h"

namespace suture::toolbox {

struct Block {
  int entered_region = -1;        // an entry block of this region, without instructions
  int region = -1;                // innermost region of its instructions
  std::vector<int> instructions;  // of LiftedCode
  int first = -1;                 // successor when control goes on; entry blocks: the body
  int second = -1;                // successor when the last instruction jumps; entry blocks: the handler
  int place = -1;                 // smallest instruction, for order in the source
};

struct Blocks {
  std::vector<Block> all;
  std::vector<int> order;       // reverse post-order; bodies of loops before what follows them
  std::vector<bool> is_header;  // a backward edge ends here

  const Block& at(int block) const { return all[static_cast<size_t>(block)]; }
};

void merge_exit_copies(LiftedCode& code);
Result<Blocks> find_blocks(const LiftedCode& code, const Regions& regions);

}  // namespace suture::toolbox
