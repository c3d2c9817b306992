// fuse_nests: one nest out of two, or the reason why that is not allowed. Legality only; fusion.cpp decides
// what is worth it.
//
// How it works
//   Levels. A nest has element-level expressions (one value per point of its loops) and, when it reduces,
//   kept-level ones (after the reduction, one per kept index). The pair is placed in one of these ways:
//     same space      the axes of one map onto all axes of the other
//     epilogue        the consumer runs once per kept index of the producer's reduction
//     prologue        the producer runs once per kept index of the consumer's reduction, used only after it
//     hoisted         the producer computes a single element; it runs before the loops, which surely have an
//                     iteration
//   A value the producer stores and the consumer loads at the same element is handed over directly.
// Laws kept
//   - Two accesses to one buffer, one of them a store, must touch the same element in the same iteration and
//     level.
//   - Nothing is computed more often than before (a producer is never repeated under a broadcast).
//   - Orders of exact reductions are never changed.
#pragma once

#include <optional>
#include <string>

#include "loop/loop_program.h"

namespace suture {

enum class FusionReason : uint8_t {
#define SUTURE_FUSION_REASON(id, ...) id,
#include "schedule/fusion_reasons.def"
};
struct FusionReasonInfo {
  FusionReason id;
  std::string_view name, sentence, advice;
};
const FusionReasonInfo& info(FusionReason reason);

struct FuseResult {
  std::optional<Nest> nest;
  FusionReason reason = FusionReason::kSpace;
  BufferId buffer = -1;  // what the reason talks about
};
FuseResult fuse_nests(const Nest& producer, const Nest& consumer, const ShapeEnv& env, int max_nodes);

// The kept axes are all outside the reduced ones, so a reduction is complete when its inner loops end.
bool reduces_innermost(const Nest& nest);
// Expressions needed per element (for reductions, element-level stores, and their own conditions).
std::vector<bool> element_level(const Nest& nest);

}  // namespace suture
