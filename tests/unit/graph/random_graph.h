// Random graphs made through GraphBuilder, for property tests: text round trips, laws, NumPy source.
#pragma once

#include <fmt/format.h>

#include <random>
#include <string>
#include <vector>

#include "graph/graph_builder.h"

namespace suture {

class RandomGraph {
 public:
  // Sizes that differ between two graphs of one seed are the only difference the generator makes itself.
  RandomGraph(uint64_t seed, bool symbolic, std::vector<int64_t> sizes = {4, 3, 5})
      : rng_(seed), symbolic_(symbolic), sizes_(std::move(sizes)), builder_(graph_) {
    graph_.name = "random";
  }

  Graph make(int calls) {
    builder_.set_place({"dir/a file.py", "f", 1, 1, 0, 5});
    base_ = {size(sizes_[0], "x.shape[0]"), size(sizes_[1], "x.shape[1]"), size(sizes_[2], "x.shape[2]")};
    for (int i = pick(1, 3); i-- > 0;) add_array();
    add_scalar(ValueClass::kPyFloat, DType::kFloat64);
    add_scalar(ValueClass::kPyInt, DType::kInt64);
    add_scalar(ValueClass::kNumpyScalar, DType::kFloat32);
    values_.push_back(builder_.constant(2.5, ValueClass::kPyFloat, DType::kFloat64));
    values_.push_back(builder_.constant(int64_t{-3}, ValueClass::kPyInt, DType::kInt64));
    for (int i = 0; i < calls; ++i) {
      builder_.set_place({"dir/a file.py", "f", i + 2, i + 2, 4, 20 + i});
      add_call();
    }
    for (const Node& node : graph_.nodes)
      if (node.op != OpId::kStore) graph_.outputs.push_back(node.id);
    return graph_;
  }

 private:
  int pick(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(rng_); }
  template <class List>
  auto any_of(const List& list) {
    return *(std::begin(list) + pick(0, static_cast<int>(std::size(list)) - 1));
  }
  DType any_dtype() {
    constexpr DType kDTypes[] = {DType::kFloat64, DType::kFloat64, DType::kFloat32,
                                 DType::kInt64,   DType::kInt32,   DType::kBool};
    return any_of(kDTypes);
  }
  SymInt size(int64_t hint, const char* source) {
    return symbolic_ ? graph_.env.create_symbol(source, hint, 2, INT64_MAX, true) : SymInt(hint);
  }

  void add_array() {
    TensorType type;
    type.dtype = any_dtype();
    for (size_t i = static_cast<size_t>(pick(0, 2)); i < base_.size(); ++i) {
      type.shape.push_back(pick(0, 5) == 0 ? SymInt(1) : base_[i]);
    }
    type.strides = contiguous_strides(type.shape, pick(0, 2) == 0 ? Order::kF : Order::kC);
    values_.push_back(builder_.placeholder("x", type));
  }
  void add_scalar(ValueClass value_class, DType dtype) {
    TensorType type;
    type.dtype = dtype;
    type.value_class = value_class;
    values_.push_back(builder_.placeholder("n", type));
  }

  void add_call() {
    switch (pick(0, 9)) {
      case 0:
      case 1:
      case 2:
      case 3: return add_elementwise();
      case 4: return add_reduction();
      case 5: return add_slice();
      case 6: return add_other_view();
      case 7: return add_creation_or_copy();
      case 8: return add_store();
      default: return add_selection_or_product();
    }
  }

  void keep(const Result<NodeId>& id) {
    if (id.ok()) values_.push_back(*id);
  }

  void add_elementwise() {
    std::vector<const OpInfo*> ops;
    for (const OpInfo& op : all_ops()) {
      if (op.kind == OpKind::Elementwise && op.arity <= 2 && !op.numpy.empty() && op.id != OpId::kCopy &&
          op.id != OpId::kRound && op.id != OpId::kPower) {
        ops.push_back(&op);
      }
    }
    const OpInfo& op = *any_of(ops);
    std::vector<NodeId> operands{any_of(values_)};
    if (op.arity == 2) operands.push_back(any_of(values_));
    const std::pair<OpId, const char*> kOperators[] = {{OpId::kAdd, "+"},      {OpId::kSubtract, "-"},
                                                       {OpId::kMultiply, "*"}, {OpId::kLessEqual, "<="},
                                                       {OpId::kNegative, "-"}, {OpId::kEqual, "=="}};
    std::string target = std::string(op.numpy);
    for (const auto& [id, symbol] : kOperators) {
      if (op.id == id && pick(0, 1)) target = symbol;
    }
    keep(builder_.add(op.id, operands, {}, target));
  }

  void add_reduction() {
    std::vector<const OpInfo*> ops;
    for (const OpInfo& op : all_ops()) {
      if (op.kind == OpKind::Reduce) ops.push_back(&op);
    }
    const OpInfo& op = *any_of(ops);
    NodeId x = any_of(values_);
    const TensorType& type = graph_.node(x).type;
    Attrs attrs;
    attrs.keepdims = pick(0, 3) == 0;
    attrs.all_axes = type.rank() == 0 || pick(0, 2) == 0;
    if (!attrs.all_axes) attrs.axes = {pick(0, type.rank() - 1)};
    if (op.id == OpId::kSum && pick(0, 2) == 0) attrs.dtype = DType::kFloat32;
    bool method = type.value_class == ValueClass::kArray && pick(0, 1);
    keep(
        builder_.add(op.id, {x}, attrs, method ? fmt::format("ndarray.{}", op.name) : std::string(op.numpy)));
  }

  void add_slice() {
    NodeId x = any_of(values_);
    const TensorType& type = graph_.node(x).type;
    Attrs attrs;
    for (const SymInt& extent : type.shape) {
      if (pick(0, 5) == 0) attrs.index.push_back({IndexItem::Kind::kNewAxis, 0, 1, 0});
      switch (pick(0, 4)) {
        case 0: attrs.index.push_back({IndexItem::Kind::kInt, 0, 1, 0}); break;
        case 1: attrs.index.push_back({IndexItem::Kind::kSlice, 1, 1, extent - 1}); break;
        case 2: attrs.index.push_back({IndexItem::Kind::kSlice, extent - 1, -1, extent}); break;
        case 3: attrs.index.push_back({IndexItem::Kind::kSlice, 0, 2, floordiv(extent + 1, 2)}); break;
        default: attrs.index.push_back({IndexItem::Kind::kSlice, 0, 1, extent}); break;
      }
    }
    attrs.ellipsis = pick(0, 4) == 0;
    keep(builder_.add(OpId::kSlice, {x}, attrs, "[]"));
  }

  void add_other_view() {
    NodeId x = any_of(values_);
    const TensorType& type = graph_.node(x).type;
    Attrs attrs;
    for (int axis = 0; axis < type.rank(); ++axis) attrs.axes.push_back(axis);
    switch (pick(0, 4)) {
      case 0:
        std::shuffle(attrs.axes.begin(), attrs.axes.end(), rng_);
        return keep(builder_.add(OpId::kTranspose, {x}, attrs, "np.transpose"));
      case 1: {
        Attrs flat;
        flat.dims = {-1};
        return keep(builder_.add(OpId::kReshape, {x}, flat, "ndarray.ravel"));
      }
      case 2: {
        Attrs at;
        at.axes = {pick(0, type.rank())};
        return keep(builder_.add(OpId::kExpandDims, {x}, at, "np.expand_dims"));
      }
      case 3: {
        Attrs all;
        all.all_axes = true;
        return keep(builder_.add(OpId::kSqueeze, {x}, all, "np.squeeze"));
      }
      default: {
        Attrs to;
        to.dims = type.shape;
        to.dims.insert(to.dims.begin(), 2);
        return keep(builder_.add(OpId::kBroadcastTo, {x}, to, "np.broadcast_to"));
      }
    }
  }

  void add_creation_or_copy() {
    NodeId x = any_of(values_);
    Attrs attrs;
    attrs.dtype = any_dtype();
    attrs.order = any_of(std::vector<Order>{Order::kC, Order::kF, Order::kKeep, Order::kAny});
    switch (pick(0, 4)) {
      case 0: return keep(builder_.add(OpId::kCast, {x}, attrs, "ndarray.astype"));
      case 1: attrs.dtype.reset(); return keep(builder_.add(OpId::kCopy, {x}, attrs, "ndarray.copy"));
      case 2:
        attrs.dims = {base_[0], 2};
        return keep(builder_.add(OpId::kFull, {any_of(values_)}, attrs, "np.full"));
      case 3: {
        Attrs range;
        range.dims = {base_[1]};
        range.dtype = any_of(std::vector<DType>{DType::kInt64, DType::kFloat64});
        NodeId start = builder_.constant(int64_t{1}, ValueClass::kPyInt, DType::kInt64);
        NodeId step = pick(0, 1) ? builder_.constant(int64_t{-2}, ValueClass::kPyInt, DType::kInt64)
                                 : builder_.constant(0.25, ValueClass::kPyFloat, DType::kFloat64);
        return keep(builder_.add(OpId::kArange, {start, step}, range, "np.arange"));
      }
      default: {
        const TensorType& type = graph_.node(x).type;
        attrs.dims = type.shape;
        attrs.strides = like_strides(type, Order::kKeep, graph_.env);
        attrs.order = Order::kKeep;
        return keep(builder_.add(OpId::kEmpty, {}, attrs, "np.empty_like"));
      }
    }
  }

  void add_store() {
    NodeId x = any_of(values_), y = any_of(values_);
    if (graph_.node(x).type.scalar()) return;
    if (pick(0, 1)) {
      Result<NodeId> store = builder_.add(OpId::kStore, {x, y}, {}, "=");
      return;
    }
    Result<NodeId> sum = builder_.add(OpId::kAdd, {x, y}, {}, "+=");
    if (!sum.ok()) return;
    Result<NodeId> store = builder_.add(OpId::kStore, {x, *sum}, {}, "+=");
  }

  void add_selection_or_product() {
    switch (pick(0, 2)) {
      case 0:
        return keep(
            builder_.add(OpId::kWhere, {any_of(values_), any_of(values_), any_of(values_)}, {}, "np.where"));
      case 1:
        return keep(
            builder_.add(OpId::kClip, {any_of(values_), any_of(values_), any_of(values_)}, {}, "np.clip"));
      default: return keep(builder_.add(OpId::kMatmul, {any_of(values_), any_of(values_)}, {}, "@"));
    }
  }

  std::mt19937_64 rng_;
  bool symbolic_;
  std::vector<int64_t> sizes_;
  Graph graph_;
  GraphBuilder builder_;
  std::vector<SymInt> base_;
  std::vector<NodeId> values_;
};

}  // namespace suture
