// CodeTree: a code object with its constants as values, among them the code objects nested in it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bytecode/code_view.h"
#include "bytecode/constant.h"

namespace suture {

struct CodeTree {
  CodeView view;                    // constant_reprs is parallel to constants
  std::vector<Constant> constants;  // co_consts

  const Constant* constant(int index) const {  // null when there is none
    return index >= 0 && static_cast<size_t>(index) < constants.size()
               ? &constants[static_cast<size_t>(index)]
               : nullptr;
  }
  // The docstring of a function, or null. Up to Python 3.13 it is the first constant; bodies of modules and
  // classes assign __doc__ instead.
  const std::string* docstring() const {
    const bool has = (view.flags & kCodeOptimized) != 0 && !constants.empty() &&
                     constants.front().is(Constant::Kind::kStr);
    return has ? &constants.front().text : nullptr;
  }
};
using CodeTreePtr = std::shared_ptr<const CodeTree>;

}  // namespace suture
