#include "schedule/fuse_nests.h"

#include <algorithm>

#include "loop/conditions.h"

#include "schedule/axis_map.h"
#include "schedule/merge_exprs.h"

namespace suture {
namespace {

const SymInt kOne(1), kZero(0);

struct TouchedAccess {
  const Access* access;
  bool store = false;
  bool kept_level = false;
};

std::vector<TouchedAccess> touched(const Nest& nest) {
  const std::vector<bool> element = element_level(nest);
  std::vector<TouchedAccess> list;
  for (size_t i = 0; i < nest.exprs.size(); ++i)
    if (nest.exprs[i].kind == Expr::Kind::kLoad) list.push_back({&nest.exprs[i].access, false, !element[i]});
  for (const Store& store : nest.stores) list.push_back({&store.access, true, store.after_reduction});
  return list;
}

std::vector<bool> kept_mask(const Nest& nest) {
  std::vector<bool> kept = reduced_axes(nest);
  kept.flip();
  return kept;
}

// A producer of one element that needs no reduction: it can run before the loops.
bool single_element(const Nest& nest) {
  return nest.reductions.empty() &&
         std::all_of(nest.extents.begin(), nest.extents.end(), [](const SymInt& n) { return n == kOne; });
}

// What is hoisted out of such loops would have to happen although they have no iteration.
bool may_be_empty(const Nest& nest, const ShapeEnv& env) {
  return std::any_of(nest.extents.begin(), nest.extents.end(),
                     [&](const SymInt& n) { return env.range(n).lo <= 0; });
}

// How the two nests are put together.
struct Placement {
  const Nest& producer;
  const Nest& consumer;
  Guest who = Guest::kProducer;
  GuestLevel level = GuestLevel::kElements;
  AxisMap map;

  bool moves_producer() const { return who == Guest::kProducer; }
  const Nest& host() const { return moves_producer() ? consumer : producer; }
  const Nest& guest() const { return moves_producer() ? producer : consumer; }
};

// A buffer both nests touch, through one access each.
struct Link {
  TouchedAccess producer, consumer;
  int rank() const {  // best evidence first: a handed-over value, then shared reads, then anything else
    if (producer.store && !consumer.store) return 0;
    return producer.store || consumer.store ? 2 : 1;
  }
};

std::vector<Link> links_between(const Nest& producer, const Nest& consumer) {
  std::vector<Link> links;
  const auto from = touched(producer), to = touched(consumer);
  for (const TouchedAccess& a : from)
    for (const TouchedAccess& b : to)
      if (a.access->buffer == b.access->buffer) links.push_back({a, b});
  std::stable_sort(links.begin(), links.end(),
                   [](const Link& a, const Link& b) { return a.rank() < b.rank(); });
  return links;
}

bool covers(const Placement& place, const std::vector<bool>& needed_axes) {
  const std::vector<bool> used = place.map.used_axes();
  for (size_t axis = 0; axis < used.size(); ++axis)
    if (needed_axes[axis] && !used[axis] && !(place.host().extents[axis] == kOne)) return false;
  return true;
}

// Where the guest goes for this link; the map is still to be derived.
struct Intent {
  Guest who;
  GuestLevel level = GuestLevel::kElements;
  FusionReason refused = FusionReason::kFused;
};

GuestLevel level_if(bool after_reductions) {
  return after_reductions ? GuestLevel::kAfterReductions : GuestLevel::kElements;
}

Intent intend(const Nest& producer, const Nest& consumer, const Link& link) {
  const bool reduces_first = !producer.reductions.empty(), reduces_second = !consumer.reductions.empty();
  if (reduces_first && !reduces_second)
    return {Guest::kConsumer, level_if(link.producer.kept_level && link.producer.store)};
  if (!reduces_first && reduces_second)
    return {Guest::kProducer, level_if(link.consumer.kept_level && !single_element(producer))};
  if (reduces_first && link.producer.kept_level && link.producer.store && !link.consumer.kept_level)
    return {Guest::kProducer, GuestLevel::kElements, FusionReason::kWholeReduction};
  return {Guest::kProducer};
}

std::vector<int> without_unit_axes(const std::vector<int>& axes, const std::vector<SymInt>& extents) {
  std::vector<int> result;
  for (int axis : axes)
    if (!(extents[axis] == kOne)) result.push_back(axis);
  return result;
}

bool same_order(const ReduceOrder& a, const ReduceOrder& b, const std::vector<SymInt>& extents) {
  return a.chunk == b.chunk && without_unit_axes(a.run, extents) == without_unit_axes(b.run, extents) &&
         without_unit_axes(a.outer, extents) == without_unit_axes(b.outer, extents);
}

// All reductions of a nest share one order: the one that an exact reduction demands, if any.
FusionReason unify_reductions(Nest& nest) {
  const std::vector<bool> reduced = reduced_axes(nest);
  const Reduction* leader = nullptr;
  for (const Reduction& reduction : nest.reductions) {
    std::vector<bool> mine(nest.extents.size(), false);
    for (int axis : reduction.axes) mine[axis] = true;
    for (size_t axis = 0; axis < mine.size(); ++axis)
      if (mine[axis] != reduced[axis] && !(nest.extents[axis] == kOne)) return FusionReason::kReducedAxes;
    if (!reduction.ordered) continue;
    if (leader && !same_order(leader->order, reduction.order, nest.extents))
      return FusionReason::kReductionOrder;
    leader = &reduction;
  }
  if (!leader && !nest.reductions.empty()) leader = &nest.reductions.back();
  if (!leader) return FusionReason::kFused;
  const ReduceOrder order = leader->order;
  const std::vector<int> axes = leader->axes;
  for (Reduction& reduction : nest.reductions) {
    reduction.order = order;
    reduction.axes = axes;
  }
  return FusionReason::kFused;
}

// Something is computed from a finished reduction, or stored beside it.
bool has_epilogue(const Nest& nest) {
  for (const Store& store : nest.stores)
    if (store.after_reduction && nest.exprs[store.value].kind != Expr::Kind::kReduced) return true;
  std::vector<bool> late(nest.exprs.size(), false);
  for (size_t i = 0; i < nest.exprs.size(); ++i) {
    late[i] = nest.exprs[i].kind == Expr::Kind::kReduced;
    for (ExprId operand : nest.exprs[i].operands) late[i] = late[i] || late[operand];
    if (late[i] && can_signal(nest, nest.exprs[i])) return true;
  }
  return false;
}

// Every pair of accesses to one buffer, one of them a store, must meet in the same iteration.
std::optional<BufferId> conflict(const Placement& place) {
  const auto first = touched(place.producer), second = touched(place.consumer);
  const bool hoisted = place.moves_producer() && single_element(place.producer);
  for (const TouchedAccess& a : first)
    for (const TouchedAccess& b : second) {
      if (a.access->buffer != b.access->buffer || (!a.store && !b.store)) continue;
      const Access x = place.moves_producer() ? place.map.apply(*a.access) : *a.access;
      const Access y = place.moves_producer() ? *b.access : place.map.apply(*b.access);
      if (!same_elements(x, y)) return x.buffer;
      if (hoisted && a.store && !b.store) continue;
      const bool guest_kept = place.level == GuestLevel::kAfterReductions;
      const bool kept_a = place.moves_producer() && guest_kept ? true : a.kept_level;
      const bool kept_b = !place.moves_producer() && guest_kept ? true : b.kept_level;
      const bool reduces = !place.host().reductions.empty();
      if (reduces && kept_a != kept_b) return x.buffer;
      const std::vector<bool> kept = kept_mask(place.host());
      for (size_t axis = 0; axis < x.strides.size(); ++axis) {
        const bool loops = !(place.host().extents[axis] == kOne) && (!kept_a || !reduces || kept[axis]);
        if (loops && x.strides[axis] == kZero) return x.buffer;
      }
    }
  return std::nullopt;
}

FuseResult try_link(const Nest& producer, const Nest& consumer, const Link& link, const ShapeEnv& env) {
  const BufferId buffer = link.producer.access->buffer;
  const Intent intent = intend(producer, consumer, link);
  if (intent.refused != FusionReason::kFused) return {std::nullopt, intent.refused, buffer};
  Placement place{producer, consumer, intent.who, intent.level, {}};
  const bool moves_producer = place.moves_producer(), after = intent.level == GuestLevel::kAfterReductions;
  const Nest& host = place.host();
  const Nest& guest = place.guest();
  if (after && !reduces_innermost(host)) return {std::nullopt, FusionReason::kRowSums, buffer};

  const Access& guest_access = moves_producer ? *link.producer.access : *link.consumer.access;
  const Access& host_access = moves_producer ? *link.consumer.access : *link.producer.access;
  const std::vector<bool> everywhere(host.extents.size(), true);
  const std::vector<bool> axes = after ? kept_mask(host) : everywhere;
  const auto map = derive_map(guest, guest_access, host, host_access, axes, env);
  if (!map) {
    if (link.rank() != 0) return {std::nullopt, FusionReason::kSpace, buffer};
    return {std::nullopt, after && !moves_producer ? FusionReason::kWholeReduction : FusionReason::kElements,
            buffer};
  }
  place.map = *map;
  const bool hoisted = moves_producer && single_element(producer);
  if (hoisted && may_be_empty(host, env)) return {std::nullopt, FusionReason::kMayBeEmpty, buffer};
  if (!hoisted && !covers(place, axes))
    return {std::nullopt, link.rank() == 0 ? FusionReason::kRecompute : FusionReason::kSpace, buffer};
  if (const auto other = conflict(place)) {
    const std::vector<bool> element = element_level(consumer);
    for (const Store& store : producer.stores)  // the usual cause deserves its own sentence
      for (size_t i = 0; i < consumer.exprs.size(); ++i)
        if (store.after_reduction && element[i] && consumer.exprs[i].kind == Expr::Kind::kLoad &&
            consumer.exprs[i].access.buffer == store.access.buffer && store.access.buffer == *other)
          return {std::nullopt, FusionReason::kWholeReduction, *other};
    return {std::nullopt, FusionReason::kStorage, *other};
  }
  Nest fused = merge_exprs(producer, consumer, place.who, place.level, place.map);
  if (const auto reason = unify_reductions(fused); reason != FusionReason::kFused)
    return {std::nullopt, reason, buffer};
  if (has_epilogue(fused) && !reduces_innermost(fused)) return {std::nullopt, FusionReason::kRowSums, buffer};
  return {std::move(fused), FusionReason::kFused, buffer};
}

}  // namespace

const FusionReasonInfo& info(FusionReason reason) {
  static constexpr FusionReasonInfo kTable[] = {
#define SUTURE_FUSION_REASON(id, name, sentence, advice) {FusionReason::id, name, sentence, advice},
#include "schedule/fusion_reasons.def"
  };
  return kTable[static_cast<size_t>(reason)];
}

bool reduces_innermost(const Nest& nest) {
  if (nest.reductions.empty()) return true;
  const std::vector<bool> reduced = reduced_axes(nest);
  std::vector<int> order = nest.reductions.front().order.outer;
  const std::vector<int>& run = nest.reductions.front().order.run;
  order.insert(order.end(), run.begin(), run.end());
  bool inside = false;
  for (int axis : order) {
    if (nest.extents[axis] == kOne) continue;
    if (inside && !reduced[axis]) return false;
    inside = inside || reduced[axis];
  }
  return true;
}

// What nothing needs any more is computed for its conditions, so it counts unless a kept-level store needs it.
std::vector<bool> element_level(const Nest& nest) {
  std::vector<bool> element(nest.exprs.size(), false), kept(nest.exprs.size(), false);
  for (const Reduction& reduction : nest.reductions) element[reduction.value] = true;
  for (const Store& store : nest.stores) (store.after_reduction ? kept : element)[store.value] = true;
  for (size_t i = nest.exprs.size(); i-- > 0;) {
    if (!element[i] && !kept[i]) element[i] = nest.exprs[i].kind != Expr::Kind::kReduced;
    for (ExprId operand : nest.exprs[i].operands) {
      if (element[i]) element[operand] = true;
      if (kept[i]) kept[operand] = true;
    }
  }
  return element;
}

FuseResult fuse_nests(const Nest& producer, const Nest& consumer, const ShapeEnv& env, int max_nodes) {
  const std::vector<Link> links = links_between(producer, consumer);
  if (links.empty()) return {std::nullopt, FusionReason::kSpace, -1};
  if (producer.nodes.size() + consumer.nodes.size() > static_cast<size_t>(max_nodes))
    return {std::nullopt, FusionReason::kTooLarge, links.front().producer.access->buffer};
  FuseResult first;
  for (size_t i = 0; i < links.size(); ++i) {
    FuseResult result = try_link(producer, consumer, links[i], env);
    if (result.nest) return result;
    if (i == 0) first = std::move(result);
  }
  return first;
}

}  // namespace suture
