// Annotations that the compiler keeps as text (`from __future__ import annotations`).
#pragma once

#include "toolbox/decompile/syntax.h"

namespace suture::toolbox {

// The annotation whose value `value` is, in code with these flags.
syntax::Expression* annotation_expression(int code_flags, syntax::Expression* value,
                                          syntax::SyntaxTree& tree);

}  // namespace suture::toolbox
