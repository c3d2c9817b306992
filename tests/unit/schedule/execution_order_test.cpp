// What runs before what while groups merge, beside plain sets of edges.
#include "schedule/execution_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace suture {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The same order, every question answered by a walk over the edges.
class EdgeSets {
 public:
  explicit EdgeSets(size_t count) : after_(count) {}
  void put_before(size_t earlier, size_t later) { after_[earlier].insert(later); }
  bool directly_before(size_t earlier, size_t later) const { return after_[earlier].count(later) > 0; }
  bool before(size_t earlier, size_t later) const {
    for (size_t next : after_[earlier])
      if (next == later || before(next, later)) return true;
    return false;
  }
  bool before_through_others(size_t earlier, size_t later) const {
    for (size_t next : after_[earlier])
      if (next != later && before(next, later)) return true;
    return false;
  }
  void merge(size_t into, size_t gone) {
    after_[into].insert(after_[gone].begin(), after_[gone].end());
    after_[gone].clear();
    for (std::set<size_t>& next : after_)
      if (next.erase(gone)) next.insert(into);
    after_[into].erase(into);
  }

 private:
  std::vector<std::set<size_t>> after_;
};

TEST(ExecutionOrder, paths_are_found_directly_and_through_others) {
  ExecutionOrder order(4);
  order.put_before(0, 1);
  order.put_before(1, 2);
  order.put_before(0, 2);
  EXPECT_TRUE(order.directly_before(0, 2) && order.before(0, 2) && order.before_through_others(0, 2));
  EXPECT_FALSE(order.before_through_others(0, 1));
  EXPECT_FALSE(order.before(2, 0) || order.before(0, 3) || order.before(3, 0));
  EXPECT_THAT(order.direct_successors(0), ElementsAre(1, 2));
}

TEST(ExecutionOrder, a_merged_group_has_the_relations_of_both) {
  ExecutionOrder order(5);
  order.put_before(0, 2);
  order.put_before(1, 3);
  order.put_before(3, 4);
  order.merge(2, 3);
  EXPECT_TRUE(order.before(0, 4) && order.before(1, 2) && order.before(1, 4));
  EXPECT_FALSE(order.before(1, 3) || order.before(3, 4));
  EXPECT_THAT(order.direct_successors(1), ElementsAre(2));
  EXPECT_THAT(order.direct_successors(3), IsEmpty());
}

// More than 64 groups in some rounds: rows have several words then.
TEST(ExecutionOrder, equals_plain_edge_sets_while_groups_merge_at_random) {
  std::mt19937_64 rng{20261130};
  size_t merges = 0;
  for (const size_t count : {5, 9, 14, 70}) {
    const auto any = [&] { return std::uniform_int_distribution<size_t>(0, count - 1)(rng); };
    ExecutionOrder order(count);
    EdgeSets edges(count);
    for (size_t later = 1; later < count; ++later)
      for (size_t earlier = later - std::min<size_t>(later, 4); earlier < later; ++earlier)
        if (rng() % 4 == 0) {
          order.put_before(earlier, later);
          edges.put_before(earlier, later);
        }
    std::set<size_t> gone;
    for (size_t attempt = 0; attempt < 4 * count; ++attempt) {
      const size_t a = any(), b = any();
      if (a == b || gone.count(a) || gone.count(b)) continue;
      if (edges.before_through_others(a, b) || edges.before_through_others(b, a)) continue;
      order.merge(a, b);
      edges.merge(a, b);
      gone.insert(b);
      ++merges;
      for (size_t x = 0; x < count; ++x)
        for (size_t y = 0; y < count; ++y) {
          if (x == y) continue;
          ASSERT_EQ(order.directly_before(x, y), edges.directly_before(x, y))
              << count << ": " << x << ", " << y;
          ASSERT_EQ(order.before(x, y), edges.before(x, y)) << count << ": " << x << ", " << y;
          ASSERT_EQ(order.before_through_others(x, y), edges.before_through_others(x, y))
              << count << ": " << x << ", " << y;
        }
    }
  }
  EXPECT_GT(merges, 30u);
}

}  // namespace
}  // namespace suture
