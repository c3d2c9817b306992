// Small hashing helpers for structural keys (not for security).
#pragma once

#include <cstdint>
#include <string_view>

namespace suture {

inline uint64_t hash_bytes(std::string_view text, uint64_t seed = 0xcbf29ce484222325ull) {
  for (unsigned char c : text) seed = (seed ^ c) * 0x100000001b3ull;
  return seed;
}

inline uint64_t hash_combine(uint64_t a, uint64_t b) {
  return a ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2));
}

}  // namespace suture
