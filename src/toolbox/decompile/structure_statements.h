// Structuring: a flow graph of statements becomes nested statements.
#pragma once

#include "toolbox/decompile/evaluate.h"

namespace suture::toolbox {

// Prepares the graph (tests folded, copies of loop tests merged, empty nodes gone).
void simplify_flow(Builder& builder, Evaluated& code);
Result<syntax::Statements> structure_statements(Builder& builder, Evaluated& code, const LiftedCode& lifted,
                                                const Regions& regions);

}  // namespace suture::toolbox
