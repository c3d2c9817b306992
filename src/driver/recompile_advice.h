// What stops a recompile: one consistent set of edits, whichever entries refused the call.
//
// How it works
//   Every failing guard of an entry gives one advice. Its words are the column `action` of guards.def; column `refine` names a
//   function here that knows more, from the value, from where it comes, from what the other guards of the entry say and from
//   what a symbol in its place would have done (symbol_trial.h).
//   A call needs one entry that accepts it, so the advice about one entry is enough, and that about two may contradict: the
//   first entry has to hold C order, the second Fortran order. Told is what makes the oldest entry fit for which all can be
//   done; with none, why the oldest will not do.
// Invariants
//   - Code in backticks that stands without a condition leaves the results of the function as they are. What would change them
//     for some functions (another dtype, a list made an array) says which.
//   - Arrays that the function writes into are not replaced by copies.
//   - Copies come before marks: a mark belongs to one array.
//   tests/python/test_recompile_actions.py and test_recompile_edits.py apply them and count compiles.
#pragma once

#include <functional>
#include <string>

#include "capture/capture.h"
#include "driver/frame_record.h"
#include "runtime/code_cache.h"

namespace suture {

// A call that no entry accepted, and what became of it.
struct RefusedCall {
  const CodeCache& cache;
  const FrameInput& input;
  const FrameRecord& frame;
  const DynamicPlan& plan;  // of this call: what is a symbol from now on, and what its arrays are marked
  const Capture* capture;   // made for this call; null: none
  std::function<Result<Capture>()> capture_with_symbols;  // one in which all that can be is a symbol
};

std::string advice_for(const RefusedCall& call);

}  // namespace suture
