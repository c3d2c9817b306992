// FrameRecord: what the driver remembers about one compiled callable between compiles: options, sizes that
// turned out to vary, and the events of its compiles (the material of suture.explain on an already compiled
// function).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/compile_context.h"
#include "runtime/code_cache.h"
#include "trace/event.h"
#include "trace/frame_kind.h"

namespace suture {

// Events with long texts, made from what they are about: kept as that until somebody wants the records.
using MakeEvents = std::function<std::vector<Event>()>;
struct UnwrittenEvents {
  double time = 0;
  MakeEvents make;
};

struct FrameRecord : std::enable_shared_from_this<FrameRecord> {
  int id = 0;  // another one after reset()
  FrameKind kind = FrameKind::kFunction;
  std::string function, file;  // of the code object
  int line = 0;
  int user_line = 0;                 // first line of the user's function that this is, or is a part of
  const CodeCache* cache = nullptr;  // null once the callable is gone
  FrameOptions options;
  DynamicPlan dynamic;  // grows: a size that varied once stays symbolic
  int compiles = 0;  // that were started, also those that ended without an entry: none has the id of another
  std::vector<Event> events;                           // at most kMaxRecordedEvents, oldest first
  std::vector<UnwrittenEvents> unwritten;              // belong between them by time; at most as many
  std::vector<std::shared_ptr<FrameRecord>> children;  // resume and iteration functions made by this frame

  std::weak_ptr<FrameRecord> root;  // of the family; empty for the root itself

  // Entries of one frame that break at the same place share their resume function: same code, same callable.
  struct Continuation {
    PyRef code;
    PyRef callable;  // a weak reference: the entries keep it alive
  };
  std::vector<Continuation> continuations;

  static constexpr size_t kMaxRecordedEvents = 4096;
};

}  // namespace suture
