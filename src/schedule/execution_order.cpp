// See execution_order.h.
#include "schedule/execution_order.h"

#include <algorithm>

namespace suture {

void ExecutionOrder::BitRows::unite(size_t into, const uint64_t* other) {
  uint64_t* bits = row(into);
  for (size_t w = 0; w < words_; ++w) bits[w] |= other[w];
}

void ExecutionOrder::BitRows::clear_row(size_t index) { std::fill_n(row(index), words_, 0); }

ExecutionOrder::ExecutionOrder(size_t count)
    : count_(count), direct_(count), descendants_(count), ancestors_(count) {}

void ExecutionOrder::put_before(size_t earlier, size_t later) {
  direct_.set(earlier, later);
  ancestors_.set(later, earlier);
  ancestors_.unite(later, ancestors_.row(earlier));
  for (size_t group = 0; group < count_; ++group)
    if (ancestors_.test(later, group)) descendants_.set(group, later);
}

bool ExecutionOrder::before_through_others(size_t earlier, size_t later) const {
  const uint64_t *next = direct_.row(earlier), *last = ancestors_.row(later);
  for (size_t w = 0; w < direct_.words(); ++w)
    if (next[w] & last[w]) return true;
  return false;
}

void ExecutionOrder::unite_rows(BitRows& rows, size_t into, size_t gone) {
  rows.unite(into, rows.row(gone));
  rows.clear(into, into);
  rows.clear(into, gone);
  rows.clear_row(gone);
}

void ExecutionOrder::merge(size_t into, size_t gone) {
  for (BitRows* rows : {&direct_, &descendants_, &ancestors_}) unite_rows(*rows, into, gone);
  for (size_t group = 0; group < count_; ++group) {
    if (direct_.test(group, gone)) {
      direct_.clear(group, gone);
      direct_.set(group, into);
    }
    const auto unite_with = [&](BitRows& rows, bool related) {
      rows.clear(group, gone);
      if (!related) return;
      rows.set(group, into);
      rows.unite(group, rows.row(into));
    };
    unite_with(descendants_, ancestors_.test(into, group));
    unite_with(ancestors_, descendants_.test(into, group));
  }
}

std::vector<size_t> ExecutionOrder::direct_successors(size_t group) const {
  std::vector<size_t> successors;
  for (size_t other = 0; other < count_; ++other)
    if (direct_.test(group, other)) successors.push_back(other);
  return successors;
}

}  // namespace suture
