// Schedule: which nests become one kernel, in which loop order, with which temporaries; and why not, where
// not.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "loop/loop_program.h"

namespace suture {

struct ScheduleOptions {
  bool fuse = true;
  int max_group_nodes = 64;
  int64_t fusion_limit = -1;  // decisions to fuse that are taken; -1: all
  bool order_loops = true;    // false: elementwise loops nest as the axes do, and none are merged
};

struct FusionVerdict {
  std::string producer, consumer;  // node names
  bool fused = false;
  int64_t number = 0;  // of the decisions to fuse, from 1 on; the first n are the same under any limit >= n
  std::string reason;  // id from fusion_reasons.def
  std::string sentence;
  std::string advice;              // "" when there is nothing to edit
  NodeId producer_node = kNoNode;  // of the graph, for the user's lines
  NodeId consumer_node = kNoNode;
  int64_t bytes =
      0;  // written and read again because the two are apart, or would have been, at this call's sizes
};

// The fused nest. Its axes are in loop order, outermost first; axes of extent 1 are gone and contiguous axes
// are merged. With reductions, `order.outer` is 0..k-1 and `order.run` k..n-1.
struct KernelGroup {
  Nest nest;
  std::vector<SymInt> axes;             // extents of the nest before loops were ordered
  std::vector<std::vector<int>> loops;  // per loop: the axes it walks, outermost first
  std::string name;                     // cpp_fused_..._k
  std::vector<std::string> ops;         // op names, sorted, each once
};

struct Schedule {
  std::vector<Buffer> buffers;  // temporaries that fusion removed have no accesses left
  std::vector<std::variant<KernelGroup, NumpyCall>> steps;
  std::vector<BufferId> outputs;
  std::vector<FusionVerdict> verdicts;
  ShapeEnv env;
};

Result<Schedule> plan_schedule(const LoopProgram& program, const Graph& graph,
                               const ScheduleOptions& options);
std::string to_text(const Schedule& schedule);

}  // namespace suture
