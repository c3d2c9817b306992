#include "driver/automatic_dynamic.h"

#include <fmt/format.h>

#include <set>

#include "cpython/numpy_api.h"
#include "cpython/objects.h"

namespace suture {
namespace {

bool changes_kind_of_input(GuardKind kind) {
  return kind == GuardKind::kType || kind == GuardKind::kArray || kind == GuardKind::kDtype ||
         kind == GuardKind::kRank;
}

// Key of the symbol that would replace this guard, and why; empty when the guard is not about a number that
// may vary.
std::pair<std::string, std::string> symbol_for(const Guard& guard, const GuardTree& tree,
                                               const FrameInput& input) {
  const SourceTable& sources = tree.set().sources;
  PyObject* value = fetch(sources, guard.source, input);
  if (!value) return {};
  const std::string source = sources.str(guard.source);
  if (guard.kind == GuardKind::kSize) {
    return {fmt::format("{}.shape[{}]", source, guard.index),
            fmt::format("changed from {} to {}", guard.number, array_facts(value).shape[guard.index])};
  }
  if (guard.kind == GuardKind::kStride) {
    return {fmt::format("{}.strides[{}]", source, guard.index),
            fmt::format("changed from {} to {}", guard.number, array_facts(value).strides[guard.index])};
  }
  if (guard.kind == GuardKind::kConstant && PyLong_CheckExact(guard.object.get()) &&
      PyLong_CheckExact(value)) {
    int overflow = 0;
    const long long actual = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) return {};
    return {source, fmt::format("changed from {} to {}", short_repr(guard.object.get()), actual)};
  }
  return {};
}

}  // namespace

void learn_dynamic(std::span<const std::unique_ptr<CacheEntry>> entries, const FrameInput& input,
                   DynamicPlan& plan) {
  if (plan.mode == DynamicMode::kNever) return;
  for (const auto& entry : entries) {
    const GuardTree& tree = entry->guards;
    const std::vector<int> failing = tree.failing(input);
    std::set<SourceId> other_kind;
    for (int index : failing) {
      const Guard& guard = tree.set().guards[static_cast<size_t>(index)];
      if (changes_kind_of_input(guard.kind)) other_kind.insert(guard.source);
    }
    for (int index : failing) {
      const Guard& guard = tree.set().guards[static_cast<size_t>(index)];
      if (other_kind.contains(guard.source)) continue;
      auto [key, why] = symbol_for(guard, tree, input);
      if (!key.empty() && !plan.fixed.contains(key)) plan.symbolic.emplace(std::move(key), std::move(why));
    }
  }
}

}  // namespace suture
