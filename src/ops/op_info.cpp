// Facts about ops, all from ops.def.
#include "ops/op_info.h"

#include <array>
#include <unordered_map>

namespace suture {

namespace {

constexpr std::array kOps = {
#define SUTURE_OP(id, name, kind, level, arity, numpy, rule, ulp64, ulp32, signals, form, reads, cpp, doc) \
  OpInfo{OpId::id,                                                                                         \
         #id,                                                                                              \
         name,                                                                                             \
         OpKind::kind,                                                                                     \
         OpLevel::level,                                                                                   \
         arity,                                                                                            \
         numpy,                                                                                            \
         TypeRule::rule,                                                                                   \
         ulp64,                                                                                            \
         ulp32,                                                                                            \
         OpSignals::signals,                                                                               \
         ScalarForm::form,                                                                                 \
         OperandUse::reads,                                                                                \
         cpp,                                                                                              \
         doc},
#include "ops/ops.def"
};

}  // namespace

const OpInfo& info(OpId op) { return kOps[static_cast<size_t>(op)]; }

std::span<const OpInfo> all_ops() { return kOps; }

std::optional<OpId> op_from_name(std::string_view name) {
  static const auto* const kByName = [] {
    auto* map = new std::unordered_map<std::string_view, OpId>;
    for (const OpInfo& op : kOps) map->emplace(op.name, op.id);
    return map;
  }();
  auto found = kByName->find(name);
  if (found == kByName->end()) return std::nullopt;
  return found->second;
}

}  // namespace suture
