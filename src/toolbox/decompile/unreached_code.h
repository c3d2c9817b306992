// Code that control never comes to, where only it explains the rest.
//
// The compiler drops such code, but not what it says about the function: that it is a generator, that a name is one of its variables,
// that a variable is in a cell because a nested function uses it, that there are annotations. Where nothing else says so, an
// `if False:` says it.
#pragma once

#include <vector>

#include "toolbox/decompile/lift.h"
#include "toolbox/decompile/scope.h"

namespace suture::toolbox {

struct UsedVariables {
  std::vector<bool> bound, loaded;  // by index of the variable
};
// Of code as it was lifted, before patterns and handlers are cut out; without variables that an inlined comprehension hides, whose
// uses only the evaluated code tells apart.
UsedVariables used_variables(const LiftedCode& code);

struct UnreachedFacts {
  const LiftedCode& lifted;
  const UsedVariables& variables;
  bool only_sets_up_annotations = false;  // and makes none
};
void add_unreached_code(Builder& builder, const Scope& scope, const UnreachedFacts& facts,
                        syntax::Statements& body);

// The name of `name = value`; null for other statements.
const syntax::Name* assigned_name(const syntax::Statement* statement);

}  // namespace suture::toolbox
