// The line table of generated code: which user line, op and graph node each line of the C++ text is made from, as data.
//
// One JSON object, kept beside the kernel's source on disk and carried in the kernel_source event:
//   {"schema": "suture.kernel_lines/1", "graph": "f_graph_0", "line_count": 27,
//    "kernels": [{"name", "first_line", "last_line"}],
//    "places":  [{"file", "function", "line", "end_line", "column", "end_column", "source"}],
//    "nodes":   [{"name", "op", "target"}],
//    "lines":   [{"line", "kernel", "kind": "read" | "compute" | "reduce" | "write", "node", "place"}]}
// `kernel`, `node` and `place` are indices into the lists above; lines count from 1; columns are those of UserSpan.
// Nothing in it has to be opened to be shown: `source` is the text of the user's line, whole: the columns are places in
// it.
#pragma once

#include <string>

#include "codegen/emit.h"

namespace suture {

// `code.kernels` and `code.lines` are final.
std::string line_table_json(const GeneratedCode& code, const Graph& graph, const CodegenOptions& options);

}  // namespace suture
