// Code whose names are no identifiers, as other tools make them (`@py_assert1`, `a b`, keywords): a copy in which they are.
//
// Every such variable, global name, attribute and name of a function gets a name that nothing in the tree has, the same
// everywhere. The copy is what is decompiled and checked, so that a verdict about it holds for the original apart from these names.
// Names that the compiler itself makes (`.0`, `<lambda>`) stay.
#pragma once

#include <map>
#include <set>
#include <string>

#include "bytecode/code_tree.h"

namespace suture::toolbox {

struct RenamedCode {
  CodeTreePtr tree;                                     // null: nothing had to be renamed
  std::map<std::string, std::string> names;             // old -> new
  std::map<const CodeTree*, const CodeTree*> original;  // of every code object of `tree`
  std::set<const CodeTree*> changed;                    // code objects of `tree` that have new names
};

RenamedCode rename_illegal(const CodeTree& code);

}  // namespace suture::toolbox
