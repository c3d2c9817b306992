// Launch plan pieces: buffers in their final numbering, kernel and NumPy steps.
#pragma once

#include <vector>

#include "codegen/emit.h"

namespace suture {

// Keeps the buffers that steps and outputs use and renumbers them; a view keeps its base.
class PlanBuilder {
 public:
  PlanBuilder(const Schedule& schedule, const Graph& graph) : schedule_(schedule), graph_(graph) {
    number_.assign(schedule.buffers.size(), -1);
    plan_.can_replay = false;  // until a step says so
  }
  void add_kernel(const KernelGroup& group, const std::vector<BufferId>& arguments,
                  const std::vector<SymbolId>& symbols);
  void add_call(const NumpyCall& call);
  LaunchPlan finish();

 private:
  int use(BufferId id);
  void add_written(const Nest& nest, const Store& store);
  const Schedule& schedule_;
  const Graph& graph_;
  std::vector<int> number_;
  LaunchPlan plan_;
};

}  // namespace suture
