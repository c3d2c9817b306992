// merge_exprs: puts the expressions, reductions and stores of two nests into one, the guest rewritten to the
// host's axes. Values that the producer stores and the consumer loads are handed over; equal expressions are
// computed once. The caller has checked that this is legal.
#pragma once

#include "schedule/axis_map.h"

namespace suture {

// Which nest is rewritten to the axes of the other one, its host.
enum class Guest : uint8_t { kProducer, kConsumer };
// Where the guest's stores go: among the elements of the host's loops, or to where its reductions are finished.
enum class GuestLevel : uint8_t { kElements, kAfterReductions };

Nest merge_exprs(const Nest& producer, const Nest& consumer, Guest guest, GuestLevel level,
                 const AxisMap& map);
// Drops expressions that no store and no reduction needs and that cannot signal.
void prune_exprs(Nest& nest);

}  // namespace suture
