// Patterns of match statements, from the instructions that test them.
//
// A pattern is straight code: it takes the subject apart on the stack, tests the parts, and jumps to the next case where one does
// not fit. find_match_cases() runs this code over holes instead of values: what is done to a hole says which pattern stands there.
// The optimizer reorders stack operations at will, and running them undoes that. A recognised pattern becomes one instruction,
// MatchCase: control goes on when it matches, and jumps when not. `copied` cases leave the subject for the next one.
#pragma once

#include <string>
#include <vector>

#include "toolbox/decompile/lift.h"
#include "toolbox/decompile/regions.h"
#include "toolbox/decompile/scope.h"
#include "toolbox/decompile/syntax.h"

namespace suture::toolbox {

struct MatchedCase {
  syntax::Pattern* pattern = nullptr;
  bool copied = false;
  bool guarded_by_true = false;            // copied although no other case is left
  std::vector<std::pair<Op, int>> stores;  // instructions that bind names
};

std::vector<MatchedCase> find_match_cases(Builder& builder, const Scope& scope, LiftedCode& code,
                                          Regions& regions);

}  // namespace suture::toolbox
