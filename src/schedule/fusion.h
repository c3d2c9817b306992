// Fusion: greedily merges the statements of a loop program, the pair that saves most memory traffic first.
//
// Overview
//   Every statement starts as a group of its own. Candidate pairs are groups that touch a common buffer. The
//   benefit of a pair is the bytes of the buffers that need not be read (and written) again. The most
//   beneficial legal pair is merged, until none is left. Equal benefit: program order decides, so the result
//   is deterministic.
// Invariants
//   - A pair is merged only when no third group must run between its members (dependences over storage).
//   - The final order of the groups is a topological order of these dependences, earliest program position
//     first.
#pragma once

#include <vector>

#include "schedule/dependences.h"
#include "schedule/schedule.h"

namespace suture {

struct FusedStatements {
  std::vector<Statement> statements;  // in execution order
  std::vector<FusionVerdict> verdicts;
};
FusedStatements fuse_statements(const LoopProgram& program, const Graph& graph,
                                const ScheduleOptions& options);

}  // namespace suture
