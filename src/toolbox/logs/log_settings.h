// LogSettings: what SUTURE_LOGS asks for.
//
// Syntax: comma list of names with an optional + or - in front.
//   artifact    on;  +artifact on;  -artifact off, even when something else would switch it on
//   component   level info;  +component debug;  -component errors only
//   all         every component at info;  +all debug
//   help        prints the names and goes on;  +help also those that are off by default
// Later items win over earlier ones. An unknown name is an error that names the nearest one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "toolbox/model/event_record.h"

namespace suture::toolbox {

enum class Level : uint8_t { kDebug, kInfo, kWarning, kError };
std::string_view level_name(Level level);  // "debug"

enum class Artifact : uint8_t {
#define SUTURE_ARTIFACT(name, ...) name,
#include "toolbox/logs/artifacts.def"
};
struct ArtifactInfo {
  Artifact artifact;
  std::string_view name, component;
  bool off_by_default;
  std::vector<EventId> events;
  std::string_view help;
  bool fed_by(const EventRecord& event) const;
};
const std::vector<ArtifactInfo>& all_artifacts();
const ArtifactInfo& info(Artifact artifact);

struct ComponentInfo {
  std::string_view name, help;
};
const std::vector<ComponentInfo>& all_components();

class LogSettings {
 public:
  bool on(Artifact artifact) const { return artifacts_.contains(artifact); }
  bool anything() const { return !artifacts_.empty() || !levels_.empty(); }
  Level level(std::string_view component) const;  // kWarning unless set
  std::vector<std::string> artifacts() const;
  std::vector<std::string> events() const;  // what to subscribe to, default-visible events included
  const std::string& help() const { return help_; }

  friend Result<LogSettings> parse_log_settings(std::string_view text);

 private:
  std::set<Artifact> artifacts_;
  std::map<std::string, Level, std::less<>> levels_;
  std::string help_;
};

Result<LogSettings> parse_log_settings(std::string_view text);

}  // namespace suture::toolbox
