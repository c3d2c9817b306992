// LogRenderer: events in, log records out. Holds what rendering needs to remember: names of frames, breaks
// already shown.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "toolbox/logs/log_settings.h"
#include "toolbox/logs/render.h"

namespace suture::toolbox {

struct LogLine {
  std::string logger;  // "suture.capture.graph_breaks"
  Level level = Level::kInfo;
  std::string artifact;    // "" for a component's own message
  std::string compile_id;  // "0/1"
  std::string file;        // of the event's place
  int64_t line = 0;
  std::string function;
  std::string text;  // safe for terminals
};

class LogRenderer {
 public:
  LogRenderer(LogSettings settings, SourceLine source_line);
  LogRenderer(const LogRenderer&) = delete;
  LogRenderer& operator=(const LogRenderer&) = delete;

  std::vector<LogLine> render(std::string_view json_line);
  // What was collapsed and not yet reported.
  std::vector<LogLine> finish();

 private:
  // Of one event: as it came, and with its names escaped.
  struct Shown {
    const EventRecord& event;
    const EventRecord& for_text;
  };
  bool add_artifacts(const Shown& shown, std::vector<LogLine>& out);
  void add_messages(const Shown& shown, bool filtered, std::vector<LogLine>& out);
  bool passes(const EventRecord& event) const;
  LogLine make_line(const EventRecord& event, std::string logger, Level level, std::string text) const;

  LogSettings settings_;
  std::map<int, FrameName> frames_;  // as they are called; those of context_ are escaped, for texts
  SourceLine source_line_;
  RenderContext context_;
};

}  // namespace suture::toolbox
