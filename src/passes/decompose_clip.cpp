// np.clip, as the loops of numpy/_core/src/umath/clip.cpp compute it.
//
// Floats: with scalar bounds the loop is `if (x < lo) x = lo; if (x > hi) x = hi` and a NaN bound fills the
// result; with bounds per element it is min(max(x, lo), hi) where max(a, b) is `isnan(a) || a > b ? a : b`.
// The two differ in the sign of zero, so both are kept. With one bound only, NumPy calls np.maximum or
// np.minimum, with none np.positive.
#include <cmath>

#include "passes/decompositions.h"
#include "passes/scalar_values.h"

namespace suture {

namespace {

struct Operands {
  NodeId value, low, high;
};

Result<NodeId> select(Rewriter& rewriter, NodeId condition, NodeId yes, NodeId no) {
  return rewriter.add(OpId::kWhere, {condition, yes, no});
}

bool known_not_nan(const Rewriter& rewriter, NodeId id) {
  const auto value = constant_of(rewriter.node(id));
  return value && !std::isnan(scalar_as_double(*value));
}

Result<NodeId> clip_by_scalars(Rewriter& rewriter, const Operands& x) {
  SUTURE_TRY(below, rewriter.add(OpId::kLess, {x.value, x.low}));
  SUTURE_TRY(raised, select(rewriter, below, x.low, x.value));
  SUTURE_TRY(above, rewriter.add(OpId::kGreater, {raised, x.high}));
  SUTURE_TRY(clipped, select(rewriter, above, x.high, raised));
  if (known_not_nan(rewriter, x.low) && known_not_nan(rewriter, x.high)) return clipped;
  SUTURE_TRY(low_nan, rewriter.add(OpId::kIsNan, {x.low}));
  SUTURE_TRY(high_nan, rewriter.add(OpId::kIsNan, {x.high}));
  SUTURE_TRY(any_nan, rewriter.add(OpId::kLogicalOr, {low_nan, high_nan}));
  SUTURE_TRY(fill, select(rewriter, low_nan, x.low, x.high));
  return select(rewriter, any_nan, fill, clipped);
}

// isnan(a) || a REL b ? a : b
Result<NodeId> keep_first(Rewriter& rewriter, OpId relation, NodeId a, NodeId b) {
  SUTURE_TRY(nan, rewriter.add(OpId::kIsNan, {a}));
  SUTURE_TRY(related, rewriter.add(relation, {a, b}));
  SUTURE_TRY(keep, rewriter.add(OpId::kLogicalOr, {nan, related}));
  return select(rewriter, keep, a, b);
}

Result<NodeId> clip_by_arrays(Rewriter& rewriter, const Operands& x) {
  SUTURE_TRY(raised, keep_first(rewriter, OpId::kGreater, x.value, x.low));
  return keep_first(rewriter, OpId::kLess, raised, x.high);
}

Result<NodeId> clip_both(Rewriter& rewriter, const Node& node) {
  const DType dtype = node.type.dtype;
  SUTURE_TRY(value, rewriter.cast(rewriter.mapped(node.operands[0]), dtype));
  SUTURE_TRY(low, rewriter.cast(rewriter.mapped(node.operands[1]), dtype));
  SUTURE_TRY(high, rewriter.cast(rewriter.mapped(node.operands[2]), dtype));
  if (!is_float(dtype)) {
    SUTURE_TRY(raised, rewriter.add(OpId::kMaximum, {value, low}));
    return rewriter.add(OpId::kMinimum, {raised, high});
  }
  const bool scalars = rewriter.type(low).rank() == 0 && rewriter.type(high).rank() == 0;
  return scalars ? clip_by_scalars(rewriter, {value, low, high})
                 : clip_by_arrays(rewriter, {value, low, high});
}

}  // namespace

Result<NodeId> decompose_clip(Rewriter& rewriter, const Node& node) {
  const std::vector<NodeId> operands = rewriter.mapped_operands(node);
  if (node.attrs.has_min && node.attrs.has_max) return clip_both(rewriter, node);
  if (node.attrs.has_min) return rewriter.add(OpId::kMaximum, {operands[0], operands[1]});
  if (node.attrs.has_max) return rewriter.add(OpId::kMinimum, {operands[0], operands[1]});
  return rewriter.add(OpId::kPositive, {operands[0]});
}

}  // namespace suture
