// Well-formed UTF-8, as the Unicode standard has it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace suture {

struct Utf8Step {
  size_t length = 1;  // bytes to go on by; at least one
  bool valid = false;
};

// The character at the start of `text`, which is not empty. When it is broken, `length` is that of the longest prefix that
// could have begun a character: what a decoder replaces by one U+FFFD.
inline Utf8Step utf8_step(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  // The second byte's range excludes overlong forms, surrogates and values above U+10FFFF.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    const unsigned char from = i == 1 ? low : 0x80, to = i == 1 ? high : 0xBF;
    if (i >= text.size() || byte(i) < from || byte(i) > to) return {i, false};
  }
  return {length, true};
}

// Length of the character at the start of `text`, 0 when it is broken or the text is empty.
inline size_t utf8_sequence(std::string_view text) {
  if (text.empty()) return 0;
  const Utf8Step step = utf8_step(text);
  return step.valid ? step.length : 0;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    if (!step.valid) return false;
    text.remove_prefix(step.length);
  }
  return true;
}

// Of a whole and valid character.
inline uint32_t utf8_code_point(std::string_view sequence) {
  constexpr unsigned char kLeadMask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  uint32_t point = static_cast<unsigned char>(sequence[0]) & kLeadMask[sequence.size()];
  for (char c : sequence.substr(1)) point = (point << 6) | (static_cast<unsigned char>(c) & 0x3F);
  return point;
}

}  // namespace suture
