// FrameKind: what a compiled callable was made for. Events and statuses carry the name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace suture {

enum class FrameKind : uint8_t {
  kFunction,   // given to suture.compile
  kResume,     // the rest of a frame after a break
  kIteration,  // the body of a loop that stays in Python
  kCallee,     // a function that a compiled frame calls and could not inline
};

constexpr std::array<std::string_view, 4> kFrameKindNames = {"function", "resume", "iteration", "callee"};

constexpr std::string_view name_of(FrameKind kind) { return kFrameKindNames[static_cast<size_t>(kind)]; }

constexpr std::optional<FrameKind> frame_kind_named(std::string_view name) {
  for (size_t i = 0; i < kFrameKindNames.size(); ++i)
    if (kFrameKindNames[i] == name) return static_cast<FrameKind>(i);
  return std::nullopt;
}

}  // namespace suture
