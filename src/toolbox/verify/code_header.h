// What two code objects say about themselves, apart from their instructions.
//
// Compared: name, qualified name, kinds and names of parameters, flags, docstring, free variables in order.
// Not compared: file, lines, sizes, and names of locals that no instruction uses.
//   - Qualified names are relative to the outermost code objects, whose own may differ: a function that is
//     compiled on its own is not in its class.
//   - CO_NESTED only says that there was a function around it.
#pragma once

#include <string>

#include "bytecode/code_tree.h"

namespace suture::toolbox {

struct QualifiedRoots {
  const std::string& first;
  const std::string& second;
};
// "" or the first difference as a sentence.
std::string header_difference(const CodeTree& first, const CodeTree& second, const QualifiedRoots& roots);

}  // namespace suture::toolbox
