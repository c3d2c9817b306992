// Events: everything a person reads is made from them. The compiler emits; nobody listens -> one mask test.
//
//   if (trace.wants(EventId::kGraphBreak)) trace.emit(Event(EventId::kGraphBreak, id).set("line", 21));
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace suture {

constexpr int kEventSchemaVersion = 1;

enum class EventId : uint8_t {
#define SUTURE_EVENT(id, ...) id,
#include "trace/events.def"
};
enum class Visibility : uint8_t { kQuiet, kShown };
struct EventInfo {
  EventId id;
  std::string_view name;
  Visibility shown;
  std::string_view doc;
};
struct EventFieldInfo {
  EventId event;
  std::string_view name, type, doc;  // type: str | text | int | float | bool | list | dict
};
constexpr uint64_t event_bit(EventId id) { return uint64_t{1} << static_cast<int>(id); }
const EventInfo& info(EventId id);
std::optional<EventId> event_named(std::string_view name);
std::vector<EventInfo> all_events();
std::vector<EventFieldInfo> all_event_fields();

// [frame/compile_attempt]: frame = one wrapped or resume function; compile = n-th compile of it; attempt =
// capture restart.
struct CompileId {
  int frame = -1;  // -1: outside every frame
  int compile = 0;
  int attempt = 0;
  std::string str() const;  // "0/1" or "0/1_2"; "-" outside every frame
};

using EventValue = std::variant<bool, int64_t, double, std::string, std::vector<std::string>,
                                std::vector<std::pair<std::string, double>>>;

class Event {
 public:
  Event(EventId id, CompileId compile) : id(id), compile(compile) {}
  Event& set(std::string_view field, EventValue value) & {
    fields.emplace_back(std::string(field), std::move(value));
    return *this;
  }
  Event&& set(std::string_view field, EventValue value) && {
    fields.emplace_back(std::string(field), std::move(value));
    return std::move(*this);
  }
  const EventValue* find(std::string_view field) const;

  EventId id;
  CompileId compile;
  double time = 0;  // seconds since the epoch, set by Trace::emit
  std::vector<std::pair<std::string, EventValue>> fields;
};

// One line, no newline at the end; always valid JSON in valid UTF-8 (see json_line.cpp for NaN, infinities,
// broken text).
std::string to_json_line(const Event& event);

double seconds_since_epoch();  // what Event::time is in

using Listener = std::function<void(const Event&)>;

class Trace {
 public:
  bool wants(EventId id) const { return (mask_ >> static_cast<int>(id)) & 1u; }
  void emit(Event event);
  int subscribe(uint64_t mask, Listener listener);  // returns a token
  void unsubscribe(int token);
  int64_t failures() const {
    return failures_;
  }  // exceptions that listeners threw; they never reach the compiler

 private:
  struct Subscriber {
    int token;
    uint64_t mask;
    std::shared_ptr<const Listener> listener;
  };
  uint64_t mask_ = 0;
  int64_t failures_ = 0;
  int next_token_ = 1;
  std::vector<Subscriber> subscribers_;
};

}  // namespace suture
