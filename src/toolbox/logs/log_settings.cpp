// Parsing SUTURE_LOGS. Switches are collected per name first and resolved at the end, so that
// "-guards,+capture" and
// "+capture,-guards" mean the same: an artifact that was named is exactly what its last mention says.
#include "toolbox/logs/log_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest_name.h"
#include "toolbox/logs/render.h"

namespace suture::toolbox {
namespace {

struct Switch {
  char sign = 0;  // '+', '-' or 0
  std::string name;
};

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::vector<Switch> split_switches(std::string_view text) {
  std::vector<Switch> out;
  while (true) {
    size_t comma = text.find(',');
    std::string_view item = trimmed(text.substr(0, comma));
    if (!item.empty()) {
      Switch one;
      if (item[0] == '+' || item[0] == '-') {
        one.sign = item[0];
        item = trimmed(item.substr(1));
      }
      one.name = std::string(item);
      std::replace(one.name.begin(), one.name.end(), '-', '_');
      out.push_back(one);
    }
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

template <class Table>
auto find_by_name(const Table& table, std::string_view name) {
  return std::find_if(table.begin(), table.end(), [&](const auto& row) { return row.name == name; });
}

Error unknown_name(const std::string& name) {
  std::vector<std::string> known{"all", "help"};
  for (const auto& artifact : all_artifacts()) known.emplace_back(artifact.name);
  for (const auto& component : all_components()) known.emplace_back(component.name);
  std::string near = nearest_name(name, known);
  std::string message = fmt::format("unknown log '{}'", name);
  message += near.empty() ? "; 'help' lists the known ones"
                          : fmt::format("; did you mean '{}'? 'help' lists all", near);
  return Error::unsupported("logs", message);
}

Level level_of(char sign) { return sign == '+' ? Level::kDebug : sign == '-' ? Level::kError : Level::kInfo; }

std::string help_text(bool everything) {
  std::string out =
      "SUTURE_LOGS=\"graph_breaks,+capture,-guards\": artifacts are on or off (-), components have levels:\n"
      "bare is info, + is debug, - is errors only.\nComponents:\n";
  for (const auto& component : all_components())
    out += fmt::format("  {:<19} {}\n", component.name, component.help);
  out += "Artifacts:\n";
  size_t hidden = 0;
  for (const auto& artifact : all_artifacts()) {
    if (artifact.off_by_default && !everything)
      ++hidden;
    else
      out += fmt::format("  {:<19} {}\n", artifact.name, artifact.help);
  }
  if (hidden) out += fmt::format("  and {} with long output; +help lists them\n", hidden);
  return out;
}

}  // namespace

std::string_view level_name(Level level) {
  switch (level) {
    case Level::kDebug: return "debug";
    case Level::kInfo: return "info";
    case Level::kWarning: return "warning";
    case Level::kError: return "error";
  }
  return "";
}

bool ArtifactInfo::fed_by(const EventRecord& event) const {
  return std::any_of(events.begin(), events.end(), [&](EventId id) { return event.is(id); });
}

const std::vector<ArtifactInfo>& all_artifacts() {
  using enum EventId;
  const auto events = [](auto... ids) { return std::vector<EventId>{ids...}; };
  static const std::vector<ArtifactInfo> table = {
#define SUTURE_ARTIFACT(name, component, off_by_default, events, help) \
  {Artifact::name, #name, #component, off_by_default, events, help},
#include "toolbox/logs/artifacts.def"
  };
  return table;
}

const ArtifactInfo& info(Artifact artifact) { return all_artifacts()[static_cast<size_t>(artifact)]; }

const std::vector<ComponentInfo>& all_components() {
  static const std::vector<ComponentInfo> table = {
#define SUTURE_COMPONENT(name, help) {#name, help},
#include "toolbox/logs/components.def"
  };
  return table;
}

Level LogSettings::level(std::string_view component) const {
  auto found = levels_.find(component);
  return found == levels_.end() ? Level::kWarning : found->second;
}

std::vector<std::string> LogSettings::artifacts() const {
  std::vector<std::string> out;
  for (Artifact artifact : artifacts_) out.emplace_back(info(artifact).name);
  return out;
}

std::vector<std::string> LogSettings::events() const {
  std::set<std::string> wanted;
  for (const ComponentMessage& message : component_messages())
    if (message.lowest >= level(message.component)) wanted.emplace(suture::info(message.event).name);
  for (Artifact artifact : artifacts_)
    for (EventId event : info(artifact).events) wanted.emplace(suture::info(event).name);
  // Names of functions come from here; every record carries one.
  if (!artifacts_.empty()) wanted.emplace(suture::info(EventId::kFrameStart).name);
  return {wanted.begin(), wanted.end()};
}

Result<LogSettings> parse_log_settings(std::string_view text) {
  LogSettings settings;
  std::map<Artifact, bool> named;
  for (const Switch& one : split_switches(text)) {
    auto artifact = find_by_name(all_artifacts(), one.name);
    auto component = find_by_name(all_components(), one.name);
    if (artifact != all_artifacts().end()) {
      named[artifact->artifact] = one.sign != '-';
    } else if (component != all_components().end()) {
      settings.levels_[one.name] = level_of(one.sign);
    } else if (one.name == "all") {
      for (const auto& each : all_components()) settings.levels_[std::string(each.name)] = level_of(one.sign);
    } else if (one.name == "help") {
      settings.help_ = help_text(one.sign == '+');
    } else {
      return unknown_name(one.name);
    }
  }
  for (const auto& artifact : all_artifacts()) {
    bool by_component = !artifact.off_by_default && settings.level(artifact.component) == Level::kDebug;
    auto mention = named.find(artifact.artifact);
    if (mention == named.end() ? by_component : mention->second)
      settings.artifacts_.insert(artifact.artifact);
  }
  return settings;
}

}  // namespace suture::toolbox
