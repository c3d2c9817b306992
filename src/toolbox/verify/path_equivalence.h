// Path equivalence: do two graphs do the same along every path, when the second keeps part of the first one's
// position and stack in synthetic locals?
//
// What it proves
//   Both do the same observable operations (calls, attribute and global access, arithmetic, stores to locals and
//   cells, iteration, raising, returning, ...) in the same order with the same operands, take the same
//   branches, and meet exceptions with corresponding handlers. In the second graph
//     state = 2
//     while True:
//         if state == 1: ...
//         elif state == 2: temporary = f(x); state = 1; continue
//   tests and assignments of synthetic locals are followed, not compared.
// What it does not look at
//   How long a value lives that a synthetic local or the stack still holds; at which instruction a signal is
//   noticed; the line that a re-raised exception is attributed to.
//
// How it works
//   An abstract state of both frames is carried along a product walk: which stack slots, synthetic locals and
//   (shared, certainly bound) locals hold the same value, and which hold a known constant. Between two
//   operations each side runs silently: it moves values on its stack, reads bound locals, and computes tests of
//   constants. Operations of the two sides are matched one by one; results are new values, the same on both
//   sides.
//   States are kept per pair of nodes and per constants in the live synthetic locals (so that `state == 2` is
//   decided), and joined: what two ways to the same place do not agree on is forgotten. The walk ends when
//   nothing is forgotten any more.
//   A method call of the first (LOAD_METHOD, CALL) may be an attribute and a call of it in the second, which is what the
//   language says it is; the object of the method is a value that nothing but such a call can use.
// Refused rather than proved
//   synthetic locals that may be read unbound, that are parameters or cells, or whose names the first uses;
//   loops that do nothing observable where the other side does something, or where a signal would find other handlers. Code that can see its variables by name (`locals`, `eval`, ...), and bodies of modules
//   and classes, whose variables others can see, unless `may_show`: then the result says by what they may be seen.
#pragma once

#include <string>
#include <vector>

#include "toolbox/verify/graph_walk.h"

namespace suture::toolbox {

GraphComparison compare_paths(const InstructionGraph& first, const InstructionGraph& second,
                              const std::vector<std::string>& synthetic_locals, bool may_show,
                              int step_limit);

}  // namespace suture::toolbox
