// SHA-256, for cache keys and for the digests inside cache entries.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace suture {

using Digest = std::array<uint8_t, 32>;

Digest sha256(std::string_view bytes);
std::string to_hex(const Digest& digest);

}  // namespace suture
