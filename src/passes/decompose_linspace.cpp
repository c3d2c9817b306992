// np.linspace between two scalars, as numpy/_core/function_base.py computes it in float64.
//
//   step = (stop - start) / div;  y = arange(num) * step, or arange(num) / div * (stop - start) where step
//   underflows to 0; y += start;  the last element is `stop` itself when the endpoint is included;  integer
//   dtypes are floored first.
#include <cmath>

#include "passes/decompositions.h"
#include "passes/scalar_values.h"

namespace suture {

namespace {

NodeId float_constant(Rewriter& rewriter, double value) {
  return rewriter.constant(value, ValueClass::kNumpyScalar, DType::kFloat64);
}

Result<NodeId> float_node(Rewriter& rewriter, const SymInt& value) {
  if (auto known = value.constant()) return float_constant(rewriter, static_cast<double>(*known));
  return rewriter.cast(rewriter.symbol(value), DType::kFloat64);
}

Result<NodeId> counting(Rewriter& rewriter, const Node& node) {
  Attrs attrs;
  attrs.dims = node.attrs.dims;
  attrs.dtype = DType::kFloat64;
  const NodeId zero = float_constant(rewriter, 0.0);
  const NodeId one = float_constant(rewriter, 1.0);
  return rewriter.add(OpId::kArange, {zero, one}, std::move(attrs));
}

// arange(num) * step, with NumPy's other order of operations when the step is zero.
Result<NodeId> scaled(Rewriter& rewriter, NodeId counter, NodeId delta, NodeId div) {
  SUTURE_TRY(step, rewriter.add(OpId::kDivide, {delta, div}));
  SUTURE_TRY(by_step, rewriter.add(OpId::kMultiply, {counter, step}));
  SUTURE_TRY(fraction, rewriter.add(OpId::kDivide, {counter, div}));
  SUTURE_TRY(by_delta, rewriter.add(OpId::kMultiply, {fraction, delta}));
  SUTURE_TRY(step_is_zero, rewriter.add(OpId::kEqual, {step, float_constant(rewriter, 0.0)}));
  return rewriter.add(OpId::kWhere, {step_is_zero, by_delta, by_step});
}

Result<NodeId> scaled_by_constants(Rewriter& rewriter, NodeId counter, double delta, double div) {
  const double step = delta / div;
  if (step != 0.0) return rewriter.add(OpId::kMultiply, {counter, float_constant(rewriter, step)});
  SUTURE_TRY(fraction, rewriter.add(OpId::kDivide, {counter, float_constant(rewriter, div)}));
  return rewriter.add(OpId::kMultiply, {fraction, float_constant(rewriter, delta)});
}

struct Ends {
  NodeId start, stop;
};

Result<NodeId> ramp(Rewriter& rewriter, const Ends& ends, NodeId counter, const SymInt& div) {
  const auto start = constant_of(rewriter.node(ends.start));
  const auto stop = constant_of(rewriter.node(ends.stop));
  const bool no_step = div.constant() && *div.constant() <= 0;
  if (start && stop) {
    const double delta = scalar_as_double(*stop) - scalar_as_double(*start);
    if (no_step) return rewriter.add(OpId::kMultiply, {counter, float_constant(rewriter, delta)});
    if (div.constant())
      return scaled_by_constants(rewriter, counter, delta, static_cast<double>(*div.constant()));
  }
  SUTURE_TRY(delta, rewriter.add(OpId::kSubtract, {ends.stop, ends.start}));
  if (no_step) return rewriter.add(OpId::kMultiply, {counter, delta});
  SUTURE_TRY(divisor, float_node(rewriter, div));
  return scaled(rewriter, counter, delta, divisor);
}

Result<NodeId> with_endpoint(Rewriter& rewriter, NodeId value, NodeId counter, NodeId stop,
                             const SymInt& last) {
  SUTURE_TRY(last_index, float_node(rewriter, last));
  SUTURE_TRY(is_last, rewriter.add(OpId::kEqual, {counter, last_index}));
  return rewriter.add(OpId::kWhere, {is_last, stop, value});
}

}  // namespace

Result<NodeId> decompose_linspace(Rewriter& rewriter, const Node& node) {
  const SymInt& count = node.attrs.dims[0];
  SUTURE_TRY(start, rewriter.cast(rewriter.mapped(node.operands[0]), DType::kFloat64));
  SUTURE_TRY(stop, rewriter.cast(rewriter.mapped(node.operands[1]), DType::kFloat64));
  SUTURE_TRY(counter, counting(rewriter, node));
  SUTURE_TRY(offset, ramp(rewriter, {start, stop}, counter, node.attrs.endpoint ? count - SymInt(1) : count));
  SUTURE_TRY(line, rewriter.add(OpId::kAdd, {offset, start}));
  NodeId value = line;
  const bool single = count.constant() && *count.constant() <= 1;
  if (node.attrs.endpoint && !single) {
    SUTURE_TRY(closed, with_endpoint(rewriter, value, counter, stop, count - SymInt(1)));
    value = closed;
  }
  if (is_integer(node.type.dtype)) {
    SUTURE_TRY(floored, rewriter.add(OpId::kFloor, {value}));
    value = floored;
  }
  return rewriter.cast(value, node.type.dtype);
}

}  // namespace suture
