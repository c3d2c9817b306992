#include "schedule/merge_exprs.h"

#include <algorithm>

#include "loop/conditions.h"

namespace suture {
namespace {

bool equal_exprs(const Expr& a, const Expr& b) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.operands != b.operands || a.checked != b.checked)
    return false;
  switch (a.kind) {
    case Expr::Kind::kLoad: return same_elements(a.access, b.access);
    case Expr::Kind::kConstant: return false;  // -0.0 == 0.0 and NaN != NaN: not worth the care
    case Expr::Kind::kSymbol: return a.sym == b.sym;
    case Expr::Kind::kAxis: return a.axis == b.axis;
    case Expr::Kind::kReduced: return a.reduction == b.reduction;
    case Expr::Kind::kOp:
    case Expr::Kind::kCast: return a.op == b.op;
  }
  return false;
}

class Merger {
 public:
  explicit Merger(std::vector<SymInt> extents) { nest_.extents = std::move(extents); }

  void append(const Nest& from, const AxisMap* map, GuestLevel level) {
    const int first_reduction = static_cast<int>(nest_.reductions.size());
    const std::vector<Store> earlier = nest_.stores;
    std::vector<ExprId> moved;
    for (const Expr& original : from.exprs) {
      Expr expr = original;
      for (ExprId& operand : expr.operands) operand = moved[operand];
      if (expr.kind == Expr::Kind::kReduced) expr.reduction += first_reduction;
      if (map && expr.kind == Expr::Kind::kLoad) expr.access = map->apply(expr.access);
      if (map && expr.kind == Expr::Kind::kAxis && expr.axis >= 0) expr.axis = map->target[expr.axis];
      moved.push_back(add(std::move(expr), earlier));
    }
    for (const Reduction& original : from.reductions) append_reduction(original, map, moved);
    for (const Store& original : from.stores) append_store(original, map, level, moved);
    for (NodeId node : from.nodes)
      if (std::find(nest_.nodes.begin(), nest_.nodes.end(), node) == nest_.nodes.end())
        nest_.nodes.push_back(node);
  }

  Nest take() { return std::move(nest_); }

 private:
  ExprId add(Expr expr, const std::vector<Store>& earlier) {
    if (expr.kind == Expr::Kind::kLoad)  // latest store first
      for (auto store = earlier.rbegin(); store != earlier.rend(); ++store)
        if (same_elements(store->access, expr.access)) return store->value;
    for (size_t i = 0; i < nest_.exprs.size(); ++i)
      if (equal_exprs(nest_.exprs[i], expr)) return static_cast<ExprId>(i);
    nest_.exprs.push_back(std::move(expr));
    return static_cast<ExprId>(nest_.exprs.size() - 1);
  }

  void append_reduction(Reduction reduction, const AxisMap* map, const std::vector<ExprId>& moved) {
    reduction.value = moved[reduction.value];
    if (map)
      for (std::vector<int>* axes : {&reduction.axes, &reduction.order.outer, &reduction.order.run}) {
        for (int& axis : *axes) axis = map->target[axis];
        std::erase(*axes, -1);
      }
    nest_.reductions.push_back(std::move(reduction));
  }

  void append_store(Store store, const AxisMap* map, GuestLevel level, const std::vector<ExprId>& moved) {
    if (map) store.access = map->apply(store.access);
    store.value = moved[store.value];
    store.after_reduction = store.after_reduction || level == GuestLevel::kAfterReductions;
    std::erase_if(nest_.stores, [&](const Store& other) {  // overwritten in the same iteration
      return same_elements(other.access, store.access) && other.after_reduction == store.after_reduction;
    });
    nest_.stores.push_back(std::move(store));
  }

  Nest nest_;
};

}  // namespace

Nest merge_exprs(const Nest& producer, const Nest& consumer, Guest guest, GuestLevel level,
                 const AxisMap& map) {
  const bool producer_moves = guest == Guest::kProducer;
  Merger merger(producer_moves ? consumer.extents : producer.extents);
  merger.append(producer, producer_moves ? &map : nullptr, producer_moves ? level : GuestLevel::kElements);
  merger.append(consumer, producer_moves ? nullptr : &map, producer_moves ? GuestLevel::kElements : level);
  return merger.take();
}

void prune_exprs(Nest& nest) {
  std::vector<bool> needed(nest.exprs.size(), false);
  for (const Reduction& reduction : nest.reductions) needed[reduction.value] = true;
  for (const Store& store : nest.stores) needed[store.value] = true;
  for (size_t i = nest.exprs.size(); i-- > 0;)
    if (needed[i] = needed[i] || can_signal(nest, nest.exprs[i]); needed[i])
      for (ExprId operand : nest.exprs[i].operands) needed[operand] = true;
  std::vector<ExprId> moved(nest.exprs.size(), -1);
  std::vector<Expr> kept;
  for (size_t i = 0; i < nest.exprs.size(); ++i) {
    if (!needed[i]) continue;
    for (ExprId& operand : nest.exprs[i].operands) operand = moved[operand];
    moved[i] = static_cast<ExprId>(kept.size());
    kept.push_back(std::move(nest.exprs[i]));
  }
  nest.exprs = std::move(kept);
  for (Reduction& reduction : nest.reductions) reduction.value = moved[reduction.value];
  for (Store& store : nest.stores) store.value = moved[store.value];
}

}  // namespace suture
