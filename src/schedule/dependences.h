// Dependences between the statements of a loop program, over STORAGE: two statements that touch the same
// memory, one of them writing, keep their order, whichever views they go through.
#pragma once

#include <variant>
#include <vector>

#include "loop/loop_program.h"

namespace suture {

using Statement = std::variant<Nest, NumpyCall>;

struct Touched {
  std::vector<BufferId> reads, writes;  // root buffers, sorted, each once
};
Touched touched_storage(const Statement& statement, const std::vector<Buffer>& buffers);
bool must_keep_order(const Touched& first, const Touched& second);
std::vector<BufferId> shared_storage(const Touched& a, const Touched& b);

}  // namespace suture
