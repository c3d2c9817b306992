// Eliminate dead nodes: see eliminate_dead_nodes.h.
#include "passes/eliminate_dead_nodes.h"

#include "passes/rewriter.h"

namespace suture {

namespace {

bool cast_can_signal(DType from, DType to) {
  if (is_bool(to) || is_bool(from)) return false;
  if (is_float(from)) return !is_float(to) || itemsize(to) < itemsize(from);
  return false;
}

// Rounding, selection and bit operations, which NumPy computes without raising any condition.
bool always_silent(OpId op) {
  switch (op) {
    case OpId::kNegative:
    case OpId::kPositive:
    case OpId::kAbsolute:
    case OpId::kFabs:
    case OpId::kSign:
    case OpId::kCopysign:
    case OpId::kFloor:
    case OpId::kCeil:
    case OpId::kTrunc:
    case OpId::kRint:
    case OpId::kMinimum:
    case OpId::kMaximum:
    case OpId::kFmin:
    case OpId::kFmax:
    case OpId::kWhere:
    case OpId::kCopy: return true;
    default: return false;
  }
}

bool elementwise_can_signal(const Graph& graph, const Node& node) {
  switch (info(node.op).rule) {
    case TypeRule::Compare:
    case TypeRule::Logical:
    case TypeRule::Bitwise:
    case TypeRule::Shift:
    case TypeRule::Predicate:
    case TypeRule::SignBit: return false;
    case TypeRule::Cast: return cast_can_signal(graph.node(node.operands[0]).type.dtype, node.type.dtype);
    default: break;
  }
  const bool integer = !is_float(node.type.dtype);
  // -int8(-128) and abs(int8(-128)) warn when they are NumPy scalars.
  if (integer && node.type.scalar()) return node.op != OpId::kWhere && node.op != OpId::kCopy;
  if (always_silent(node.op)) return false;
  if (!integer) return true;
  return node.op != OpId::kAdd && node.op != OpId::kSubtract && node.op != OpId::kMultiply &&
         node.op != OpId::kSquare;
}

bool can_signal(const Graph& graph, const Node& node) {
  switch (info(node.op).kind) {
    case OpKind::Input:
    case OpKind::View:
    case OpKind::Create: return false;
    case OpKind::Effect: return true;
    case OpKind::Elementwise: return elementwise_can_signal(graph, node);
    case OpKind::Reduce: {
      const bool adds_up = info(node.op).rule == TypeRule::SumLike || info(node.op).rule == TypeRule::Mean;
      return adds_up && is_float(node.type.dtype);
    }
    case OpKind::Contract: return is_float(node.type.dtype);
  }
  return true;
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size(), false);
  for (NodeId id : graph.outputs) live[static_cast<size_t>(id)] = true;
  for (NodeId id : graph.placeholders) live[static_cast<size_t>(id)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (can_signal(graph, node)) live[i] = true;
    if (!live[i]) continue;
    for (NodeId operand : node.operands) live[static_cast<size_t>(operand)] = true;
  }
  return live;
}

}  // namespace

Result<bool> eliminate_dead_nodes(Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  Rewriter rewriter(graph);
  bool changed = false;
  for (const Node& node : graph.nodes) {
    if (live[static_cast<size_t>(node.id)]) {
      rewriter.copy(node);
    } else {
      changed = true;
    }
  }
  if (changed) graph = rewriter.finish();
  return changed;
}

}  // namespace suture
