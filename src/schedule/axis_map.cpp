#include "schedule/axis_map.h"

#include <algorithm>

#include "graph/sum_order.h"

namespace suture {
namespace {

const SymInt kOne(1), kZero(0);

// Host axis for guest axis k: same extent, same step (or the opposite one); the same position is tried first.
std::optional<int> find_axis(size_t k, const Nest& guest, const Access& guest_access, const Nest& host,
                             const Access& host_access, const std::vector<bool>& free, bool flipped) {
  const SymInt wanted = flipped ? -guest_access.strides[k] : guest_access.strides[k];
  if (flipped && wanted == kZero) return std::nullopt;
  const auto fits = [&](size_t h) {
    return free[h] && host.extents[h] == guest.extents[k] && host_access.strides[h] == wanted;
  };
  const size_t aligned = k + host.extents.size() - guest.extents.size();
  if (host.extents.size() >= guest.extents.size() && fits(aligned)) return static_cast<int>(aligned);
  for (size_t h = host.extents.size(); h-- > 0;)
    if (fits(h)) return static_cast<int>(h);
  return std::nullopt;
}

std::optional<AxisMap> match_axes(const Nest& guest, const Access& guest_access, const Nest& host,
                                  const Access& host_access, std::vector<bool> free) {
  AxisMap map = identity_map(guest.extents);
  map.host_rank = host.extents.size();
  for (size_t k = 0; k < guest.extents.size(); ++k) {
    map.target[k] = -1;
    if (guest.extents[k] == kOne) continue;
    auto axis = find_axis(k, guest, guest_access, host, host_access, free, false);
    if (!axis) {
      axis = find_axis(k, guest, guest_access, host, host_access, free, true);
      map.flipped[k] = axis.has_value();
    }
    if (!axis) return std::nullopt;
    map.target[k] = *axis;
    free[*axis] = false;
  }
  return map;
}

// Axes of `access` from the largest step to the smallest, when together they walk memory without gaps.
std::optional<std::vector<int>> gapless_order(const std::vector<SymInt>& extents, const Access& access,
                                              const ShapeEnv& env) {
  const auto order = axes_by_stride(extents, access.strides, env);
  if (!order) return std::nullopt;
  std::vector<int> axes;
  for (int axis : *order)
    if (!(extents[axis] == kOne)) axes.push_back(axis);
  for (size_t i = 0; i + 1 < axes.size(); ++i)
    if (!(access.strides[axes[i]] == access.strides[axes[i + 1]] * extents[axes[i + 1]])) return std::nullopt;
  return axes;
}

bool walks_flat(const Access& access, const std::vector<int>& axes, const std::vector<SymInt>& extents) {
  for (size_t i = 0; i + 1 < axes.size(); ++i)
    if (!(access.strides[axes[i]] == access.strides[axes[i + 1]] * extents[axes[i + 1]])) return false;
  return true;
}

std::optional<AxisMap> match_linear(const Nest& guest, const Access& guest_access, const Nest& host,
                                    const Access& host_access, const std::vector<bool>& allowed,
                                    const ShapeEnv& env) {
  const auto guest_axes = gapless_order(guest.extents, guest_access, env);
  const auto host_axes = gapless_order(host.extents, host_access, env);
  if (!guest_axes || !host_axes || guest_axes->empty() || host_axes->empty()) return std::nullopt;
  if (!(guest_access.strides[guest_axes->back()] == kOne)) return std::nullopt;
  if (!(host_access.strides[host_axes->back()] == kOne)) return std::nullopt;
  if (!(product(guest.extents) == product(host.extents))) return std::nullopt;
  if (uses_axis_index(guest) || !guest.reductions.empty()) return std::nullopt;
  for (int axis : *host_axes)
    if (!allowed[axis]) return std::nullopt;
  for (const Access* access : all_accesses(guest))
    if (!walks_flat(*access, *guest_axes, guest.extents)) return std::nullopt;
  AxisMap map = identity_map(guest.extents);
  map.host_rank = host.extents.size();
  map.linear = true;
  map.flat_axis = guest_axes->back();
  map.weights = host_access.strides;
  return map;
}

}  // namespace

AxisMap identity_map(const std::vector<SymInt>& extents) {
  AxisMap map;
  map.extents = extents;
  map.host_rank = extents.size();
  map.flipped.assign(extents.size(), false);
  for (size_t axis = 0; axis < extents.size(); ++axis)
    map.target.push_back(extents[axis] == kOne ? -1 : static_cast<int>(axis));
  return map;
}

std::optional<AxisMap> derive_map(const Nest& guest, const Access& guest_access, const Nest& host,
                                  const Access& host_access, const std::vector<bool>& allowed,
                                  const ShapeEnv& env) {
  auto map = match_axes(guest, guest_access, host, host_access, allowed);
  if (!map) map = match_linear(guest, guest_access, host, host_access, allowed, env);
  if (!map) return std::nullopt;
  if (!map->plain() && (uses_axis_index(guest) || !guest.reductions.empty())) return std::nullopt;
  if (!same_elements(map->apply(guest_access), host_access)) return std::nullopt;
  return map;
}

bool same_elements(const Access& a, const Access& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.strides == b.strides;
}

Access AxisMap::apply(const Access& guest) const {
  Access access{guest.buffer, guest.offset, std::vector<SymInt>(host_rank, kZero)};
  if (linear) {
    for (size_t h = 0; h < host_rank; ++h) access.strides[h] = weights[h] * guest.strides[flat_axis];
    return access;
  }
  for (size_t k = 0; k < target.size(); ++k) {
    if (target[k] < 0) continue;
    SymInt& stride = access.strides[target[k]];
    if (flipped[k]) {
      access.offset = access.offset + guest.strides[k] * (extents[k] - kOne);
      stride = stride - guest.strides[k];
    } else {
      stride = stride + guest.strides[k];
    }
  }
  return access;
}

bool AxisMap::plain() const {
  return !linear && std::find(flipped.begin(), flipped.end(), true) == flipped.end();
}

std::vector<bool> AxisMap::used_axes() const {
  std::vector<bool> used(host_rank, false);
  if (linear)
    for (size_t h = 0; h < host_rank; ++h) used[h] = true;
  for (int axis : target)
    if (axis >= 0 && !linear) used[axis] = true;
  return used;
}

std::vector<const Access*> all_accesses(const Nest& nest) {
  std::vector<const Access*> accesses;
  for (const Expr& expr : nest.exprs)
    if (expr.kind == Expr::Kind::kLoad) accesses.push_back(&expr.access);
  for (const Store& store : nest.stores) accesses.push_back(&store.access);
  return accesses;
}

bool uses_axis_index(const Nest& nest) {
  return std::any_of(nest.exprs.begin(), nest.exprs.end(),
                     [](const Expr& expr) { return expr.kind == Expr::Kind::kAxis; });
}

}  // namespace suture
