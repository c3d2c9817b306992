// Which locals of a graph are synthetic, and where they are live.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "toolbox/verify/frame_state.h"
#include "toolbox/verify/instruction_graph.h"

namespace suture::toolbox {

struct SyntheticLocals {
  int count = 0;
  std::vector<int> number_of_local;  // per local of the second: its number, -1: not synthetic
  std::vector<std::vector<bool>>
      live;  // per node of the second, per number: may be read before it is written

  // Synthetic locals that nobody will read have no value that counts.
  void forget_dead(int node, std::vector<AbstractValue>& values) const;
};

// Error kUnsupported: the names cannot be synthetic locals of `second` (see path_equivalence.h, "Refused").
Result<SyntheticLocals> find_synthetic_locals(const InstructionGraph& first, const InstructionGraph& second,
                                              const std::vector<std::string>& names);

}  // namespace suture::toolbox
