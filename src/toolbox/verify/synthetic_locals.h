// Which locals of a graph are synthetic, and where they are live.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "toolbox/verify/frame_state.h"
#include "toolbox/verify/instruction_graph.h"

namespace suture::toolbox {

// In functions they are locals; in bodies of modules and classes names, which others could see while the body runs.
struct SyntheticLocals {
  int count = 0;
  std::vector<int> number_of_local;  // per local of the second: its number, -1: not synthetic
  // Per node of the second, a bit per number: may be read before it is written.
  std::vector<std::vector<uint64_t>> live;
  std::vector<int> number_of_name;  // per name of the second, when it has no locals
  std::string seen_by;              // what may see them; "": nothing

  // -1: the node is about something else.
  int number_of(const Node& node) const;
  // Synthetic locals that nobody will read have no value that counts.
  void forget_dead(int node, std::vector<AbstractValue>& values) const;
};

// `may_show`: being seen is noted and not an error. Error kUnsupported: the names cannot be synthetic locals of `second` (see path_equivalence.h, "Refused").
Result<SyntheticLocals> find_synthetic_locals(const InstructionGraph& first, const InstructionGraph& second,
                                              const std::vector<std::string>& names, bool may_show);

}  // namespace suture::toolbox
