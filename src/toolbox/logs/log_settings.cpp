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

constexpr std::pair<std::string_view, LogFilter::Kind> kFilterNames[] = {
    {"function", LogFilter::Kind::kFunction}, {"file", LogFilter::Kind::kFile}, {"id", LogFilter::Kind::kId}};

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
      if (one.name.empty() || one.name[0] != '@') std::replace(one.name.begin(), one.name.end(), '-', '_');
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
  return Error::unsupported(
      "logs", fmt::format("unknown log '{}'{}; 'help' lists all", name, did_you_mean(name, known)));
}

Level level_of(char sign) { return sign == '+' ? Level::kDebug : sign == '-' ? Level::kError : Level::kInfo; }

// "@file=*/model.py"
Result<LogFilter> parse_filter(const Switch& item) {
  const size_t equals = item.name.find('=');
  const std::string key(trimmed(std::string_view(item.name).substr(1, equals - 1)));
  std::vector<std::string> known;
  for (const auto& [name, kind] : kFilterNames) {
    known.push_back(fmt::format("@{}=", name));
    if (key != name) continue;
    LogFilter filter{kind, equals == std::string::npos
                               ? std::string()
                               : std::string(trimmed(std::string_view(item.name).substr(equals + 1)))};
    if (filter.pattern.empty() || item.sign)
      return Error::unsupported("logs",
                                fmt::format("log filter '{}{}' is not of the form @{}=pattern",
                                            item.sign ? std::string(1, item.sign) : "", item.name, key));
    return filter;
  }
  return Error::unsupported("logs", fmt::format("unknown log filter '@{}'{}", key,
                                                did_you_mean(fmt::format("@{}=", key), known,
                                                             "; there are @function=, @file= and @id=")));
}

std::string help_text(bool details) {
  std::string out =
      "SUTURE_LOGS=\"graph_breaks,+capture,-guards\": artifacts are on or off (-), components have levels:\n"
      "bare is info, + is debug, - is errors only; `all` is every component.\n"
      "Filters in the same list: @function=f*, @file=*/model.py, @id=0/1.\n"
      "SUTURE_LOGS_OUT=file writes to a file instead of stderr, +file to both. SUTURE_LOGS_FORMAT=compact is "
      "text\n"
      "only, full has time, process, place and compile id; a format of Python's logging works too.\n"
      "Components:\n";
  for (const auto& component : all_components())
    out += fmt::format("  {:<19} {}\n", component.name, component.help);
  out += "Artifacts (* long: only on when named):\n";
  for (const auto& artifact : all_artifacts()) {
    out += fmt::format("  {:<18}{} {}\n", artifact.name, artifact.off_by_default ? '*' : ' ', artifact.help);
    if (!details) continue;
    out += fmt::format("  {:<19} part of {}; from the events", "", artifact.component);
    for (EventId event : artifact.events) out += fmt::format(" {}", suture::info(event).name);
    out += '\n';
  }
  return out;
}

bool matches_file(std::string_view pattern, const std::string& file) {
  if (matches_glob(pattern, file)) return true;
  const size_t slash = file.rfind('/');
  return pattern.find('/') == std::string_view::npos && slash != std::string::npos &&
         matches_glob(pattern, std::string_view(file).substr(slash + 1));
}

bool matches_function(std::string_view pattern, const std::string& function) {
  if (matches_glob(pattern, function)) return true;
  const size_t dot = function.rfind('.');
  return dot != std::string::npos && matches_glob(pattern, std::string_view(function).substr(dot + 1));
}

bool matches_id(std::string_view pattern, std::string_view id) {
  if (matches_glob(pattern, id)) return true;
  for (char end : {'_', '/'})  // without the attempt, then without the compile
    if (const size_t at = id.find(end);
        at != std::string_view::npos && matches_glob(pattern, id.substr(0, at)))
      return true;
  return false;
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

// Greedy, with one point to come back to: linear in practice, never exponential.
bool matches_glob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool ArtifactInfo::fed_by(const EventRecord& event) const {
  return std::any_of(events.begin(), events.end(), [&](EventId id) { return event.is(id); });
}

const std::vector<ArtifactInfo>& all_artifacts() {
  using enum EventId;
  const auto events = [](auto... ids) { return std::vector<EventId>{ids...}; };
  static const std::vector<ArtifactInfo> table = {
#define SUTURE_ARTIFACT(name, component, off_by_default, events, help) \
  {Artifact::name##_, #name, #component, off_by_default, events, help},
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

bool LogSettings::passes(const std::vector<std::string>& functions, const std::vector<std::string>& files,
                         std::string_view id) const {
  for (const auto& [name, kind] : kFilterNames) {
    bool asked = false, found = false;
    for (const LogFilter& filter : filters_) {
      if (filter.kind != kind) continue;
      asked = true;
      const auto fits = [&](const std::string& text) {
        return kind == LogFilter::Kind::kFile ? matches_file(filter.pattern, text)
                                              : matches_function(filter.pattern, text);
      };
      found = found || (kind == LogFilter::Kind::kId
                            ? matches_id(filter.pattern, id)
                            : std::ranges::any_of(kind == LogFilter::Kind::kFile ? files : functions, fits));
    }
    if (asked && !found) return false;
  }
  return true;
}

std::vector<std::string> LogSettings::events() const {
  std::set<std::string> wanted;
  for (const ComponentMessage& message : component_messages())
    if (message.lowest >= level(message.component)) wanted.emplace(suture::info(message.event).name);
  for (Artifact artifact : artifacts_)
    for (EventId event : info(artifact).events) wanted.emplace(suture::info(event).name);
  // Names of functions come from here; every record carries one.
  if (!artifacts_.empty() || !filters_.empty()) wanted.emplace(suture::info(EventId::kFrameStart).name);
  return {wanted.begin(), wanted.end()};
}

Result<LogSettings> parse_log_settings(std::string_view text) {
  LogSettings settings;
  std::map<Artifact, bool> named;
  for (const Switch& one : split_switches(text)) {
    if (!one.name.empty() && one.name[0] == '@') {
      SUTURE_TRY(filter, parse_filter(one));
      settings.filters_.push_back(std::move(filter));
      continue;
    }
    auto artifact = find_by_name(all_artifacts(), one.name);
    auto component = find_by_name(all_components(), one.name);
    // A few names are both: they mean both.
    if (artifact != all_artifacts().end()) named[artifact->artifact] = one.sign != '-';
    if (component != all_components().end()) {
      settings.levels_[one.name] = level_of(one.sign);
    } else if (artifact != all_artifacts().end()) {
      continue;
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
