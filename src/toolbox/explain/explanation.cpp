#include "toolbox/explain/explanation.h"

#include <algorithm>

namespace suture::toolbox {
namespace {

std::string_view last_component(std::string_view qualified) {
  return qualified.substr(qualified.rfind('.') + 1);
}

}  // namespace

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

int64_t calls_of_resume_functions(const std::vector<CallableStatus>& statuses, const std::string& resume,
                                  const std::string& file) {
  std::vector<std::string> names = split_names(resume);
  int64_t calls = 0;
  for (const CallableStatus& status : statuses)
    for (const FrameStatus& frame : status.frames)
      for (const std::string& name : names)
        if (frame.file == file && last_component(frame.function) == last_component(name))
          calls += frame.calls;
  return calls;
}

Explanation::Explanation(std::vector<std::string> lines, std::vector<CallableStatus> statuses,
                         SourceLine source_line)
    : statuses_(std::move(statuses)), source_line_(std::move(source_line)) {
  for (const std::string& line : lines) model_.add_line(line);
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

int64_t Explanation::crossings(const BreakModel& record) const {
  if (statuses_.empty() || record.resume.empty()) return -1;
  return calls_of_resume_functions(statuses_, record.resume, record.file);
}

}  // namespace suture::toolbox
