// Code objects in the event frame_code, and the transformed code of a frame as Python.
#pragma once

#include <string>

#include "bytecode/code_tree.h"
#include "bytecode/readable_output.h"
#include "toolbox/decompile/decompile.h"

namespace suture::toolbox {

// The bytes are base64 of marshalled code, `python` is "3.11". Null when they are no code of a version that can be read.
CodeTreePtr read_frame_code(const std::string& base64, const std::string& python);

struct TransformedText {
  std::string source, verdict;  // both empty when the code cannot be read
  std::vector<std::string> notes;
};
// As the function `name`. `compile` may be null.
TransformedText readable_text(const CodeTree& code, OutputKind kind, const std::string& name,
                              const CompileSource& compile);
TransformedText text_of(const CodeTree& code, const CompileSource& compile, const std::string& qualname = "");

}  // namespace suture::toolbox
