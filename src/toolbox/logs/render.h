// Rendering: one event -> the text of one log record. One file per artifact: render_<artifact>.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "toolbox/logs/log_settings.h"
#include "toolbox/model/event_record.h"
#include "toolbox/model/text.h"

namespace suture::toolbox {

// What a frame is called, learned from its frame_start event.
struct FrameName {
  std::string function = "?", file;
  int64_t line = 0;
  std::string str() const;  // "f (FILE:LINE)"
};

struct RenderContext {
  const SourceLine& source_line;
  std::map<int, FrameName> frames;  // by frame id
  std::map<std::string, int> seen;  // breaks already shown in full, troubles of the cache: key -> times
  // Frame and compile of recompiles that were shown and whose cost is not known yet, by artifact that showed them.
  std::set<std::pair<int, int>> recompiling, recompiling_verbose;
  // What the newest source of a graph says of its kernels, by compile and kernel: comments for its machine code.
  std::map<std::pair<std::string, std::string>, std::string> kernel_notes;
  FrameName frame_of(const EventRecord& event) const;
};
// What the frame of an event is called: an event that says it itself is right even when the frame_start was missed.
FrameName frame_of(const std::map<int, FrameName>& frames, const EventRecord& event);

// The texts of an event: one record each; "" = said before; none = nothing to say, so that the component may speak. They
// may hold control characters; the caller escapes.
struct Texts : std::vector<std::string> {
  using std::vector<std::string>::vector;
  Texts(std::string one) { push_back(std::move(one)); }  // NOLINT: implicit on purpose
  Texts(const char* one) { emplace_back(one); }          // NOLINT: implicit on purpose
};
#define SUTURE_ARTIFACT(name, ...) Texts render_##name(const EventRecord& event, RenderContext& context);
#include "toolbox/logs/artifacts.def"

// Quotes the line an event is about: as the event has it, else as `context` finds it.
std::string quote_event(const EventRecord& event, const RenderContext& context);
// "0/1": the compile that an event belongs to, whichever attempt of it.
std::string compile_key(const EventRecord& event);
// Of a calls_during_compile event, a sentence.
std::string calls_during_compile_text(const EventRecord& event);
// Item i of a list, "" beyond its end.
std::string item_of(const std::vector<std::string>& list, size_t i);

// Messages of components: one line per event at a level.
struct ComponentMessage {
  EventId event;
  std::string_view component;
  Level lowest;  // level of the message; some are raised per event
  std::optional<std::string> (*render)(const EventRecord& event, RenderContext& context);
};
const std::vector<ComponentMessage>& component_messages();

}  // namespace suture::toolbox
