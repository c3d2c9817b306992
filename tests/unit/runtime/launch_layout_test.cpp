// Sizes of launch plans, and the arena that temporaries share.
#include "runtime/launch_layout.h"

#include "launch_fixture.h"

namespace suture {
namespace {

using Layouts = LaunchFixture;
using Kind = BufferSpec::Kind;

TEST_F(Layouts, temporaries_that_never_live_together_share_memory) {
  const int a = input({8}), first = temporary({8}), second = temporary({8}), third = temporary({8}),
            out = output({8});
  kernel("k0", kernel_add, {a, a, first}, {8});
  kernel("k1", kernel_add, {first, first, second}, {8});
  kernel("k2", kernel_add, {second, second, third}, {8});
  kernel("k3", kernel_add, {third, third, out}, {8});
  LaunchLayout layout;
  evaluate_layout(graph.plan, {}, layout);
  ASSERT_TRUE(layout.valid);
  EXPECT_EQ(layout.buffers[static_cast<size_t>(first)].arena_offset, 0);
  EXPECT_EQ(layout.buffers[static_cast<size_t>(second)].arena_offset, 64);
  EXPECT_EQ(layout.buffers[static_cast<size_t>(third)].arena_offset, 0);
  EXPECT_EQ(layout.arena_bytes, 128);
  EXPECT_TRUE(is_static(graph.plan));
}

TEST_F(Layouts, a_view_keeps_its_temporary_alive) {
  const int a = input({8}), first = temporary({8}), part = view(first, {4}, {1}, 4), second = temporary({8}),
            out = output({4});
  kernel("k0", kernel_add, {a, a, first}, {8});
  kernel("k1", kernel_add, {a, a, second}, {8});
  kernel("k2", kernel_add, {part, second, out}, {4});
  LaunchLayout layout;
  evaluate_layout(graph.plan, {}, layout);
  EXPECT_EQ(layout.buffers[static_cast<size_t>(second)].arena_offset, 64);
  EXPECT_EQ(layout.buffers[static_cast<size_t>(part)].byte_offset, 32);
}

TEST_F(Layouts, sizes_follow_the_symbols) {
  const SymInt n = SymInt::symbol(0);
  const int a = input({n, 3});
  kernel("k", kernel_add, {a, a, output({n, 3})}, {n * 3});
  EXPECT_FALSE(is_static(graph.plan));
  LaunchLayout layout;
  const int64_t symbols[] = {5};
  evaluate_layout(graph.plan, symbols, layout);
  EXPECT_THAT(layout.shape(a), ::testing::ElementsAre(5, 3));
  EXPECT_THAT(layout.stride(a), ::testing::ElementsAre(3, 1));
  EXPECT_EQ(layout.sizes.front(), 15);
  EXPECT_EQ(layout.buffers[1].bytes, 120);
}

TEST_F(Layouts, negative_sizes_and_outputs_with_gaps_are_invalid) {
  const int64_t symbols[] = {-1};
  output({SymInt::symbol(0)});
  LaunchLayout layout;
  evaluate_layout(graph.plan, symbols, layout);
  EXPECT_FALSE(layout.valid);
  graph = {};
  BufferSpec gaps = buffer(Kind::kOutput, {4});
  gaps.strides = {2};
  add(gaps);
  evaluate_layout(graph.plan, {}, layout);
  EXPECT_FALSE(layout.valid);
}

}  // namespace
}  // namespace suture
