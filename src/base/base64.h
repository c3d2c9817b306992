// Base64 (RFC 4648, with padding): bytes in events, which are text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace suture {

inline constexpr std::string_view kBase64Alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

inline std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0u);
    for (size_t k = 0; k < 4; ++k)
      text += k <= group.size() ? kBase64Alphabet[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// Empty: not such a text.
inline std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::array<int, 256> value;
  value.fill(-1);
  for (size_t i = 0; i < kBase64Alphabet.size(); ++i)
    value[static_cast<unsigned char>(kBase64Alphabet[i])] = static_cast<int>(i);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 4; ++k) {
      const bool pad = i + k >= text.size() - padding;
      const int digit = pad ? 0 : value[static_cast<unsigned char>(text[i + k])];
      if (digit < 0) return std::nullopt;
      bits = bits << 6 | static_cast<uint32_t>(digit);
    }
    for (size_t k = 0; k < 3; ++k) bytes += static_cast<char>(bits >> (16 - 8 * k) & 255);
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace suture
