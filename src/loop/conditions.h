// What the expressions of a nest may report, see ops/signals.h.
#pragma once

#include "loop/loop_program.h"

namespace suture {

// Must run whether or not its value is used.
bool can_signal(const Nest& nest, const Expr& expr);
// ... when the lanes of a vector that have no element are computed too: on zeros.
bool can_signal_for_zeros(const Nest& nest, const Expr& expr);
// Only floating-point flags would tell.
bool signals_by_flags(const Nest& nest, const Expr& expr);
bool signals_by_flags(const Reduction& reduction);

}  // namespace suture
