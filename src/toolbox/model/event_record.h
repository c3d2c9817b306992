// EventRecord: one event as the toolbox reads it, from a line of JSON. Unknown events and fields are kept.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "trace/event.h"

namespace suture::toolbox {

struct EventRecord {
  std::string name;              // "graph_break"; "" in the header line of a trace file
  std::optional<EventId> event;  // none for events this version does not know
  CompileId compile;
  std::string id;  // "0/1", or "" outside every frame
  double time = 0;
  std::vector<std::pair<std::string, EventValue>> fields;

  bool is(EventId wanted) const { return event == wanted; }
  const EventValue* find(std::string_view field) const;
  // Missing fields and fields of another type read as empty, 0 or false: a reader of foreign lines must not
  // trust them.
  std::string str(std::string_view field) const;
  int64_t integer(std::string_view field, int64_t fallback = 0) const;
  double number(std::string_view field) const;
  bool flag(std::string_view field) const;
  const std::vector<std::string>& list(std::string_view field) const;
  const std::vector<std::pair<std::string, double>>& dict(std::string_view field) const;
};

// For texts that are made of lines: names and sentences of the record with their control characters escaped, ends of lines
// included. Fields of type `text` (events.def) keep theirs.
EventRecord for_lines(EventRecord record);

// Header lines of trace files ({"schema": ...} without "event") give a record with an empty name.
Result<EventRecord> parse_event(std::string_view line);

}  // namespace suture::toolbox
