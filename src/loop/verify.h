// The laws of a loop nest, as data, like those of a graph (graph/verify.h). Checked after lowering and, on what fusion and
// loop order made of the nests, after scheduling.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "loop/loop_program.h"

namespace suture {

struct NestLaw {
  std::string_view name;
  std::string_view sentence;
  // Empty when the law holds; otherwise what breaks it. `graph` is the lowered graph.
  std::string (*check)(const Nest&, const Graph& graph);
};
std::span<const NestLaw> nest_laws();
Status verify(const Nest& nest, const Graph& graph);
Status verify(const LoopProgram& program, const Graph& graph);

}  // namespace suture
