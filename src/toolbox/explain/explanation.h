// Explanation: one callable, explained from its recorded events.
//
// Counts are counts of things that happened: graph_break_count is the number of break places, never graphs -
// 1; op_count counts every op of every graph, methods included. A frame that was compiled several times shows
// its newest graph, with the number of compiles.
#pragma once

#include <string>
#include <vector>

#include "toolbox/model/status.h"
#include "toolbox/model/text.h"
#include "toolbox/model/trace_model.h"

namespace suture::toolbox {

struct ExplainedGraph {
  const FrameModel* frame;
  const CompileModel* compile;
};

class Explanation {
 public:
  Explanation(std::vector<std::string> lines, std::vector<CallableStatus> statuses, SourceLine source_line,
              Names names = Names::kAsTheyAre);
  Explanation(const Explanation&) = delete;
  Explanation& operator=(const Explanation&) = delete;

  const TraceModel& model() const { return model_; }
  std::vector<ExplainedGraph> graphs() const;
  size_t op_count() const;
  // What the runtime counted for a frame; null when it is not known.
  const FrameStatus* status_of(int64_t frame) const;
  // What the runtime counted for guard `index` of a compile; null when it is not known.
  const GuardStatus* guard_status(const FrameModel& frame, const CompileModel& compile, size_t index) const;
  // Times a break was crossed at run time: calls of its resume functions; -1 without a status.
  int64_t crossings(const BreakModel& record) const;
  const SourceLine& source_line() const { return source_line_; }
  // The line of a record: as it was when it was made; of records that do not say it, as it is now.
  std::string source_of(const BreakModel& record) const;
  const std::vector<CallableStatus>& statuses() const { return statuses_; }

 private:
  TraceModel model_;
  std::vector<CallableStatus> statuses_;
  SourceLine source_line_;
};

std::string explanation_json(const Explanation& explanation);
std::string explanation_text(const Explanation& explanation);

std::vector<std::string> split_names(std::string_view comma_list);

}  // namespace suture::toolbox
