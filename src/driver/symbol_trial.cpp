#include "driver/symbol_trial.h"

#include <algorithm>

#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "guard/guard_check.h"

namespace suture {
namespace {

using What = SymbolBinding::What;

std::optional<What> fixed_by(const Guard& guard) {
  switch (guard.kind) {
    case GuardKind::kSize: return What::kSize;
    case GuardKind::kStride: return What::kStride;
    case GuardKind::kConstant: return What::kIntValue;
    default: return std::nullopt;
  }
}

GuardKind range_kind(What what) {
  switch (what) {
    case What::kSize: return GuardKind::kSizeRange;
    case What::kStride: return GuardKind::kStrideRange;
    case What::kIntValue: break;
  }
  return GuardKind::kIntRange;
}

std::optional<int64_t> current_value(const SymbolBinding& binding, const GuardSet& set,
                                     const FrameInput& input) {
  Guard guard;
  guard.kind = range_kind(binding.what);
  guard.index = binding.axis;
  return bound_value(guard, fetch(set.sources, binding.source, input));
}

// The number that a guard of an entry fixes, in the unit of its symbol.
std::optional<int64_t> fixed_value(const Guard& guard, const SymbolBinding& binding, const GuardSet& set,
                                   const FrameInput& input) {
  if (binding.what == What::kSize) return guard.number;
  if (binding.what == What::kIntValue) {
    Guard range;
    range.kind = GuardKind::kIntRange;
    return bound_value(range, guard.object.get());
  }
  PyView array = fetch(set.sources, binding.source, input);
  if (array == nullptr || !is_exact_ndarray(array)) return std::nullopt;
  const auto dtype = array_facts(array).dtype;
  return dtype ? std::optional<int64_t>(guard.number / itemsize(*dtype)) : std::nullopt;
}

}  // namespace

SymbolTrial::SymbolTrial(const GuardSet& set, const ShapeEnv& env, const FrameInput& input,
                         const GuardTree& entry)
    : set_(set),
      env_(env),
      entry_(entry),
      now_(env.symbols().size()),
      then_(env.symbols().size()),
      blamed_(env.symbols().size()) {
  if (!set_values(input)) {
    blamed_.assign(blamed_.size(), true);
    return;
  }
  blame_false_facts(now_);
  blame_false_facts(then_);
}

const SymbolBinding* SymbolTrial::binding_of(const Guard& guard) const {
  const std::optional<What> what = fixed_by(guard);
  if (!what) return nullptr;
  const std::string source = entry_.set().sources.str(guard.source);
  auto found = std::ranges::find_if(set_.bindings, [&](const SymbolBinding& binding) {
    return binding.what == *what && (*what == What::kIntValue || binding.axis == guard.index) &&
           set_.sources.str(binding.source) == source;
  });
  return found == set_.bindings.end() ? nullptr : &*found;
}

bool SymbolTrial::set_values(const FrameInput& input) {
  for (const SymbolBinding& binding : set_.bindings) {
    const auto value = current_value(binding, set_, input);
    if (!value) return false;
    now_[static_cast<size_t>(binding.symbol)] = *value;
  }
  then_ = now_;
  for (const Guard& guard : entry_.set().guards) {
    const SymbolBinding* binding = binding_of(guard);
    if (!binding) continue;
    const auto id = static_cast<size_t>(binding->symbol);
    if (const auto value = fixed_value(guard, *binding, set_, input))
      then_[id] = *value;
    else
      blamed_[id] = true;  // an int of more than 64 bits
  }
  return true;
}

void SymbolTrial::blame_false_facts(std::span<const int64_t> values) {
  for (size_t id = 0; id < values.size(); ++id) {
    const SymbolInfo& symbol = env_.symbols()[id];
    if (values[id] < symbol.min || values[id] > symbol.max) blamed_[id] = true;
  }
  for (const ShapeFact& fact : env_.facts()) {
    if (fact.holds(values)) continue;
    std::vector<SymbolId> used;
    fact.lhs.collect_symbols(used);
    fact.rhs.collect_symbols(used);
    for (SymbolId id : used) blamed_[static_cast<size_t>(id)] = true;
  }
}

std::optional<bool> SymbolTrial::serves(const Guard& guard) const {
  const SymbolBinding* binding = binding_of(guard);
  if (!binding) return std::nullopt;
  return !blamed_[static_cast<size_t>(binding->symbol)];
}

}  // namespace suture
