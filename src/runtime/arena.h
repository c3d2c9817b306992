// Arena: one block of memory that grows and is used again by the next call.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace suture {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { std::free(data_); }

  // At least `bytes`, aligned for vector registers and cache lines; null when there is no memory (or bytes is
  // 0 at first).
  void* reserve(int64_t bytes) {
    if (bytes <= capacity_) return data_;
    std::free(data_);
    capacity_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    data_ = std::aligned_alloc(kAlignment, static_cast<size_t>(capacity_));
    if (data_ == nullptr) capacity_ = 0;
    return data_;
  }
  void* data() const { return data_; }
  // Gives memory back that is too large to hold between calls.
  void trim() {
    if (capacity_ <= kKeptBytes) return;
    std::free(data_);
    data_ = nullptr;
    capacity_ = 0;
  }

 private:
  static constexpr int64_t kAlignment = 64;
  static constexpr int64_t kKeptBytes = int64_t{64} << 20;
  void* data_ = nullptr;
  int64_t capacity_ = 0;
};

}  // namespace suture
