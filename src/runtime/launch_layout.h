// LaunchLayout: the sizes of a launch plan for given symbol values.
//
// Overview
//   Shapes, strides and byte sizes of every buffer, offsets of views, the `sizes` arguments of every kernel,
//   and the place of every temporary in one arena. Temporaries whose lives (first to last step that touches
//   them) do not overlap share memory.
// Invariants
//   - Static plans are evaluated once; others when a symbol has another value than in the call before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/launch_plan.h"

namespace suture {

struct BufferLayout {
  int first = 0;  // into LaunchLayout::shapes and ::strides
  int ndim = 0;
  int64_t elements = 1;
  int64_t bytes = 0;         // memory from the first to one past the last element
  int64_t byte_offset = 0;   // views: from the start of the base
  int64_t arena_offset = 0;  // temporaries
};

struct LaunchLayout {
  std::vector<BufferLayout> buffers;
  std::vector<BufferLayout> overwritten;  // LaunchPlan::overwritten
  std::vector<int64_t> shapes, strides;   // strides in elements
  std::vector<int64_t> sizes;             // kernel arguments, step after step
  std::vector<int> first_size;            // per step
  int64_t arena_bytes = 0;
  bool valid = false;  // false: a size is negative or leaves int64, or an output would not be dense

  std::span<const int64_t> shape(int buffer) const { return shape(buffers[static_cast<size_t>(buffer)]); }
  std::span<const int64_t> stride(int buffer) const { return stride(buffers[static_cast<size_t>(buffer)]); }
  std::span<const int64_t> shape(const BufferLayout& of) const { return span_of(shapes, of); }
  std::span<const int64_t> stride(const BufferLayout& of) const { return span_of(strides, of); }

 private:
  static std::span<const int64_t> span_of(const std::vector<int64_t>& values, const BufferLayout& of) {
    return {values.data() + of.first, static_cast<size_t>(of.ndim)};
  }
};

// Buffer that owns the memory of `buffer`.
int root_of(const LaunchPlan& plan, int buffer);
bool is_static(const LaunchPlan& plan);
void evaluate_layout(const LaunchPlan& plan, std::span<const int64_t> symbols, LaunchLayout& layout);

}  // namespace suture
