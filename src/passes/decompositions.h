// One function per composite op, private to decompose.cpp. Each adds nodes for `node` and returns the one
// that stands for it.
#pragma once

#include "passes/rewriter.h"

namespace suture {

Result<NodeId> decompose_mean(Rewriter& rewriter, const Node& node);
Result<NodeId> decompose_var(Rewriter& rewriter, const Node& node);
Result<NodeId> decompose_std(Rewriter& rewriter, const Node& node);
Result<NodeId> decompose_clip(Rewriter& rewriter, const Node& node);
Result<NodeId> decompose_round(Rewriter& rewriter, const Node& node);
Result<NodeId> decompose_linspace(Rewriter& rewriter, const Node& node);
Result<NodeId> decompose_float_power(Rewriter& rewriter, const Node& node);
// kNoNode when this power has no special loop and stays a power.
Result<NodeId> decompose_power(Rewriter& rewriter, const Node& node);

// For /, ** and functions of `math` on Python numbers: adds what makes the kernel report where Python would raise.
// kNoNode: the node itself stays.
Result<NodeId> decompose_python_operator(Rewriter& rewriter, const Node& node);

}  // namespace suture
