// emit: Schedule -> C++ text and launch plan. Same input, same bytes out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/graph.h"
#include "plan/launch_plan.h"
#include "schedule/schedule.h"

namespace suture {

// One C++ translation unit per graph.
struct KernelInfo {
  std::string name;                   // "cpp_fused_add_gt_sin_sum_0"
  std::vector<std::string> ops;       // op names fused, sorted
  std::vector<UserSpan> lines;        // user lines it covers
  int first_line = 0, last_line = 0;  // of the text, 1-based
  // Memory one run touches at the sizes of the call that is being compiled: every element once.
  int64_t bytes_read = 0, bytes_written = 0;
};
// What a line of the text is made from. Lines of loops, declarations of no value and braces have no entry: they belong to
// their whole kernel.
struct CodeLine {
  enum class Kind : uint8_t { kRead, kCompute, kReduce, kWrite } kind = Kind::kCompute;
  int line = 0;           // of the text, 1-based
  NodeId node = kNoNode;  // of the lowered graph: what is read, computed or written
  UserSpan where;         // of a read: the place that reads
};
struct GeneratedCode {
  std::string cpp;  // readable, header-free; relies on the prelude
  std::vector<KernelInfo> kernels;
  std::vector<CodeLine> lines;  // ascending
  std::string line_table;       // kernels and lines as JSON, see line_table.h
  LaunchPlan plan;
};

struct CodegenOptions {
  // Text of a user's source line as it stands in the file, for comments and the line table; may be empty. Called at most
  // once per line.
  std::function<std::string(const UserSpan&)> source_line = {};
};
// `graph` is the lowered graph (for names and user lines). Source lines are quoted through `source_line`,
// which may return "".
Result<GeneratedCode> emit(const Schedule& schedule, const Graph& graph, const CodegenOptions& options);

}  // namespace suture
