#include "schedule/loop_order.h"

#include <algorithm>

#include "graph/sum_order.h"
#include "schedule/axis_map.h"

namespace suture {
namespace {

const SymInt kOne(1), kZero(0);

std::vector<Access*> mutable_accesses(Nest& nest) {
  std::vector<Access*> accesses;
  for (Expr& expr : nest.exprs)
    if (expr.kind == Expr::Kind::kLoad) accesses.push_back(&expr.access);
  for (Store& store : nest.stores) accesses.push_back(&store.access);
  return accesses;
}

std::vector<int> natural_order(size_t rank) {
  std::vector<int> order;
  for (size_t axis = 0; axis < rank; ++axis) order.push_back(static_cast<int>(axis));
  return order;
}

// The store that moves along every axis decides; without one the order of the axes stays.
std::vector<int> elementwise_order(const Nest& nest, const ShapeEnv& env) {
  for (const Store& store : nest.stores) {
    bool full = true;
    for (size_t axis = 0; axis < nest.extents.size(); ++axis)
      full = full && (nest.extents[axis] == kOne || !(store.access.strides[axis] == kZero));
    if (!full) continue;
    if (const auto order = axes_by_stride(nest.extents, store.access.strides, env)) return *order;
  }
  return natural_order(nest.extents.size());
}

bool indexes_axis(const Nest& nest, int axis) {
  return std::any_of(nest.exprs.begin(), nest.exprs.end(),
                     [&](const Expr& expr) { return expr.kind == Expr::Kind::kAxis && expr.axis == axis; });
}

bool mergeable(const Nest& nest, int outer, int inner) {
  if (indexes_axis(nest, outer) || indexes_axis(nest, inner)) return false;
  for (const Access* access : all_accesses(nest))
    if (!(access->strides[outer] == access->strides[inner] * nest.extents[inner])) return false;
  return true;
}

// One new axis for each old one that is not of extent 1.
std::vector<std::vector<int>> single_axes(const Nest& nest, const std::vector<int>& section) {
  std::vector<std::vector<int>> groups;
  for (int axis : section)
    if (!(nest.extents[axis] == kOne)) groups.push_back({axis});
  return groups;
}

// Groups of old axes (outermost first) that become one new axis each.
std::vector<std::vector<int>> merge_section(const Nest& nest, const std::vector<int>& section,
                                            const std::vector<bool>& reduced) {
  std::vector<std::vector<int>> merged;
  for (int axis : section) {
    if (nest.extents[axis] == kOne) continue;
    if (!merged.empty() && reduced[merged.back().back()] == reduced[axis] &&
        mergeable(nest, merged.back().back(), axis))
      merged.back().push_back(axis);
    else
      merged.push_back({axis});
  }
  return merged;
}

void apply_order(Nest& nest, const std::vector<std::vector<int>>& groups, size_t outer_groups) {
  std::vector<int> new_axis(nest.extents.size(), -1);
  std::vector<SymInt> extents;
  for (size_t g = 0; g < groups.size(); ++g) {
    SymInt extent = 1;
    for (int axis : groups[g]) {
      extent = extent * nest.extents[axis];
      new_axis[axis] = static_cast<int>(g);
    }
    extents.push_back(extent);
  }
  for (Access* access : mutable_accesses(nest)) {
    std::vector<SymInt> strides;
    for (const auto& group : groups) strides.push_back(access->strides[group.back()]);
    access->strides = std::move(strides);
  }
  for (Expr& expr : nest.exprs)
    if (expr.kind == Expr::Kind::kAxis && expr.axis >= 0) expr.axis = new_axis[expr.axis];
  const std::vector<bool> reduced = reduced_axes(nest);
  for (Reduction& reduction : nest.reductions) {
    reduction.axes.clear();
    reduction.order.outer.clear();
    reduction.order.run.clear();
    for (size_t g = 0; g < groups.size(); ++g) {
      if (reduced[groups[g].back()]) reduction.axes.push_back(static_cast<int>(g));
      (g < outer_groups ? reduction.order.outer : reduction.order.run).push_back(static_cast<int>(g));
    }
  }
  nest.extents = std::move(extents);
}

}  // namespace

std::vector<std::vector<int>> keep_loops(Nest& nest) {
  const bool sums = !nest.reductions.empty();
  const std::vector<int> outer =
      sums ? nest.reductions.front().order.outer : natural_order(nest.extents.size());
  std::vector<std::vector<int>> groups = single_axes(nest, outer);
  const size_t outer_groups = groups.size();
  if (sums)
    for (auto& group : single_axes(nest, nest.reductions.front().order.run))
      groups.push_back(std::move(group));
  apply_order(nest, groups, outer_groups);
  return groups;
}

std::vector<std::vector<int>> order_loops(Nest& nest, const ShapeEnv& env) {
  const std::vector<bool> reduced = reduced_axes(nest);
  std::vector<int> outer, run;
  if (nest.reductions.empty()) {
    outer = elementwise_order(nest, env);
  } else {
    outer = nest.reductions.front().order.outer;
    run = nest.reductions.front().order.run;
  }
  std::vector<std::vector<int>> groups = merge_section(nest, outer, reduced);
  const size_t outer_groups = groups.size();
  for (auto& group : merge_section(nest, run, reduced)) groups.push_back(std::move(group));
  apply_order(nest, groups, outer_groups);
  return groups;
}

}  // namespace suture
