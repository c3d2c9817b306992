// merge_exprs: puts the expressions, reductions and stores of two nests into one, the guest rewritten to the
// host's axes. Values that the producer stores and the consumer loads are handed over; equal expressions are
// computed once. The caller has checked that this is legal.
#pragma once

#include "schedule/axis_map.h"

namespace suture {

Nest merge_exprs(const Nest& producer, const Nest& consumer, bool producer_is_guest, bool guest_at_kept_level,
                 const AxisMap& map);
// Drops expressions that no store and no reduction needs and that cannot signal.
void prune_exprs(Nest& nest);

}  // namespace suture
