#include "toolbox/model/call_chain.h"

#include <fmt/format.h>

#include <algorithm>

#include "toolbox/model/text.h"

namespace suture::toolbox {
namespace {

// Installed packages, the standard library and what the interpreter holds frozen.
bool is_of_library(const std::string& place) {
  static constexpr std::string_view kInside[] = {"/site-packages/", "/dist-packages/", "/lib/python3."};
  return place.starts_with("<frozen ") || std::ranges::any_of(kInside, [&](std::string_view part) {
           return place.find(part) != std::string::npos;
         });
}

std::string stripped(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first);
}

std::vector<CallerModel> read_list(const EventRecord& event, const char* name, const char* sources_name) {
  std::vector<CallerModel> out;
  const auto &places = event.list(name), &sources = event.list(sources_name);
  for (size_t i = 0; i < places.size(); ++i)
    out.push_back({places[i], i < sources.size() ? stripped(sources[i]) : ""});
  return out;
}

}  // namespace

std::vector<CallerModel> read_callers(const EventRecord& event) {
  return read_list(event, "stack", "stack_sources");
}

std::vector<CallerModel> read_cause(const EventRecord& event) {
  if (event.str("cause_function").empty()) return {};
  const std::string own = place(event.str("file"), event.integer("line")) + " in ";
  std::vector<CallerModel> out{
      {fmt::format("{} in {}", place(event.str("cause_file"), event.integer("cause_line")),
                   event.str("cause_function")),
       stripped(event.str("cause_source"))}};
  for (CallerModel& caller : read_list(event, "cause_stack", "cause_stack_sources")) {
    if (caller.place.starts_with(own)) break;
    out.push_back(std::move(caller));
  }
  return out;
}

std::vector<std::string> call_chain(const std::vector<CallerModel>& callers) {
  std::vector<std::string> out;
  for (size_t i = 0; i < callers.size();) {
    if (!is_of_library(callers[i].place)) {
      const CallerModel& caller = callers[i++];
      out.push_back("called from " + caller.place + (caller.source.empty() ? "" : ":  " + caller.source));
      continue;
    }
    const size_t first = i;
    while (i < callers.size() && is_of_library(callers[i].place)) ++i;
    out.push_back(fmt::format("{} in libraries ({}{})", count_of(static_cast<int64_t>(i - first), "caller"),
                              callers[first].place, i - first > 1 ? ", ..." : ""));
  }
  return out;
}

}  // namespace suture::toolbox
