// The reference interpreter. Every value is a strided view of bytes; every op visits elements one by one in C
// order.
//
// How it computes
//   An element is read into the widest type of its kind (bool, int64, uint64, double), the op is applied
//   there, and the result is written back with wrap-around. For float32 this is exact for + - * / sqrt: a
//   double holds twice the digits of a float plus two, so rounding twice gives the float result.
// Invariants
//   - Views share storage with their operand; kStore writes through them, so later nodes see the change.
//   - The right side of a store is read completely before anything is written.
#include "graph/interpret.h"

#include <fmt/format.h>
#include <algorithm>

#include <cmath>
#include <cstring>
#include <memory>

#include "graph/interpret_sum.h"
#include "graph/scalar_ops.h"
#include "graph/view_elements.h"
#include "ops/op_info.h"

namespace suture {
namespace {

using Storage = std::shared_ptr<std::vector<std::byte>>;

struct Value {
  BufferView view;
  Storage storage;       // null when the memory belongs to an input
  int placeholder = -1;  // which input's memory, if any
};

class Run {
 public:
  Run(const Graph& graph, std::span<const BufferView> inputs, std::span<const int64_t> symbols,
      const MatrixProduct& product)
      : graph_(graph), inputs_(inputs), symbols_(symbols), product_(product) {}

  Result<std::vector<InterpretedOutput>> run() {
    for (const Node& node : graph_.nodes) {
      if (!has_values(node))
        return Error::unsupported("interpret", "a size or int of " + node.name + " does not fit 64 bits");
      SUTURE_TRY(value, evaluate(node));
      values_.push_back(std::move(value));
    }
    std::vector<InterpretedOutput> outputs;
    for (NodeId id : graph_.outputs) outputs.push_back(output(values_[static_cast<size_t>(id)]));
    return outputs;
  }

 private:
  // Everything symbolic in a node has a value in int64; number() relies on it.
  bool has_values(const Node& node) const {
    const auto known = [&](const SymInt& e) { return e.evaluate(symbols_).has_value(); };
    const auto item_known = [&](const IndexItem& item) {
      return known(item.start) && known(item.length) && known(item.step);
    };
    return std::ranges::all_of(node.type.shape, known) && std::ranges::all_of(node.type.strides, known) &&
           std::ranges::all_of(node.attrs.dims, known) && std::ranges::all_of(node.attrs.strides, known) &&
           std::ranges::all_of(node.attrs.index, item_known) && known(node.attrs.sym);
  }
  int64_t number(const SymInt& e) const { return *e.evaluate(symbols_); }
  std::vector<int64_t> sizes(const std::vector<SymInt>& dims) const {
    std::vector<int64_t> out;
    for (const SymInt& dim : dims) out.push_back(number(dim));
    return out;
  }
  const Value& operand(const Node& node, size_t i) const {
    return values_[static_cast<size_t>(node.operands[i])];
  }

  // Fresh memory with the strides the node's type prescribes.
  Value allocate(const Node& node) const {
    Value value;
    const int64_t item = itemsize(node.type.dtype);
    value.view.dtype = node.type.dtype;
    value.view.shape = sizes(node.type.shape);
    value.view.strides = sizes(node.type.strides);
    for (int64_t& stride : value.view.strides) stride *= item;
    int64_t lowest = 0, highest = 0;
    for (size_t i = 0; i < value.view.shape.size(); ++i) {
      if (value.view.shape[i] == 0) continue;
      const int64_t reach = (value.view.shape[i] - 1) * value.view.strides[i];
      (reach < 0 ? lowest : highest) += reach;
    }
    value.storage = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(highest - lowest + item));
    value.view.data = value.storage->data() - lowest;
    return value;
  }

  Result<Value> evaluate(const Node& node) {
    switch (info(node.op).kind) {
      case OpKind::Input: return input(node);
      case OpKind::Elementwise: return node.op == OpId::kCast ? cast(node) : elementwise(node);
      case OpKind::Reduce: return reduce(node);
      case OpKind::View: return view(node);
      case OpKind::Create: return create(node);
      case OpKind::Contract: return contract(node);
      case OpKind::Effect: return store(node);
    }
    return Error::internal("interpret", "unknown op kind");
  }

  Result<Value> input(const Node& node) {
    if (node.op == OpId::kPlaceholder) {
      Value value;
      value.placeholder = next_input_++;
      value.view = inputs_[static_cast<size_t>(value.placeholder)];
      return value;
    }
    Value value = allocate(node);
    Element element;
    if (node.op == OpId::kSymbolValue) {
      element = Element::of(number(node.attrs.sym));
    } else {
      element = std::visit([](auto constant) { return Element::of(constant); }, *node.attrs.scalar);
    }
    element.store(value.view.data, node.type.dtype);
    return value;
  }

  Result<Value> cast(const Node& node) {
    Value result = allocate(node);
    const Value& from = operand(node, 0);
    if (node.attrs.checked) {
      if (const std::string refusal =
              int_refusal(Element::load(from.view.data, from.view.dtype), node.type.dtype);
          !refusal.empty())
        return Error::unsupported("interpret", refusal);
    }
    for_each_index(result.view.shape, [&](const auto& index) {
      Element::load(at(from.view, index), from.view.dtype).store(at(result.view, index), node.type.dtype);
    });
    return result;
  }

  Result<Value> elementwise(const Node& node) {
    Value result = allocate(node);
    bool known = true, negative_power = false;
    for_each_index(result.view.shape, [&](const auto& index) {
      Element operands[3];
      DType loop = node.type.dtype;
      for (size_t i = 0; i < node.operands.size(); ++i) {
        const BufferView& from = operand(node, i).view;
        operands[i] = Element::load(at(from, index), from.dtype);
        loop = from.dtype;  // all operands of a lowered op share it (the condition of where comes first)
      }
      Element out;
      negative_power |= node.op == OpId::kPower && is_signed(loop) && operands[1].i < 0;
      known = known && apply_elementwise(node.op, loop, operands, out);
      if (known) out.store(at(result.view, index), node.type.dtype);
    });
    if (!known)
      return Error::internal("interpret", fmt::format("op {} is not interpreted", info(node.op).name));
    if (negative_power)  // NumPy's own words
      return Error::unsupported("interpret", "Integers to negative integer powers are not allowed.");
    return result;
  }

  // The layout decides the order of a sum. As in the loop program, a reduction with a dtype of its own converts its
  // operand element by element: the order is then that of the array before the cast.
  Result<Value> add_floats(const Node& node, const std::vector<bool>& reduced) {
    const Value result = allocate(node);
    const Node& from = graph_.node(node.operands[0]);
    const bool converted = node.attrs.dtype.has_value();
    const bool casts = converted && from.op == OpId::kCast;
    SUTURE_TRY_VOID(reduce_in_order(
        {.op = node.op, .reduced = reduced, .converts = converted, .keepdims = node.attrs.keepdims},
        operand(node, 0).view, casts ? operand(from, 0).view : operand(node, 0).view, result.view));
    return result;
  }

  // Reduced values are gathered per output element in the operand's own axis order, then combined.
  Result<Value> reduce(const Node& node) {
    const BufferView& from = operand(node, 0).view;
    std::vector<bool> reduced(from.shape.size(), false);
    for (int axis : node.attrs.axes) reduced[static_cast<size_t>(axis)] = true;
    if (node.attrs.all_axes) reduced.assign(from.shape.size(), true);
    if ((node.op == OpId::kSum || node.op == OpId::kProd) && is_float(node.type.dtype))
      return add_floats(node, reduced);
    Value result = allocate(node);

    std::vector<int64_t> kept_shape = from.shape, inner_shape;
    std::vector<size_t> inner_axes;
    for (size_t axis = 0; axis < from.shape.size(); ++axis) {
      if (!reduced[axis]) continue;
      kept_shape[axis] = 1;
      inner_axes.push_back(axis);
      inner_shape.push_back(from.shape[axis]);
    }
    Status status = ok_status();
    for_each_index(kept_shape, [&](const auto& kept) {
      std::vector<Element> elements;
      std::vector<int64_t> index = kept;
      for_each_index(inner_shape, [&](const auto& inner) {
        for (size_t i = 0; i < inner_axes.size(); ++i) index[inner_axes[i]] = inner[i];
        elements.push_back(Element::load(at(from, index), from.dtype));
      });
      Element out;
      if (!combine(node.op, node.type.dtype, elements, out))
        status = Error::internal("interpret", fmt::format("{} of nothing", info(node.op).name));
      std::vector<int64_t> target;
      for (size_t axis = 0; axis < kept.size(); ++axis)
        if (!reduced[axis] || node.attrs.keepdims) target.push_back(kept[axis]);
      out.store(at(result.view, target), node.type.dtype);
    });
    SUTURE_TRY_VOID(std::move(status));
    return result;
  }

  Result<Value> view(const Node& node) {
    Value value = operand(node, 0);
    const BufferView from = value.view;
    if (node.op == OpId::kReshape && node.id != kNoNode && graph_.storage_of(node.id) == node.id)
      return copied(node, from);
    value.view.shape = sizes(node.type.shape);
    value.view.strides = sizes(node.type.strides);
    for (int64_t& stride : value.view.strides) stride *= itemsize(node.type.dtype);
    if (node.op == OpId::kSlice) {
      size_t axis = 0;
      auto* data = static_cast<std::byte*>(from.data);
      for (const IndexItem& item : node.attrs.index) {
        if (item.kind == IndexItem::Kind::kNewAxis) continue;
        const bool empty = item.kind == IndexItem::Kind::kSlice && number(item.length) == 0;
        if (!empty) data += number(item.start) * from.strides[axis];
        ++axis;
      }
      value.view.data = data;
    }
    // x[i, j] is a NumPy scalar: it keeps its value when x is written later.
    return node.type.scalar() ? copied(node, value.view) : Result<Value>(value);
  }

  // A reshape that NumPy answers with a copy: elements in C order of the operand.
  Result<Value> copied(const Node& node, const BufferView& from) {
    Value result = allocate(node);
    std::vector<const std::byte*> addresses;
    for_each_index(from.shape, [&](const auto& index) { addresses.push_back(at(from, index)); });
    size_t next = 0;
    for_each_index(result.view.shape, [&](const auto& index) {
      std::memcpy(at(result.view, index), addresses[next++], static_cast<size_t>(itemsize(node.type.dtype)));
    });
    return result;
  }

  Result<Value> create(const Node& node) {
    Value result = allocate(node);
    if (node.op == OpId::kEmpty) return result;
    if (node.op == OpId::kFull) {
      const BufferView& fill = operand(node, 0).view;
      for_each_index(result.view.shape, [&](const auto& index) {
        Element::load(at(fill, index), fill.dtype).store(at(result.view, index), node.type.dtype);
      });
      return result;
    }
    if (node.op != OpId::kArange)
      return Error::internal("interpret", fmt::format("op {} is not interpreted", info(node.op).name));
    const BufferView &start = operand(node, 0).view, &step = operand(node, 1).view;
    const Element first = Element::load(start.data, start.dtype),
                  delta = Element::load(step.data, step.dtype);
    for_each_index(result.view.shape, [&](const auto& index) {
      arange_element(first, delta, index[0], node.type.dtype).store(at(result.view, index), node.type.dtype);
    });
    return result;
  }

  Result<Value> contract(const Node& node) {
    const BufferView &a = operand(node, 0).view, &b = operand(node, 1).view;
    if (a.shape.size() > 2 || b.shape.size() > 2 || a.shape.empty() || b.shape.empty())
      return Error::internal("interpret", "stacked matrix products are not interpreted");
    Value result = allocate(node);
    if (product_) {
      SUTURE_TRY_VOID(product_(a, b, result.view));
      return result;
    }
    const int64_t depth = a.shape.back();
    for_each_index(result.view.shape, [&](const auto& index) {
      std::vector<int64_t> left =
          a.shape.size() == 2 ? std::vector<int64_t>{index[0], 0} : std::vector<int64_t>{0};
      std::vector<int64_t> right = b.shape.size() == 2
                                       ? std::vector<int64_t>{0, index.empty() ? 0 : index.back()}
                                       : std::vector<int64_t>{0};
      Element sum = Element::zero(node.type.dtype);
      for (int64_t k = 0; k < depth; ++k) {
        left.back() = k;
        right[0] = k;
        Element factors[2] = {Element::load(at(a, left), a.dtype), Element::load(at(b, right), b.dtype)};
        Element terms[2] = {sum, {}};
        apply_elementwise(OpId::kMultiply, node.type.dtype, factors, terms[1]);
        apply_elementwise(OpId::kAdd, node.type.dtype, terms, sum);
      }
      sum.store(at(result.view, index), node.type.dtype);
    });
    return result;
  }

  Result<Value> store(const Node& node) {
    const Value& target = operand(node, 0);
    const BufferView& from = operand(node, 1).view;
    std::vector<Element> elements;
    for_each_index(target.view.shape, [&](const auto& index) {
      elements.push_back(Element::load(at(from, index), from.dtype));
    });
    size_t next = 0;
    for_each_index(target.view.shape, [&](const auto& index) {
      elements[next++].store(at(target.view, index), target.view.dtype);
    });
    return target;
  }

  // A copy of the bytes the output spans, so that it outlives the run; inputs stay where they are.
  InterpretedOutput output(const Value& value) const {
    InterpretedOutput out;
    out.view = value.view;
    out.aliases_placeholder = value.placeholder;
    if (!value.storage) return out;
    out.storage = *value.storage;
    out.view.data = out.storage.data() + (static_cast<std::byte*>(value.view.data) - value.storage->data());
    return out;
  }

  const Graph& graph_;
  std::span<const BufferView> inputs_;
  std::span<const int64_t> symbols_;
  std::vector<Value> values_;
  const MatrixProduct& product_;
  int next_input_ = 0;
};

}  // namespace

Result<std::vector<InterpretedOutput>> interpret(const Graph& lowered, std::span<const BufferView> inputs,
                                                 std::span<const int64_t> symbol_values,
                                                 const MatrixProduct& product) {
  if (inputs.size() != lowered.placeholders.size())
    return Error::internal("interpret", fmt::format("{} inputs for {} placeholders", inputs.size(),
                                                    lowered.placeholders.size()));
  return Run(lowered, inputs, symbol_values, product).run();
}

}  // namespace suture
