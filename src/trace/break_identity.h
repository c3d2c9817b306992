// What makes two graph_break events records of the same break, for everybody who counts: status, explain, logs.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>

#include "trace/event.h"

namespace suture {

// A place and a cause: however many compiles meet it, and whatever it does to the frames around it.
struct BreakIdentity {
  std::string file;
  int64_t line = 0, column = -1;
  std::string reason_id;
  auto operator<=>(const BreakIdentity&) const = default;
};

// `event`: an Event, or one that was read from a file; both have find(field).
template <class AnyEvent>
BreakIdentity break_identity(const AnyEvent& event) {
  const auto text = [&](std::string_view field) {
    const EventValue* value = event.find(field);
    const auto* found = value ? std::get_if<std::string>(value) : nullptr;
    return found ? *found : std::string();
  };
  const auto number = [&](std::string_view field, int64_t otherwise) {
    const EventValue* value = event.find(field);
    if (const auto* found = value ? std::get_if<int64_t>(value) : nullptr) return *found;
    const auto* found = value ? std::get_if<double>(value) : nullptr;  // numbers of JSON may be read as these
    return found ? static_cast<int64_t>(*found) : otherwise;
  };
  return {text("file"), number("line", 0), number("column", -1), text("reason_id")};
}

}  // namespace suture
