// LineMap: which line and columns of a printed text each instruction of a code object belongs to, as a line table that
// CPython understands, so that a debugger steps the text while the code object itself runs.
//
// How it works
//   The text, compiled, has the instruction graph of the code object: that is what its verdict says. The walk that proves
//   it pairs the instructions of both, and the compiler's own positions of one are those of the other. What has no
//   partner (padding, emptied variables) belongs to the line before it.
// Invariants
//   - Only positions come from the text. A text that differs from the code can mislead a reader, never a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bytecode/code_tree.h"
#include "bytecode/readable_output.h"

namespace suture::toolbox {

struct NestedLineMap;
struct LineMap {
  int first_line = 1;
  std::vector<uint8_t> table;         // co_linetable
  std::vector<NestedLineMap> nested;  // those that have a partner
  std::string difference;             // where the pairing ended; "" when it covers everything
};
struct NestedLineMap {
  int index = 0;  // into co_consts
  LineMap map;
};

// `executing`: what runs. `printed`: the text's code object. `kind`: `executing` was printed as readable_output; none: as
// it is.
// Error kUnsupported: one of them is no bytecode that can be decoded.
Result<LineMap> map_lines(const CodeTree& executing, const CodeTree& printed, std::optional<OutputKind> kind);

}  // namespace suture::toolbox
