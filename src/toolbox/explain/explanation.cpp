#include "toolbox/explain/explanation.h"

#include <algorithm>

#include "base/source_line.h"

namespace suture::toolbox {

std::vector<std::string> split_names(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    size_t comma = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, comma);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    if (!name.empty()) out.emplace_back(name);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return out;
}

Explanation::Explanation(std::vector<std::string> lines, std::vector<CallableStatus> statuses,
                         SourceLine source_line, Names names)
    : model_(names), statuses_(std::move(statuses)), source_line_(std::move(source_line)) {
  for (const std::string& line : lines) model_.add_line(line);
}

std::string Explanation::source_of(const BreakModel& record) const {
  if (!record.source.empty() || !source_line_) return record.source;
  return bounded_source_line(source_line_(record.file, static_cast<int>(record.line)));
}

std::vector<ExplainedGraph> Explanation::graphs() const {
  std::vector<ExplainedGraph> out;
  for (const FrameModel& frame : model_.frames) {
    auto newest = std::find_if(frame.compiles.rbegin(), frame.compiles.rend(),
                               [](const CompileModel& compile) { return compile.has_graph(); });
    if (newest != frame.compiles.rend()) out.push_back({&frame, &*newest});
  }
  return out;
}

size_t Explanation::op_count() const {
  size_t count = 0;
  for (const ExplainedGraph& graph : graphs()) count += graph.compile->graph.ops.size();
  return count;
}

const FrameStatus* Explanation::status_of(int64_t frame) const {
  for (const CallableStatus& status : statuses_)
    for (const FrameStatus& each : status.frames)
      if (each.frame == frame) return &each;
  return nullptr;
}

const GuardStatus* Explanation::guard_status(const FrameModel& frame, const CompileModel& compile,
                                             size_t index) const {
  const FrameStatus* status = status_of(frame.frame);
  if (!status) return nullptr;
  for (const EntryStatus& entry : status->entries)
    if (entry.number == compile.number && index < entry.guard_costs.size()) return &entry.guard_costs[index];
  return nullptr;
}

int64_t Explanation::crossings(const BreakModel& record) const {
  if (statuses_.empty() || record.resume_frames.empty()) return -1;
  int64_t calls = 0;
  for (int64_t frame : record.resume_frames)
    if (const FrameStatus* status = status_of(frame)) calls += status->calls;
  return calls;
}

}  // namespace suture::toolbox
