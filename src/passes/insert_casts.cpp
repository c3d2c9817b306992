// Insert casts: see insert_casts.h.
#include "passes/insert_casts.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "ops/promotion.h"
#include "passes/rewriter.h"
#include "passes/scalar_values.h"

namespace suture {

namespace {

class CastInserter {
 public:
  explicit CastInserter(const Graph& old) : rewriter_(old) {}

  Status run() {
    for (const Node& node : rewriter_.old().nodes) {
      if (node.op != OpId::kConstant) {
        SUTURE_TRY_VOID(lower(node));
      } else {
        rewriter_.copy(node);
      }
    }
    return ok_status();
  }

  Graph finish() {
    Graph graph = rewriter_.finish();
    graph.level = Graph::Level::kLowered;
    return graph;
  }

 private:
  Status lower(const Node& node) {
    rewriter_.begin(node);
    switch (info(node.op).kind) {
      case OpKind::Elementwise: return lower_elementwise(node);
      case OpKind::Reduce: return lower_reduction(node);
      case OpKind::Create: return copy_with(node, 0, node.type.dtype);
      case OpKind::Effect: return node.attrs.checked ? assign(node) : copy_with(node, 1, node.type.dtype);
      default: rewriter_.copy(node); return ok_status();
    }
  }

  // Copies the node with the operands from `first` on converted to `dtype`.
  Status copy_with(const Node& node, size_t first, DType dtype) {
    python_ = has_python_semantics(rewriter_.old(), node);
    std::vector<NodeId> operands = rewriter_.mapped_operands(node);
    for (size_t i = first; i < operands.size(); ++i) {
      SUTURE_TRY(converted, convert(operands[i], dtype));
      operands[i] = converted;
    }
    rewriter_.copy(node, std::move(operands));
    return ok_status();
  }

  // Converted once, before the store and also where nothing is stored: so NumPy finds the value that does not fit.
  Status assign(const Node& node) {
    std::vector<NodeId> operands = rewriter_.mapped_operands(node);
    Attrs attrs;
    attrs.dtype = node.type.dtype;
    attrs.value_class = ValueClass::kNumpyScalar;
    attrs.checked = true;
    SUTURE_TRY(converted, rewriter_.add(OpId::kCast, {operands[1]}, std::move(attrs)));
    rewriter_.copy(node, {operands[0], converted});
    return ok_status();
  }

  Status lower_elementwise(const Node& node) {
    const TypeRule rule = info(node.op).rule;
    if (info(node.op).level != OpLevel::Prim) {
      return Error::internal("insert_casts",
                             fmt::format("{} is not a primitive; decompose left it", node.name));
    }
    if (rule == TypeRule::Cast || rule == TypeRule::Keep || rule == TypeRule::Predicate) {
      rewriter_.copy(node);
      return ok_status();
    }
    SUTURE_TRY(loop, loop_dtype(node));
    if (rule != TypeRule::Where) return copy_with(node, 0, loop);
    python_ = false;
    std::vector<NodeId> operands = rewriter_.mapped_operands(node);
    for (size_t i = 0; i < operands.size(); ++i) {
      SUTURE_TRY(converted, convert(operands[i], i == 0 ? DType::kBool : loop));
      operands[i] = converted;
    }
    rewriter_.copy(node, std::move(operands));
    return ok_status();
  }

  Status lower_reduction(const Node& node) {
    const NodeId operand = rewriter_.mapped(node.operands[0]);
    if (info(node.op).rule != TypeRule::SumLike) {
      rewriter_.copy(node);
      return ok_status();
    }
    python_ = false;
    SUTURE_TRY(loop, loop_dtype(node));
    // Ints add up to the same in any order, so a dtype that was asked for may stay: int8 sums in int64 without it.
    const bool buffered = rewriter_.type(operand).dtype != loop || (node.attrs.dtype && !is_float(loop));
    SUTURE_TRY(converted, convert(operand, loop));
    const NodeId fresh = rewriter_.copy(node, {converted});
    rewriter_.graph().node(fresh).attrs.dtype = buffered ? std::optional<DType>(loop) : std::nullopt;
    return ok_status();
  }

  Result<DType> loop_dtype(const Node& node) const {
    std::vector<OperandType> operands;
    for (NodeId id : node.operands) {
      const TensorType& type = rewriter_.old().node(id).type;
      operands.push_back({type.dtype, type.value_class});
    }
    auto types = has_python_semantics(rewriter_.old(), node)
                     ? resolve_python_types(node.op, operands, node.attrs.value_class)
                     : resolve_types(node.op, operands, node.attrs.dtype);
    if (!types.ok())
      return Error::internal("insert_casts", fmt::format("{}: {}", node.name, types.error().message));
    return types->loop;
  }

  Result<NodeId> convert(NodeId value, DType dtype) {
    if (rewriter_.type(value).dtype == dtype) return value;
    if (!rewriter_.type(value).scalar()) return rewriter_.cast(value, dtype);
    const auto key = std::make_tuple(value, dtype, python_);
    if (auto found = done_.find(key); found != done_.end()) return found->second;
    SUTURE_TRY(converted, convert_scalar_node(value, dtype));
    done_.emplace(key, converted);
    return converted;
  }

  // An operator between Python numbers stays one: its operands remain Python numbers.
  ValueClass converted_class(DType dtype) const {
    if (!python_) return ValueClass::kNumpyScalar;
    if (is_bool(dtype)) return ValueClass::kPyBool;
    return is_float(dtype) ? ValueClass::kPyFloat : ValueClass::kPyInt;
  }

  Result<NodeId> convert_scalar_node(NodeId value, DType dtype) {
    if (auto scalar = constant_of(rewriter_.node(value))) {
      if (auto converted = convert_scalar(*scalar, dtype)) {
        return rewriter_.constant(*converted, converted_class(dtype), dtype);
      }
    }
    const bool weak_int = rewriter_.type(value).value_class == ValueClass::kPyInt;
    if (weak_int && dtype == DType::kFloat32) {
      SUTURE_TRY(wide, scalar_cast(value, DType::kFloat64));
      value = wide;
    }
    return scalar_cast(value, dtype);
  }

  Result<NodeId> scalar_cast(NodeId value, DType dtype) {
    Attrs attrs;
    attrs.dtype = dtype;
    attrs.value_class = converted_class(dtype);
    return rewriter_.add(OpId::kCast, {value}, std::move(attrs));
  }

  Rewriter rewriter_;
  // Scalars converted already. Arrays are not shared: a store may come between (common_subexpressions looks
  // into that).
  std::map<std::tuple<NodeId, DType, bool>, NodeId> done_;
  bool python_ = false;  // the node being lowered follows Python's rules, not NumPy's
};

}  // namespace

Result<bool> insert_casts(Graph& graph) {
  if (graph.level == Graph::Level::kLowered) return false;
  CastInserter inserter(graph);
  SUTURE_TRY_VOID(inserter.run());
  graph = inserter.finish();
  return true;
}

}  // namespace suture
