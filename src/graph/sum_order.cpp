#include "graph/sum_order.h"

#include <algorithm>

namespace suture {
namespace {

constexpr int64_t kBufferElements = 8192;  // np.getbufsize()

// One axis after merging, innermost first in the vectors below.
struct MergedAxis {
  SymInt extent, stride;  // stride of the operand
  bool reduced = false;
  std::vector<int> members;  // axes of the nest, innermost first
};

std::optional<SymInt> absolute(const SymInt& value, const ShapeEnv& env) {
  if (env.proves(Relation::kLe, SymInt(0), value) == true) return value;
  if (env.proves(Relation::kLe, value, SymInt(0)) == true) return -value;
  return std::nullopt;
}

// |a| <= |b|, when provable.
std::optional<bool> not_longer(const SymInt& a, const SymInt& b, const ShapeEnv& env) {
  const auto left = absolute(a, env), right = absolute(b, env);
  if (!left || !right) return std::nullopt;
  return env.proves(Relation::kLe, *left, *right);
}

std::vector<MergedAxis> merge_axes(const std::vector<int>& inner_first, const SumOrderQuery& query) {
  std::vector<MergedAxis> merged;
  for (int axis : inner_first) {
    const SymInt& extent = query.shape[axis];
    if (extent == SymInt(1)) continue;
    if (!merged.empty() && merged.back().reduced == query.reduced[axis] &&
        merged.back().stride * merged.back().extent == query.strides[axis]) {
      merged.back().extent = merged.back().extent * extent;
      merged.back().members.push_back(axis);
      continue;
    }
    merged.push_back({extent, query.strides[axis], query.reduced[axis], {axis}});
  }
  return merged;
}

struct Buffering {
  size_t dims = 1;    // merged axes that form one run
  int64_t chunk = 0;  // 0: the run as a whole
};

// NumPy weighs copying operands into a buffer against short inner loops: `cost` counts buffered operands
// (plus one), and a longer run wins when cost grows less than its length. Only axes before the first kept
// axis can extend a run.
std::optional<Buffering> choose_run(const std::vector<MergedAxis>& axes, bool converted) {
  std::vector<int64_t> extents;
  for (const MergedAxis& axis : axes) {
    const auto extent = axis.extent.constant();
    if (!extent) return std::nullopt;
    extents.push_back(*extent);
  }
  int cost = converted ? 2 : 1, best_cost = cost;
  int64_t size = extents[0], best_size = size, best_core = 1;
  size_t best = 0, kept_from = 0;
  bool operand_merges = true, result_merges = true;
  for (size_t dim = 1; dim < axes.size() && kept_from == 0; ++dim) {
    if (size >= kBufferElements && cost > 1) break;
    const bool merges = axes[dim - 1].stride * axes[dim - 1].extent == axes[dim].stride;
    if (operand_merges && !merges) {
      operand_merges = false;
      if (!converted) ++cost;
    }
    if (!axes[dim].reduced) {
      if (result_merges) ++cost;
      result_merges = false;
      kept_from = dim;
    }
    const int64_t core = size;
    size *= extents[dim];
    const int64_t limited = size > kBufferElements && cost > 1 ? kBufferElements : size;
    if (static_cast<double>(cost) * static_cast<double>(best_size) <=
        static_cast<double>(best_cost) * static_cast<double>(limited)) {
      best_cost = cost;
      best_core = core;
      best_size = size;
      best = dim;
    }
  }
  if (kept_from != 0 && best == kept_from) return Buffering{best, 0};  // one run per core
  const bool buffered = converted || best > 0;
  if (!buffered || best_size <= kBufferElements) return Buffering{best + 1, 0};
  return Buffering{best + 1, best_core * (kBufferElements / best_core)};
}

ReduceOrder split_order(const std::vector<int>& inner_first, const std::vector<MergedAxis>& merged,
                        size_t run_dims) {
  ReduceOrder order;
  std::vector<int> run;
  for (size_t dim = 0; dim < run_dims; ++dim)
    run.insert(run.end(), merged[dim].members.begin(), merged[dim].members.end());
  order.run.assign(run.rbegin(), run.rend());
  for (auto axis = inner_first.rbegin(); axis != inner_first.rend(); ++axis)
    if (std::find(run.begin(), run.end(), *axis) == run.end()) order.outer.push_back(*axis);
  return order;
}

}  // namespace

std::optional<std::vector<int>> axes_by_stride(std::span<const SymInt> shape, std::span<const SymInt> strides,
                                               const ShapeEnv& env) {
  // NumPy's stable insertion sort, innermost first; an axis with stride 0 compares with nothing.
  const int rank = static_cast<int>(shape.size());
  std::vector<int> order;
  for (int axis = rank - 1; axis >= 0; --axis) {
    size_t position = order.size();
    for (size_t i = order.size(); i-- > 0;) {
      const SymInt& mine = strides[axis];
      const SymInt& other = strides[order[i]];
      if (mine == SymInt(0) || other == SymInt(0)) continue;
      const auto stays = not_longer(other, mine, env);
      if (!stays) return std::nullopt;
      if (*stays) break;
      position = i;
    }
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(position), axis);
  }
  return std::vector<int>(order.rbegin(), order.rend());
}

SumOrder numpy_sum_order(const SumOrderQuery& query, const ShapeEnv& env) {
  const auto outer_first = axes_by_stride(query.shape, query.strides, env);
  if (!outer_first) return {std::nullopt, "strides of the operand cannot be ordered for every size"};
  const std::vector<int> inner_first(outer_first->rbegin(), outer_first->rend());
  const std::vector<MergedAxis> merged = merge_axes(inner_first, query);
  if (merged.empty() || !merged[0].reduced) return {split_order(inner_first, merged, 0), ""};

  const bool gathered = merged.size() > 1 && merged[1].reduced;
  const bool chunked = query.converted || query.numpy_minor < 3;
  if (!gathered) {
    ReduceOrder order = split_order(inner_first, merged, 1);
    order.chunk = chunked ? kBufferElements : 0;
    return {std::move(order), ""};
  }
  if (query.numpy_minor < 3) return {std::nullopt, "a strided sum over several axes before NumPy 2.3"};
  const auto buffering = choose_run(merged, query.converted);
  if (!buffering) return {std::nullopt, "a strided sum over several axes whose sizes are symbols"};
  ReduceOrder order = split_order(inner_first, merged, buffering->dims);
  order.chunk = buffering->chunk;
  return {std::move(order), ""};
}

}  // namespace suture
