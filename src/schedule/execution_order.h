// ExecutionOrder: which groups of statements have to run before which, while groups are merged.
//
// How it works: direct relations and their transitive closure are rows of bits, in both directions, so that
// every question is one pass over a row. Merging two groups unites what has to run before them and after them.
// Invariants
//   - The order is acyclic: merge() is called only when no path between the two goes through a third group.
//   - Both closures are exact after every call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace suture {

class ExecutionOrder {
 public:
  explicit ExecutionOrder(size_t count);
  // `later` has no successors yet: relations are added statement by statement.
  void put_before(size_t earlier, size_t later);
  bool directly_before(size_t earlier, size_t later) const { return direct_.test(earlier, later); }
  bool before(size_t earlier, size_t later) const { return descendants_.test(earlier, later); }
  // A path from `earlier` to `later` over at least one other group.
  bool before_through_others(size_t earlier, size_t later) const;
  void merge(size_t into, size_t gone);
  std::vector<size_t> direct_successors(size_t group) const;

 private:
  class BitRows {
   public:
    explicit BitRows(size_t count) : words_((count + 63) / 64), bits_(words_ * count) {}
    size_t words() const { return words_; }
    uint64_t* row(size_t index) { return bits_.data() + index * words_; }
    const uint64_t* row(size_t index) const { return bits_.data() + index * words_; }
    bool test(size_t index, size_t bit) const { return row(index)[bit / 64] >> (bit % 64) & 1; }
    void set(size_t index, size_t bit) { row(index)[bit / 64] |= uint64_t{1} << (bit % 64); }
    void clear(size_t index, size_t bit) { row(index)[bit / 64] &= ~(uint64_t{1} << (bit % 64)); }
    void unite(size_t into, const uint64_t* other);
    void clear_row(size_t index);

   private:
    size_t words_;
    std::vector<uint64_t> bits_;
  };

  static void unite_rows(BitRows& rows, size_t into, size_t gone);

  size_t count_;
  BitRows direct_;       // row: earlier, bit: later
  BitRows descendants_;  // row: earlier, bit: later
  BitRows ancestors_;    // row: later, bit: earlier
};

}  // namespace suture
