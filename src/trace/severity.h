// Severity: how much a piece of news matters to the user. Rows of tables have one, events carry its name.
//
//   error    something does not work: a defect of ours, no compiler, a reached limit
//   warning  costs something, and the user can change it
//   note     worth knowing and normal: what the program asked for, or what costs only once
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace suture {

enum class Severity : uint8_t { kNote, kWarning, kError };

constexpr std::array<std::string_view, 3> kSeverityNames = {"note", "warning", "error"};

constexpr std::string_view name_of(Severity severity) {
  return kSeverityNames[static_cast<size_t>(severity)];
}

constexpr std::optional<Severity> severity_named(std::string_view name) {
  for (size_t i = 0; i < kSeverityNames.size(); ++i)
    if (kSeverityNames[i] == name) return static_cast<Severity>(i);
  return std::nullopt;
}

}  // namespace suture
