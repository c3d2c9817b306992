// LogSettings: what SUTURE_LOGS asks for.
//
// Syntax: comma list of names with an optional + or - in front.
//   artifact    on;  +artifact on;  -artifact off, even when something else would switch it on
//   component   level info;  +component debug;  -component errors only
//   a name that is both means both
//   all         every component at info;  +all debug
//   help        prints the names and goes on;  +help with what feeds each of them
// Filters, in the same list:
//   @function=f*        name or qualified name of a function
//   @file=*/model.py    path, or file name when the pattern has no slash
//   @id=0/1             compile id; 0 is every compile of frame 0, 0/1 includes its attempts
// Patterns know * and ?. Filters of one kind are alternatives, different kinds must all hold. What is visible without
// any setting (warnings, errors) is never filtered.
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
#define SUTURE_ARTIFACT(name, ...) name##_,  // a name may be a word of C++: asm
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

struct LogFilter {
  enum class Kind : uint8_t { kFunction, kFile, kId } kind = Kind::kFunction;
  std::string pattern;
};

// `text` as a shell would match it: * any characters, ? one, everything else itself.
bool matches_glob(std::string_view pattern, std::string_view text);

class LogSettings {
 public:
  bool on(Artifact artifact) const { return artifacts_.contains(artifact); }
  bool anything() const { return !artifacts_.empty() || !levels_.empty(); }
  Level level(std::string_view component) const;  // kWarning unless set
  std::vector<std::string> artifacts() const;
  std::vector<std::string> events() const;  // what to subscribe to, default-visible events included
  const std::string& help() const { return help_; }
  bool filters() const { return !filters_.empty(); }
  // `functions`, `files`: what an event names itself and what its frame is called.
  bool passes(const std::vector<std::string>& functions, const std::vector<std::string>& files,
              std::string_view id) const;

  friend Result<LogSettings> parse_log_settings(std::string_view text);

 private:
  std::set<Artifact> artifacts_;
  std::map<std::string, Level, std::less<>> levels_;
  std::string help_;
  std::vector<LogFilter> filters_;
};

Result<LogSettings> parse_log_settings(std::string_view text);

}  // namespace suture::toolbox
