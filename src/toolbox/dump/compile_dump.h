// CompileDump: the events of one compile, as the writers of its files see them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "toolbox/decompile/decompile.h"
#include "toolbox/model/event_record.h"
#include "toolbox/model/text.h"

namespace suture::toolbox {

struct CompileDump {
  CompileId compile;
  std::string function = "?", kind, file;
  int64_t line = 0;
  std::vector<EventRecord> events;
  std::vector<std::string> lines;  // the same events as they came
  const SourceLine* source_line = nullptr;
  const CompileSource* compile_source = nullptr;  // checks decompiled text; null: it stays unverified
  const std::string* build_flags = nullptr;       // that give kernels the meaning they have in Suture

  const EventRecord* last(EventId id) const {
    for (auto event = events.rbegin(); event != events.rend(); ++event)
      if (event->is(id)) return &*event;
    return nullptr;
  }
  std::string text_of(EventId id, std::string_view field) const {
    const EventRecord* event = last(id);
    return event ? event->str(field) : std::string();
  }
  std::string id() const { return CompileId{compile.frame, compile.compile, 0}.str(); }
  // "graph f of compile 0/1 of f (FILE:LINE)", without anything that could end a comment or a string.
  std::string title() const;
};

}  // namespace suture::toolbox
