// Events: names from events.def, and delivery to listeners.
//
// Invariants
//   - Delivery never fails the compiler: an exception thrown by a listener ends there and is counted in
//     failures().
//   - A listener may subscribe or unsubscribe while an event is delivered. One that was unsubscribed is not
//     called again, not even for the event under way, because what it captured may be gone.
//   - Callers serialise emit/subscribe/unsubscribe (in the process they run under the interpreter lock).
#include "trace/event.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>

namespace suture {
namespace {

constexpr EventInfo kEvents[] = {
#define SUTURE_EVENT(id, name, shown, doc) {EventId::id, name, Visibility::shown, doc},
#include "trace/events.def"
};
static_assert(std::size(kEvents) <= 64, "Trace keeps its subscriptions in one 64-bit mask");

constexpr EventFieldInfo kFields[] = {
#define SUTURE_EVENT_FIELD(event, field, type, doc) {EventId::event, #field, #type, doc},
#include "trace/events.def"
};

}  // namespace

double seconds_since_epoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

const EventInfo& info(EventId id) { return kEvents[static_cast<size_t>(id)]; }

std::optional<EventId> event_named(std::string_view name) {
  const auto* found = std::ranges::find(kEvents, name, &EventInfo::name);
  return found == std::end(kEvents) ? std::nullopt : std::optional(found->id);
}

std::vector<EventInfo> all_events() { return {std::begin(kEvents), std::end(kEvents)}; }

std::vector<EventFieldInfo> all_event_fields() { return {std::begin(kFields), std::end(kFields)}; }

std::string CompileId::str() const {
  if (frame < 0) return "-";
  std::string text = std::to_string(frame) + "/" + std::to_string(compile);
  if (attempt > 0) text += "_" + std::to_string(attempt);
  return text;
}

const EventValue* Event::find(std::string_view field) const {
  auto it = std::ranges::find(fields, field, &std::pair<std::string, EventValue>::first);
  return it == fields.end() ? nullptr : &it->second;
}

void Trace::emit(Event event) {
  if (!wants(event.id)) return;
  event.time = seconds_since_epoch();
  const uint64_t bit = uint64_t{1} << static_cast<int>(event.id);
  std::vector<int> tokens;
  for (const Subscriber& s : subscribers_)
    if (s.mask & bit) tokens.push_back(s.token);
  for (int token : tokens) {
    auto it = std::ranges::find(subscribers_, token, &Subscriber::token);
    if (it == subscribers_.end()) continue;
    const auto listener = it->listener;  // shared: the listener may unsubscribe itself
    try {
      (*listener)(event);
    } catch (const abi::__forced_unwind&) {
      throw;  // the thread is being ended
    } catch (...) {
      ++failures_;
    }
  }
}

int Trace::subscribe(uint64_t mask, Listener listener) {
  subscribers_.push_back({next_token_, mask, std::make_shared<const Listener>(std::move(listener))});
  mask_ |= mask;
  return next_token_++;
}

void Trace::unsubscribe(int token) {
  std::erase_if(subscribers_, [token](const Subscriber& s) { return s.token == token; });
  mask_ = 0;
  for (const Subscriber& s : subscribers_) mask_ |= s.mask;
}

}  // namespace suture
