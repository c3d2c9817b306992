#include "toolbox/model/recompile_causes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/lists.h"

namespace suture::toolbox {
namespace {

std::string item(const std::vector<std::string>& list, size_t i) {
  return i < list.size() ? list[i] : std::string();
}

struct Group {
  std::string subject, actual;
  std::vector<std::string> expected, entries;
};

std::string group_text(const Group& group, const CauseModel& first) {
  if (group.entries.size() == 1) return first.sentence;
  return fmt::format("{}. expected {}, actual {} (entries {})", group.subject,
                     fmt::join(group.expected, ", "), group.actual, fmt::join(group.entries, ", "));
}

}  // namespace

std::vector<CauseModel> read_causes(const EventRecord& event, const char* sentences) {
  std::vector<CauseModel> out;
  const auto& texts = event.list(sentences);
  for (size_t i = 0; i < texts.size(); ++i)
    out.push_back(
        {item(event.list("entries"), i), item(event.list("kinds"), i), item(event.list("sources"), i),
         item(event.list("subjects"), i), item(event.list("expected"), i), item(event.list("actual"), i),
         item(event.list("places"), i), item(event.list("place_sources"), i), item(event.list("assigned"), i),
         item(event.list("passed"), i), item(event.list("actions"), i), texts[i]});
  return out;
}

std::vector<std::string> grouped_sentences(const std::vector<CauseModel>& causes) {
  std::vector<Group> groups;
  std::vector<const CauseModel*> firsts;
  for (const CauseModel& cause : causes) {
    auto group = std::ranges::find_if(groups, [&](const Group& g) {
      return !cause.subject.empty() && g.subject == cause.subject && g.actual == cause.actual;
    });
    if (group == groups.end()) {
      groups.push_back({cause.subject, cause.actual, {}, {}});
      firsts.push_back(&cause);
      group = groups.end() - 1;
    }
    add_once(group->expected, cause.expected);
    group->entries.push_back(cause.entry);
  }
  std::vector<std::string> out;
  for (size_t i = 0; i < groups.size(); ++i) out.push_back(group_text(groups[i], *firsts[i]));
  return out;
}

std::string assigned_text(const CauseModel& cause) {
  if (cause.assigned.empty()) return "";
  size_t count = 1;
  for (size_t at = cause.assigned.find(", "); at != std::string::npos; at = cause.assigned.find(", ", at + 2))
    ++count;
  return count == 1 ? "assigned at " + cause.assigned
                    : fmt::format("assigned at {} places: {}", count, cause.assigned);
}

std::string details_text(const CauseModel& cause) {
  std::vector<std::string> parts;
  if (!cause.place.empty())
    parts.push_back("made at " + cause.place + (cause.place_source.empty() ? "" : "  " + cause.place_source));
  if (!cause.passed.empty()) parts.push_back(cause.passed + " guards of this entry hold");
  if (std::string assigned = assigned_text(cause); !assigned.empty())
    parts.push_back(fmt::format("'{}' is {}", cause.source, assigned));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::string> distinct_actions(const std::vector<CauseModel>& causes) {
  std::vector<std::string> out;
  for (const CauseModel& cause : causes)
    if (!cause.action.empty()) add_once(out, cause.action);
  return out;
}

}  // namespace suture::toolbox
